"""CrewAI: tools to push and pull, and a hook that replaces large tool results with pointers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Type, Union

from ..client import ContextRelay
from ..mcp import TOOLS
from . import missing_extra
from .large_results import LargeResultOptions, LargeResults
from .tools import RelayTools

if TYPE_CHECKING:
    from typing_extensions import Unpack

try:
    from crewai.tools import BaseTool
    from pydantic import BaseModel, Field
except ImportError as error:
    raise missing_extra("crewai", error) from error

__all__ = ["ContextRelayPullTool", "ContextRelayPushTool", "pointer_hook"]


class _Push(BaseModel):
    data: str = Field(description="up to 25 MB")
    metadata: Optional[Dict[str, Any]] = Field(
        default=None, description="description of the data, readable without pulling it"
    )


class _Pull(BaseModel):
    url: str
    part: Optional[str] = Field(
        default=None, description="outline, lines=10-40, grep=REGEX, json=/a/b, question=TEXT, or all"
    )


class ContextRelayPushTool(BaseTool):
    """Tool that stores a text: ``ContextRelayPushTool(hub_url, api_key)``, or pass a client as ``relay``."""

    name: str = TOOLS[0]["name"]
    description: str = TOOLS[0]["description"]
    args_schema: Type[BaseModel] = _Push

    def __init__(
        self,
        hub_url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        relay: Optional[ContextRelay] = None,
        encrypted: bool = False,
        result_as_answer: bool = False,
        max_usage_count: Optional[int] = None,
    ) -> None:
        super().__init__(
            name=TOOLS[0]["name"],
            description=TOOLS[0]["description"],
            result_as_answer=result_as_answer,
            max_usage_count=max_usage_count,
        )
        self._tools = RelayTools(relay or hub_url, api_key, encrypted=encrypted)

    def _run(self, data: str, metadata: Optional[Dict[str, Any]] = None) -> str:
        return self._tools.push_with(data, metadata)


class ContextRelayPullTool(BaseTool):
    """Tool that reads a text: ``ContextRelayPullTool(hub_url, api_key)``, or pass a client as ``relay``."""

    name: str = TOOLS[2]["name"]
    description: str = TOOLS[2]["description"]
    args_schema: Type[BaseModel] = _Pull

    def __init__(
        self,
        hub_url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        relay: Optional[ContextRelay] = None,
        result_as_answer: bool = False,
        max_usage_count: Optional[int] = None,
    ) -> None:
        super().__init__(
            name=TOOLS[2]["name"],
            description=TOOLS[2]["description"],
            result_as_answer=result_as_answer,
            max_usage_count=max_usage_count,
        )
        self._tools = RelayTools(relay or hub_url, api_key)

    def _run(self, url: str, part: Optional[str] = None) -> str:
        return self._tools.pull(url, part or "")


def pointer_hook(
    relay: Union[ContextRelay, str, None] = None, **options: Unpack[LargeResultOptions]
) -> Callable[[Any], Optional[str]]:
    """Returns a hook for ``crewai.hooks.register_after_tool_call_hook``.

    If a tool result is larger than ``max_bytes``, it is stored and the model gets a pointer. The agents need
    :class:`ContextRelayPullTool`. The options are those of :class:`LargeResultOptions`.
    """
    results = LargeResults(relay, **options)

    def shorten(context: Any) -> Optional[str]:
        result = context.tool_result
        if not isinstance(result, str):
            return None
        replacement = results.shown(result, context.tool_name)
        return None if replacement == result else replacement

    return shorten
