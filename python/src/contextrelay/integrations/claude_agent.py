"""Claude Agent SDK: a server with the relay's tools, a session store, and hooks that replace large results with pointers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

from ..client import ContextRelay
from . import missing_extra
from .entry_log import EntryLog, SessionFiles, segment
from .large_results import LargeResultOptions, LargeResults, seconds_of
from .tools import RelayTool, RelayToolOptions, RelayTools

if TYPE_CHECKING:
    from typing_extensions import Unpack

try:
    from claude_agent_sdk import (
        HookMatcher,
        McpSdkServerConfig,
        SdkMcpTool,
        SessionStore,
        create_sdk_mcp_server,
    )
except ImportError as error:
    raise missing_extra("claude-agent", error) from error

__all__ = ["ContextRelaySessionStore", "context_relay_server", "large_result_hooks"]


def context_relay_server(
    relay: Union[ContextRelay, str, None] = None, **options: Unpack[RelayToolOptions]
) -> McpSdkServerConfig:
    """Returns a server for ``ClaudeAgentOptions(mcp_servers={"contextrelay": …})``.

    In ``allowed_tools``, its tools are named ``mcp__contextrelay__push_context``, ``…__peek_context`` and ``…__pull_context``.
    """
    tools = [_sdk_tool(tool) for tool in RelayTools(relay, **options).all()]
    return create_sdk_mcp_server("contextrelay", tools=tools)


def _sdk_tool(tool: RelayTool) -> SdkMcpTool[Any]:
    async def run(arguments: Dict[str, Any]) -> Dict[str, Any]:
        return {"content": [{"type": "text", "text": await tool.arun(**arguments)}]}

    return SdkMcpTool(
        name=tool.name, description=tool.description, input_schema=dict(tool.schema), handler=run
    )


def large_result_hooks(
    relay: Union[ContextRelay, str, None] = None, **options: Unpack[LargeResultOptions]
) -> Dict[Any, List[HookMatcher]]:
    """Returns hooks for ``ClaudeAgentOptions(hooks=…)``.

    If a text in a tool result is larger than ``max_bytes``, it is stored and the model gets a pointer. The agent needs the
    tool ``pull_context``. The options are those of :class:`LargeResultOptions`.
    """
    results = LargeResults(relay, **options)

    async def swap(data: Any, _tool_use_id: Optional[str], _context: Any) -> Any:
        before = data.get("tool_response")
        after = await asyncio.to_thread(results.swap_texts, before, data.get("tool_name", ""))
        if after is before:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": after}}

    return {"PostToolUse": [HookMatcher(hooks=[swap])]}


class ContextRelaySessionStore(SessionFiles, SessionStore):
    """Transcripts as files of a relay, for ``ClaudeAgentOptions(session_store=…)``.

    ``resume`` continues a session on any machine that reaches the relay. ``ttl``: seconds until a transcript expires.
    Default: never.
    """

    default_space = "claude-sessions"

    async def append(self, key: Any, entries: List[Any]) -> None:
        """Adds entries to a transcript."""
        await asyncio.to_thread(self._log(key).append, entries)

    async def load(self, key: Any) -> Optional[List[Any]]:
        """Returns a transcript, or None. Removes duplicates, which a repeated append creates."""
        entries = await asyncio.to_thread(self._log(key).read)
        if entries is None:
            return None
        seen_ids = set()
        unique = []
        for entry in entries:
            uuid = entry.get("uuid")
            if uuid is None or uuid not in seen_ids:
                unique.append(entry)
                seen_ids.add(uuid)
        return unique

    async def list_sessions(self, project_key: str) -> List[Any]:
        """Returns the sessions of a project with the times of their last change."""
        infos = await asyncio.to_thread(lambda: list(self._files.all(f"{segment(project_key)}/")))
        latest: Dict[str, int] = {}
        for info in infos:
            if "subpath" not in info.metadata:
                session = str(info.metadata["session"])
                latest[session] = max(latest.get(session, 0), int(seconds_of(info.modified_at) * 1000))
        return [{"session_id": session, "mtime": mtime} for session, mtime in latest.items()]

    # This store does not implement this optional method. The SDK recognizes a missing method by the attribute: it
    # is then the method of the protocol itself.
    list_session_summaries = SessionStore.list_session_summaries

    async def delete(self, key: Any) -> None:
        """Deletes one transcript if the key has a subpath, else the whole session."""
        if key.get("subpath"):
            await asyncio.to_thread(self._log(key).clear)
        else:
            await asyncio.to_thread(lambda: self._files.remove(prefix=_session_folder(key)))

    async def list_subkeys(self, key: Any) -> List[str]:
        """Returns the subpaths of a session, such as the transcripts of its subagents."""
        infos = await asyncio.to_thread(lambda: list(self._files.all(f"{_session_folder(key)}sub/")))
        return list(dict.fromkeys(str(info.metadata["subpath"]) for info in infos))

    def _log(self, key: Any) -> EntryLog:
        subpath = key.get("subpath")
        part = f"sub/{segment(subpath)}/" if subpath else "main/"
        metadata = {"session": key["session_id"], **({"subpath": subpath} if subpath else {})}
        return EntryLog(
            self._relay, self._space, _session_folder(key) + part, ttl=self._ttl, metadata=metadata
        )


def _session_folder(key: Any) -> str:
    return f"{segment(key['project_key'])}/{segment(key['session_id'])}/"
