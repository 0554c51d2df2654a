"""Strands Agents: tools, a session repository, and a hook that replaces large tool results with pointers."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

from ..client import ContextRelay
from ..errors import ConflictError, NotFoundError
from . import missing_extra
from .entry_log import SessionFiles, segment
from .large_results import LargeResultOptions, LargeResults
from .tools import RelayTool, RelayToolOptions, RelayTools

if TYPE_CHECKING:
    from typing_extensions import Unpack

try:
    from strands.hooks import AfterToolCallEvent, HookProvider, HookRegistry
    from strands.session.session_repository import SessionRepository
    from strands.tools.tools import PythonAgentTool
    from strands.types.exceptions import SessionException
    from strands.types.session import Session, SessionAgent, SessionMessage
    from strands.types.tools import AgentTool, ToolResult, ToolUse
except ImportError as error:
    raise missing_extra("strands", error) from error

__all__ = ["ContextRelayHook", "ContextRelaySessionRepository", "get_strands_tools"]


def get_strands_tools(
    relay: Union[ContextRelay, str, None] = None, **options: Unpack[RelayToolOptions]
) -> List[AgentTool]:
    """Returns the tools ``push_context``, ``peek_context`` and ``pull_context``, for ``Agent(tools=…)``."""
    return [_agent_tool(tool) for tool in RelayTools(relay, **options).all()]


def _agent_tool(tool: RelayTool) -> AgentTool:
    async def run(use: ToolUse, **_: Any) -> ToolResult:
        text = await tool.arun(**use["input"])
        return {"toolUseId": use["toolUseId"], "status": "success", "content": [{"text": text}]}

    spec: Any = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"json": tool.schema},
    }
    return PythonAgentTool(tool.name, spec, run)


class ContextRelayHook(HookProvider):
    """Hook for ``Agent(hooks=[…])``.

    If a tool result is larger than ``max_bytes``, it is stored and the model gets a pointer. The agent needs the tool
    ``pull_context``. The options are those of :class:`LargeResultOptions`.
    """

    def __init__(
        self, relay: Union[ContextRelay, str, None] = None, **options: Unpack[LargeResultOptions]
    ) -> None:
        self._results = LargeResults(relay, **options)

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        registry.add_callback(AfterToolCallEvent, self._after)

    async def _after(self, event: AfterToolCallEvent) -> None:
        await asyncio.to_thread(self._replace, event)

    def _replace(self, event: AfterToolCallEvent) -> None:
        content = event.result["content"]
        texts = [_text_of(block) for block in content]
        whole = "\n".join(text for text in texts if text is not None)
        short = self._results.shown(whole, event.tool_use["name"])
        if short != whole:
            others = [block for block, text in zip(content, texts) if text is None]
            event.result = {**event.result, "content": [{"text": short}, *others]}


def _text_of(block: Any) -> Optional[str]:
    """Returns the text of a block, or its JSON. Returns None for an image or a document."""
    if "json" in block:
        return json.dumps(block["json"], ensure_ascii=False, default=str)
    text: Optional[str] = block.get("text")
    return text


class ContextRelaySessionRepository(SessionFiles, SessionRepository):
    """Sessions as files of a relay, for ``RepositorySessionManager(session_repository=…)``.

    ``space``: space of the sessions. ``ttl``: seconds until the files expire. Default: never.
    """

    default_space = "strands"

    def create_session(self, session: Session, **_: Any) -> Session:
        """Stores a new session. Raises SessionException if it exists."""
        try:
            self._put(f"{segment(session.session_id)}/session.json", session.to_dict(), if_absent=True)
        except ConflictError:
            raise SessionException(f"Session {session.session_id} already exists") from None
        return session

    def read_session(self, session_id: str, **_: Any) -> Optional[Session]:
        """Returns a session, or None."""
        value = self._get(f"{segment(session_id)}/session.json")
        return None if value is None else Session.from_dict(value)

    def delete_session(self, session_id: str, **_: Any) -> None:
        """Deletes a session with its agents and messages."""
        if self.read_session(session_id) is None:
            raise SessionException(f"Session {session_id} does not exist")
        self._files.remove(prefix=f"{segment(session_id)}/")

    def create_agent(self, session_id: str, session_agent: SessionAgent, **_: Any) -> None:
        """Stores a new agent of a session."""
        self._put(_agent_path(session_id, session_agent.agent_id), session_agent.to_dict())

    def read_agent(self, session_id: str, agent_id: str, **_: Any) -> Optional[SessionAgent]:
        """Returns an agent, or None."""
        value = self._get(_agent_path(session_id, agent_id))
        return None if value is None else SessionAgent.from_dict(value)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **_: Any) -> None:
        """Replaces an agent. Keeps the time at which it was created."""
        before = self.read_agent(session_id, session_agent.agent_id)
        if before is None:
            raise SessionException(f"Agent {session_agent.agent_id} in session {session_id} does not exist")
        session_agent.created_at = before.created_at
        self._put(_agent_path(session_id, session_agent.agent_id), session_agent.to_dict())

    def create_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **_: Any
    ) -> None:
        """Stores a new message of an agent."""
        path = _message_path(session_id, agent_id, session_message.message_id)
        self._put(path, session_message.to_dict())

    def read_message(
        self, session_id: str, agent_id: str, message_id: int, **_: Any
    ) -> Optional[SessionMessage]:
        """Returns a message, or None."""
        value = self._get(_message_path(session_id, agent_id, message_id))
        return None if value is None else SessionMessage.from_dict(value)

    def update_message(
        self, session_id: str, agent_id: str, session_message: SessionMessage, **_: Any
    ) -> None:
        """Replaces a message. Keeps the time at which it was created."""
        before = self.read_message(session_id, agent_id, session_message.message_id)
        if before is None:
            raise SessionException(f"Message {session_message.message_id} does not exist")
        session_message.created_at = before.created_at
        self.create_message(session_id, agent_id, session_message)

    def list_messages(
        self, session_id: str, agent_id: str, limit: Optional[int] = None, offset: int = 0, **_: Any
    ) -> List[SessionMessage]:
        """Returns messages in their order."""
        prefix = f"{segment(session_id)}/{segment(agent_id)}/messages/"
        paths = [info.path for info in self._files.all(prefix)]
        page = paths[offset:] if limit is None else paths[offset : offset + limit]
        contents = self._files.read(page)
        return [
            SessionMessage.from_dict(json.loads(contents[path].content)) for path in page if path in contents
        ]

    def create_multi_agent(self, session_id: str, multi_agent: Any, **_: Any) -> None:
        """Stores the state of a graph or swarm."""
        self._put(
            f"{segment(session_id)}/multi/{segment(multi_agent.id)}.json", multi_agent.serialize_state()
        )

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **_: Any) -> Optional[Dict[str, Any]]:
        """Returns the state of a graph or swarm, or None."""
        return self._get(f"{segment(session_id)}/multi/{segment(multi_agent_id)}.json")

    def update_multi_agent(self, session_id: str, multi_agent: Any, **_: Any) -> None:
        """Replaces the state of a graph or swarm."""
        self.create_multi_agent(session_id, multi_agent)

    def _put(self, path: str, value: Any, *, if_absent: bool = False) -> None:
        content = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._files.put(
            path, content, content_type="application/json", keep=0, ttl=self._ttl, if_absent=if_absent
        )
        self._pointers.keep(content)

    def _get(self, path: str) -> Optional[Dict[str, Any]]:
        try:
            return dict(self._files.json(path))
        except NotFoundError:
            return None


def _agent_path(session_id: str, agent_id: str) -> str:
    return f"{segment(session_id)}/{segment(agent_id)}/agent.json"


def _message_path(session_id: str, agent_id: str, message_id: int) -> str:
    # Padded, so that paths sort like numbers.
    return f"{segment(session_id)}/{segment(agent_id)}/messages/{message_id:012}.json"
