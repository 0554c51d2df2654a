"""Tasks: work given to agents, by the id of its pointer. And who is there to take it."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from .pointer_url import parse_pointer
from .transport import Transport
from .wire import Call, Flow, JsonObject, ask, get, post, segment, tell


class TaskFlows:
    def list(
        self, channel: Optional[str], state: Optional[str], limit: Optional[int]
    ) -> Flow[List[JsonObject]]:
        answer = yield from ask(get("/tasks", channel=channel, state=state, limit=limit))
        return list(answer["tasks"])

    def get(self, task: str) -> Flow[JsonObject]:
        return ask(get(f"/tasks/{parse_pointer(task).id}"))

    def asks_for_keys(self) -> Flow[bool]:
        answer = yield from ask(get("/keys/self"))
        return bool(answer["auth"] == "keys")

    def settle(self, task: str, how: str, said: Mapping[str, Optional[str]]) -> Flow[JsonObject]:
        """``done``, ``fail`` or ``cancel``."""
        value = {name: text for name, text in said.items() if text is not None}
        return ask(post(f"/tasks/{parse_pointer(task).id}/{how}", value, repeatable=True))

    def agents(self) -> Flow[List[JsonObject]]:
        answer = yield from ask(get("/agents"))
        return list(answer["agents"])

    def beat(self, name: str, bridge: Mapping[str, Any]) -> Flow[None]:
        yield post(f"/agents/{segment(name)}", dict(bridge), repeatable=True)

    def leave(self, name: str, instance: str) -> Flow[None]:
        return tell(Call("DELETE", f"/agents/{segment(name)}/{segment(instance)}", repeatable=True))


class Tasks:
    """``relay.tasks``. A task is named by its id or by the URL of its pointer."""

    def __init__(self, transport: Transport) -> None:
        self._run = transport.run
        self._flows = TaskFlows()

    def list(
        self, *, channel: Optional[str] = None, state: Optional[str] = None, limit: Optional[int] = None
    ) -> List[JsonObject]:
        """Newest first. ``state``: queued, running, acked, done, failed or canceled."""
        return self._run(self._flows.list(channel, state, limit))

    def get(self, task: str) -> JsonObject:
        """State, lease, receipts and result."""
        return self._run(self._flows.get(task))

    def done(self, task: str, data: Optional[str] = None, *, summary: Optional[str] = None) -> JsonObject:
        """Brings the result. The same again gives the first one; another one raises ConflictError."""
        return self._run(self._flows.settle(task, "done", {"data": data, "summary": summary}))

    def fail(self, task: str, data: Optional[str] = None, *, summary: Optional[str] = None) -> JsonObject:
        return self._run(self._flows.settle(task, "fail", {"data": data, "summary": summary}))

    def cancel(self, task: str, *, reason: Optional[str] = None) -> JsonObject:
        """Calls it off: it is handed to nobody any more, and whoever is at it stops."""
        return self._run(self._flows.settle(task, "cancel", {"reason": reason}))

    def agents(self) -> List[JsonObject]:
        """Who is there: bridges and followers, with their last sign of life."""
        return self._run(self._flows.agents())
