"""Client of ContextRelay: agents hand each other a short URL instead of the payload.

from contextrelay import ContextRelay

relay = ContextRelay()
url = relay.push(large_text)
text = relay.pull(url)
"""

from .agent_bridge import AgentBridge, TmuxDispatcher
from .channels import Message, Subscription
from .client import ContextRelay
from .connection import RequestReport
from .encryption import generate_key
from .errors import (
    BadInputError,
    ConflictError,
    DecryptError,
    NotFoundError,
    RelayError,
    RelayHTTPError,
    RelayTimeoutError,
    RelayUnreachableError,
    TaskFailedError,
)
from .files import FileContent, FileError, FileInfo, FilePage, NewFile, Space
from .parts import Part, PartRequest
from .pointers import Inspected, Pushed
from .questions import Question

__all__ = [
    "AgentBridge",
    "BadInputError",
    "ConflictError",
    "ContextRelay",
    "DecryptError",
    "FileContent",
    "FileError",
    "FileInfo",
    "FilePage",
    "Inspected",
    "Message",
    "NewFile",
    "NotFoundError",
    "Part",
    "PartRequest",
    "Pushed",
    "Question",
    "RelayError",
    "RelayHTTPError",
    "RelayTimeoutError",
    "RelayUnreachableError",
    "RequestReport",
    "Space",
    "Subscription",
    "TaskFailedError",
    "TmuxDispatcher",
    "generate_key",
]
__version__ = "0.3.0"
