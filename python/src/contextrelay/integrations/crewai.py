"""CrewAI: tools to push and pull, and a hook that replaces large tool results with pointers."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Type, Union

from ..client import ContextRelay
from . import missing_extra
from .tools import OVER_CHARS, PULL_NAME, PULL_WORDS, PUSH_NAME, PUSH_WORDS, RelayTools

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
        default=None, description="outline, lines=10-40, grep=REGEX, json=/a/b, or all"
    )


class ContextRelayPushTool(BaseTool):
    """Tool that stores a text: ``ContextRelayPushTool(hub_url, api_key)``, or pass a client as ``relay``."""

    name: str = PUSH_NAME
    description: str = PUSH_WORDS
    args_schema: Type[BaseModel] = _Push

    def __init__(
        self,
        hub_url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        relay: Optional[ContextRelay] = None,
        encrypted: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self._tools = RelayTools(relay or hub_url, api_key, encrypted=encrypted)

    def _run(self, data: str, metadata: Optional[Dict[str, Any]] = None) -> str:
        return self._tools.push(data, metadata)


class ContextRelayPullTool(BaseTool):
    """Tool that reads a text: ``ContextRelayPullTool(hub_url, api_key)``, or pass a client as ``relay``."""

    name: str = PULL_NAME
    description: str = PULL_WORDS
    args_schema: Type[BaseModel] = _Pull

    def __init__(
        self,
        hub_url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        relay: Optional[ContextRelay] = None,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self._tools = RelayTools(relay or hub_url, api_key)

    def _run(self, url: str, part: Optional[str] = None) -> str:
        return self._tools.pull(url, part)


def pointer_hook(
    relay: Union[ContextRelay, str, None] = None, *, over: int = OVER_CHARS, ttl: Optional[int] = None
) -> Callable[[Any], Optional[str]]:
    """Returns a hook for ``crewai.hooks.register_after_tool_call_hook``.

    If a tool result has more than ``over`` characters, it is stored and the model gets a pointer. The agents need
    :class:`ContextRelayPullTool`. ``ttl``: seconds until the pointer expires. Default: one day.
    """
    tools = RelayTools(relay, over=over, ttl=ttl)

    def shorten(context: Any) -> Optional[str]:
        result = context.tool_result
        if not isinstance(result, str) or context.tool_name == PULL_NAME or len(result) <= over:
            return None
        return tools.shortened(result, context.tool_name)

    return shorten
