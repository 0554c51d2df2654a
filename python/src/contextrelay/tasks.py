"""Tasks: work given to agents, by the id of its pointer. And who is there to take it."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from .pointer_url import parse_pointer
from .transport import Transport
from .wire import Call, Flow, JsonObject, ask, blocking, get, post, segment, tell


class TaskFlows:
    def list(
        self, *, channel: Optional[str] = None, state: Optional[str] = None, limit: Optional[int] = None
    ) -> Flow[List[JsonObject]]:
        """Newest first. ``state``: queued, running, acked, done, failed or canceled."""
        answer = yield from ask(get("/tasks", channel=channel, state=state, limit=limit))
        return list(answer["tasks"])

    def get(self, task: str) -> Flow[JsonObject]:
        """State, lease, receipts and result."""
        return ask(get(f"/tasks/{parse_pointer(task).id}"))

    def asks_for_keys(self) -> Flow[bool]:
        answer = yield from ask(get("/keys/self"))
        return bool(answer["auth"] == "keys")

    def done(
        self, task: str, data: Optional[str] = None, *, summary: Optional[str] = None
    ) -> Flow[JsonObject]:
        """Brings the result. The same again gives the first one; another one raises ConflictError."""
        return _settle(task, "done", data=data, summary=summary)

    def fail(
        self, task: str, data: Optional[str] = None, *, summary: Optional[str] = None
    ) -> Flow[JsonObject]:
        return _settle(task, "fail", data=data, summary=summary)

    def cancel(self, task: str, *, reason: Optional[str] = None) -> Flow[JsonObject]:
        """Calls it off: it is handed to nobody any more, and whoever is at it stops."""
        return _settle(task, "cancel", reason=reason)

    def agents(self) -> Flow[List[JsonObject]]:
        """Who is there: bridges and followers, with their last sign of life."""
        answer = yield from ask(get("/agents"))
        return list(answer["agents"])

    def beat(self, name: str, bridge: Mapping[str, Any]) -> Flow[None]:
        yield post(f"/agents/{segment(name)}", dict(bridge), repeatable=True)

    def leave(self, name: str, instance: str) -> Flow[None]:
        return tell(Call("DELETE", f"/agents/{segment(name)}/{segment(instance)}", repeatable=True))


def _settle(task: str, how: str, **fields: Optional[str]) -> Flow[JsonObject]:
    value = {name: text for name, text in fields.items() if text is not None}
    return ask(post(f"/tasks/{parse_pointer(task).id}/{how}", value, repeatable=True))


class Tasks:
    """``relay.tasks``. A task is named by its id or by the URL of its pointer."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._flows = TaskFlows()

    list = blocking(TaskFlows.list)
    get = blocking(TaskFlows.get)
    done = blocking(TaskFlows.done)
    fail = blocking(TaskFlows.fail)
    cancel = blocking(TaskFlows.cancel)
    agents = blocking(TaskFlows.agents)
