"""Client of ContextRelay: agents hand each other a short URL instead of the payload.

from contextrelay import ContextRelay

relay = ContextRelay()
url = relay.push(large_text)
text = relay.pull(url)
"""

from .agent_bridge import AgentBridge, TmuxDispatcher
from .channels import Message, Subscription
from .client import ContextRelay
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
from .files import FileContent, FileInfo, FilePage, NewFile, Space
from .parts import Part, PartRequest
from .pointers import Inspected, Pushed

__all__ = [
    "AgentBridge",
    "BadInputError",
    "ConflictError",
    "ContextRelay",
    "DecryptError",
    "FileContent",
    "FileInfo",
    "FilePage",
    "Inspected",
    "Message",
    "NewFile",
    "NotFoundError",
    "Part",
    "PartRequest",
    "Pushed",
    "RelayError",
    "RelayHTTPError",
    "RelayTimeoutError",
    "RelayUnreachableError",
    "Space",
    "Subscription",
    "TaskFailedError",
    "TmuxDispatcher",
    "generate_key",
]
__version__ = "0.2.0"
