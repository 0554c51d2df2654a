"""Microsoft Agent Framework: tools to push and pull, and a middleware that replaces large tool results with pointers."""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, List, Optional, Union

from ..client import ContextRelay
from . import missing_extra
from .tools import OVER_CHARS, PULL_NAME, PULL_WORDS, PUSH_NAME, PUSH_WORDS, RelayTools

try:
    from agent_framework import Content, FunctionInvocationContext, FunctionMiddleware, FunctionTool
except ImportError as error:
    raise missing_extra("agent-framework", error) from error

__all__ = ["ContextRelayFunctionMiddleware", "get_agent_framework_tools"]


def get_agent_framework_tools(
    relay: Union[ContextRelay, str, None] = None, *, encrypted: bool = False
) -> List[FunctionTool]:
    """Returns the tools ``contextrelay_push`` and ``contextrelay_pull``, for ``Agent(tools=…)``."""
    tools = RelayTools(relay, encrypted=encrypted)

    async def push(data: str, summary: str = "") -> str:
        return await asyncio.to_thread(tools.push, data, {"summary": summary} if summary else None)

    async def pull(url: str, part: str = "") -> str:
        return await asyncio.to_thread(tools.pull, url, part or None)

    return [
        FunctionTool(name=PUSH_NAME, description=PUSH_WORDS, func=push, approval_mode="never_require"),
        FunctionTool(name=PULL_NAME, description=PULL_WORDS, func=pull, approval_mode="never_require"),
    ]


class ContextRelayFunctionMiddleware(FunctionMiddleware):
    """Middleware for ``Agent(middleware=[…])``.

    If a tool result has more than ``over`` characters, it is stored and the model gets a pointer. The agent needs the tool
    ``contextrelay_pull``. ``ttl``: seconds until the pointer expires. Default: one day.
    """

    def __init__(
        self,
        relay: Union[ContextRelay, str, None] = None,
        *,
        over: int = OVER_CHARS,
        ttl: Optional[int] = None,
    ) -> None:
        self._tools = RelayTools(relay, over=over, ttl=ttl)

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        await call_next()
        text = _text_of(context.result)
        if text is None or context.function.name == PULL_NAME or len(text) <= self._tools.over:
            return
        short = await asyncio.to_thread(self._tools.shortened, text, context.function.name)
        context.result = [Content.from_text(short)]


def _text_of(result: Any) -> Optional[str]:
    """Returns a tool result as text.

    Returns None if the result contains anything else, such as an image. Such a result is not replaced.
    """
    if isinstance(result, str):
        return result
    if not isinstance(result, list) or not result:
        return None
    texts = [each.text if getattr(each, "type", None) == "text" else None for each in result]
    return None if None in texts else "\n".join(str(text) for text in texts)
