"""AutoGen 0.7: tools to push and pull, and a workbench that replaces large tool results with pointers.

AutoGen is in maintenance mode. For its successor, Microsoft Agent Framework, use ``contextrelay[agent-framework]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Union

from ..client import ContextRelay
from . import missing_extra
from .large_results import LargeResultOptions, LargeResults
from .tools import RelayTools

if TYPE_CHECKING:
    from typing_extensions import Unpack

try:
    from autogen_core import CancellationToken
    from autogen_core.tools import BaseTool, FunctionTool, StaticWorkbench, TextResultContent, ToolResult
except ImportError as error:
    raise missing_extra("autogen", error) from error

__all__ = ["ContextRelayWorkbench", "contextrelay_pull", "contextrelay_push", "get_autogen_tools"]


def contextrelay_push(data: str, metadata: Optional[Dict[str, Any]] = None) -> str:
    """Stores a text on the relay in ``CONTEXTRELAY_URL`` and returns its URL."""
    return ContextRelay().push(data, metadata=metadata)


def contextrelay_pull(url: str) -> str:
    """Returns the text behind a pointer. ``CONTEXTRELAY_API_KEY`` is sent only to the relay in ``CONTEXTRELAY_URL``."""
    return ContextRelay().pull(url)


def get_autogen_tools(
    hub_url: Union[ContextRelay, str, None] = None, encrypted: bool = False, api_key: Optional[str] = None
) -> List[FunctionTool]:
    """Returns the tools ``push_context`` and ``pull_context``, for ``AssistantAgent(tools=…)``."""
    return [
        FunctionTool(tool.arun, name=tool.name, description=tool.description)
        for tool in RelayTools(hub_url, api_key, encrypted=encrypted).all()[::2]
    ]


class ContextRelayWorkbench(StaticWorkbench):
    """Workbench with your tools and the tools of the relay.

    If a result of your tools is larger than ``max_bytes``, it is stored and the model gets a pointer. The options are those
    of :class:`LargeResultOptions`.
    """

    def __init__(
        self,
        tools: Sequence[BaseTool[Any, Any]],
        relay: Union[ContextRelay, str, None] = None,
        **options: Unpack[LargeResultOptions],
    ) -> None:
        self._results = LargeResults(relay, **options)
        super().__init__([*tools, *get_autogen_tools(self._results.relay)])

    async def call_tool(
        self,
        name: str,
        arguments: Optional[Mapping[str, Any]] = None,
        cancellation_token: Optional[CancellationToken] = None,
        call_id: Optional[str] = None,
    ) -> ToolResult:
        result = await super().call_tool(name, arguments, cancellation_token, call_id)
        text = result.to_text()
        short = await self._results.aswap(text, name)
        if short == text:
            return result
        return result.model_copy(update={"result": [TextResultContent(content=short)]})
