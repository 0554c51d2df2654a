"""OpenAI Agents SDK: tools, a session, and a filter that replaces large tool results with pointers."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import TYPE_CHECKING, Any, Callable, Coroutine, List, Optional, Union

from ..client import ContextRelay
from . import missing_extra
from .entry_log import EntryLog, segment
from .large_results import LargeResultOptions, LargeResults
from .tools import RelayTool, RelayToolOptions, RelayTools

if TYPE_CHECKING:
    from typing_extensions import Unpack

try:
    from agents import FunctionTool, SessionSettings
    from agents.items import TResponseInputItem
    from agents.run_config import CallModelData, ModelInputData
except ImportError as error:
    raise missing_extra("openai-agents", error) from error

__all__ = ["ContextRelaySession", "get_openai_agents_tools", "large_result_filter"]


def get_openai_agents_tools(
    relay: Union[ContextRelay, str, None] = None, **options: Unpack[RelayToolOptions]
) -> List[FunctionTool]:
    """Returns the tools ``push_context``, ``peek_context`` and ``pull_context``, for ``Agent(tools=…)``."""
    return [_function_tool(tool) for tool in RelayTools(relay, **options).all()]


def _function_tool(tool: RelayTool) -> FunctionTool:
    async def invoke(_context: Any, arguments: str) -> str:
        return await tool.arun(**json.loads(arguments or "{}"))

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.schema,
        on_invoke_tool=invoke,
        # A strict schema would force the model to send every argument.
        strict_json_schema=False,
    )


def large_result_filter(
    relay: Union[ContextRelay, str, None] = None, **options: Unpack[LargeResultOptions]
) -> Callable[[CallModelData[Any]], Coroutine[Any, Any, ModelInputData]]:
    """Returns a filter for ``RunConfig(call_model_input_filter=…)``.

    If a tool result is larger than ``max_bytes``, it is stored and the model gets a pointer. The agent needs the tool
    ``pull_context``. The options are those of :class:`LargeResultOptions`.
    """
    results = LargeResults(relay, **options)

    async def shorten(data: CallModelData[Any]) -> ModelInputData:
        items = await asyncio.to_thread(_swap_items, results, data.model_data.input)
        return ModelInputData(input=items, instructions=data.model_data.instructions)

    return shorten


def _swap_items(results: LargeResults, items: List[TResponseInputItem]) -> List[TResponseInputItem]:
    names = {_field(item, "call_id"): _field(item, "name") for item in items if _field(item, "name")}
    return [_swap_item(results, item, names.get(_field(item, "call_id"), "")) for item in items]


def _swap_item(results: LargeResults, item: Any, tool: str) -> Any:
    if _field(item, "type") != "function_call_output":
        return item
    output = results.swap(item["output"], tool)
    return item if output is item["output"] else {**item, "output": output}


def _field(item: Any, name: str) -> str:
    return str(item.get(name) or "") if isinstance(item, dict) else ""


class ContextRelaySession:
    """A conversation's history as files of a relay. Any process that reaches the relay can continue it.

    ``space``: space of the sessions. ``ttl``: seconds until entries expire. Default: never.
    """

    session_settings: Optional[SessionSettings] = None

    def __init__(
        self,
        relay: Union[ContextRelay, str, None] = None,
        session_id: Optional[str] = None,
        *,
        space: str = "openai-agents",
        ttl: Optional[int] = None,
    ) -> None:
        self.session_id = session_id or str(uuid.uuid4())
        client = relay if isinstance(relay, ContextRelay) else ContextRelay(relay)
        self._log = EntryLog(client, space, f"{segment(self.session_id)}/", ttl=ttl)

    async def get_items(self, limit: Optional[int] = None) -> List[TResponseInputItem]:
        """Returns the history, or its last ``limit`` items."""
        return await asyncio.to_thread(self._log.read, limit) or []

    async def add_items(self, items: List[TResponseInputItem]) -> None:
        """Adds items to the end of the history."""
        await asyncio.to_thread(self._log.append, items)

    async def pop_item(self) -> Optional[TResponseInputItem]:
        """Removes and returns the last item."""
        return await asyncio.to_thread(self._log.pop)

    async def clear_session(self) -> None:
        """Deletes the history."""
        await asyncio.to_thread(self._log.clear)
