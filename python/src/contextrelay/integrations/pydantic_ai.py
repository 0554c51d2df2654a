"""PydanticAI: a toolset with the relay's tools, and a wrapper for another toolset that replaces its large results."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Union

from ..client import ContextRelay
from . import missing_extra
from .large_results import LargeResultOptions, LargeResults
from .tools import RelayToolOptions, RelayTools

if TYPE_CHECKING:
    from typing_extensions import Unpack

try:
    from pydantic_ai import RunContext, Tool, ToolReturn
    from pydantic_ai.messages import BinaryContent, FileUrl
    from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, WrapperToolset
    from pydantic_ai.toolsets.abstract import ToolsetTool
    from pydantic_core import to_jsonable_python
except ImportError as error:
    raise missing_extra("pydantic-ai", error) from error

__all__ = ["ContextRelayToolset", "get_pydantic_ai_toolset"]


def get_pydantic_ai_toolset(
    relay: Union[ContextRelay, str, None] = None, **options: Unpack[RelayToolOptions]
) -> FunctionToolset[Any]:
    """Returns a toolset with ``push_context``, ``peek_context`` and ``pull_context``, for ``Agent(toolsets=…)``."""
    return FunctionToolset(
        [
            Tool.from_schema(tool.arun, tool.name, tool.description, tool.schema)
            for tool in RelayTools(relay, **options).all()
        ]
    )


class ContextRelayToolset(WrapperToolset[Any]):
    """Wraps a toolset. If a result of its tools is larger than ``max_bytes``, the model gets a pointer instead.

    The agent needs the tool ``pull_context`` of :func:`get_pydantic_ai_toolset`. The options are those of
    :class:`LargeResultOptions`.
    """

    def __init__(
        self,
        wrapped: AbstractToolset[Any],
        relay: Union[ContextRelay, str, None] = None,
        **options: Unpack[LargeResultOptions],
    ) -> None:
        super().__init__(wrapped)
        self._results = LargeResults(relay, **options)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        result = await super().call_tool(name, tool_args, ctx, tool)
        if isinstance(result, ToolReturn):
            result.return_value = await asyncio.to_thread(self._shorten, result.return_value, name)
            return result
        return await asyncio.to_thread(self._shorten, result, name)

    def _shorten(self, result: Any, name: str) -> Any:
        parts = result if isinstance(result, (list, tuple)) else [result]
        if any(isinstance(part, (BinaryContent, FileUrl)) for part in parts):
            return self._results.swap(result, name)
        value = to_jsonable_python(result, fallback=str)
        short = self._results.swap_json(value, name)
        return result if short is value else short
