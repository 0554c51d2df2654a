"""AutoGen 0.7: tools to push and pull, and a workbench that replaces large tool results with pointers.

AutoGen is in maintenance mode. For its successor, Microsoft Agent Framework, use ``contextrelay[agent-framework]``.
"""

from __future__ import annotations

import asyncio
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ..client import ContextRelay
from . import missing_extra
from .tools import OVER_CHARS, PULL_NAME, PULL_WORDS, PUSH_NAME, PUSH_WORDS, RelayTools

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
    """Returns the tools ``contextrelay_push`` and ``contextrelay_pull``, for ``AssistantAgent(tools=…)``."""
    tools = RelayTools(hub_url, api_key, encrypted=encrypted)

    async def push(data: str, summary: str = "") -> str:
        return await asyncio.to_thread(tools.push, data, {"summary": summary} if summary else None)

    async def pull(url: str, part: str = "") -> str:
        return await asyncio.to_thread(tools.pull, url, part or None)

    return [
        FunctionTool(push, name=PUSH_NAME, description=PUSH_WORDS),
        FunctionTool(pull, name=PULL_NAME, description=PULL_WORDS),
    ]


class ContextRelayWorkbench(StaticWorkbench):
    """Workbench with your tools and the two tools of the relay.

    If a result of your tools has more than ``over`` characters, it is stored and the model gets a pointer. ``ttl``: seconds
    until the pointer expires. Default: one day.
    """

    def __init__(
        self,
        tools: Sequence[BaseTool[Any, Any]],
        relay: Union[ContextRelay, str, None] = None,
        *,
        over: int = OVER_CHARS,
        ttl: Optional[int] = None,
    ) -> None:
        self._relay_tools = RelayTools(relay, over=over, ttl=ttl)
        super().__init__([*tools, *get_autogen_tools(self._relay_tools.relay)])

    async def call_tool(
        self,
        name: str,
        arguments: Optional[Mapping[str, Any]] = None,
        cancellation_token: Optional[CancellationToken] = None,
        call_id: Optional[str] = None,
    ) -> ToolResult:
        result = await super().call_tool(name, arguments, cancellation_token, call_id)
        text = result.to_text()
        if name == PULL_NAME or len(text) <= self._relay_tools.over:
            return result
        short = await asyncio.to_thread(self._relay_tools.shortened, text, name)
        return result.model_copy(update={"result": [TextResultContent(content=short)]})
