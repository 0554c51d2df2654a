"""Microsoft Agent Framework: tools to push and pull, and a middleware that replaces large tool results with pointers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Awaitable, Callable, List, Optional, Union

from ..client import ContextRelay
from . import missing_extra
from .large_results import LargeResultOptions, LargeResults
from .tools import RelayToolOptions, RelayTools

if TYPE_CHECKING:
    from typing_extensions import Unpack

try:
    from agent_framework import Content, FunctionInvocationContext, FunctionMiddleware, FunctionTool
except ImportError as error:
    raise missing_extra("agent-framework", error) from error

__all__ = ["ContextRelayFunctionMiddleware", "get_agent_framework_tools"]


def get_agent_framework_tools(
    relay: Union[ContextRelay, str, None] = None, **options: Unpack[RelayToolOptions]
) -> List[FunctionTool]:
    """Returns the tools ``push_context``, ``peek_context`` and ``pull_context``, for ``Agent(tools=…)``."""
    return [
        FunctionTool(
            name=tool.name, description=tool.description, func=tool.arun, approval_mode="never_require"
        )
        for tool in RelayTools(relay, **options).all()
    ]


class ContextRelayFunctionMiddleware(FunctionMiddleware):
    """Middleware for ``Agent(middleware=[…])``.

    If a tool result is larger than ``max_bytes``, it is stored and the model gets a pointer. The agent needs the tool
    ``pull_context``. The options are those of :class:`LargeResultOptions`.
    """

    def __init__(
        self, relay: Union[ContextRelay, str, None] = None, **options: Unpack[LargeResultOptions]
    ) -> None:
        self._results = LargeResults(relay, **options)

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        await call_next()
        text = _text_of(context.result)
        if text is None:
            return
        short = await self._results.aswap(text, context.function.name)
        if short != text:
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
