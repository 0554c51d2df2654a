"""Tasks that were sent to agents, and the list of agents. A task's id is the id of its pointer."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from .pointer_url import parse_pointer
from .types import Agent, Task, TaskInfo, TaskResult
from .wire import Call, Flow, Operations, ask, blocking, get, post, segment, tell


class TaskFlows:
    """Operations on tasks and agents."""

    def list(
        self, *, channel: Optional[str] = None, state: Optional[str] = None, limit: Optional[int] = None
    ) -> Flow[List[TaskInfo]]:
        """Lists tasks, newest first. ``state``: queued, running, acked, done, failed or canceled."""
        answer = yield from ask(get("/tasks", channel=channel, state=state, limit=limit))
        return list(answer["tasks"])

    def get(self, task: str) -> Flow[Task]:
        """Returns state, lease, receipts and result of a task."""
        return ask(get(f"/tasks/{parse_pointer(task).id}"))

    def asks_for_keys(self) -> Flow[bool]:
        """Returns whether the relay requires API keys."""
        answer = yield from ask(get("/keys/self"))
        return bool(answer["auth"] == "keys")

    def done(
        self, task: str, data: Optional[str] = None, *, summary: Optional[str] = None
    ) -> Flow[TaskResult]:
        """Stores the result of a task.

        Repeating the same result has no effect. A different result raises ConflictError.
        """
        return _settle(task, "done", data=data, summary=summary)

    def fail(
        self, task: str, data: Optional[str] = None, *, summary: Optional[str] = None
    ) -> Flow[TaskResult]:
        """Marks a task as failed, with the reason in ``data`` or ``summary``."""
        return _settle(task, "fail", data=data, summary=summary)

    def cancel(self, task: str, *, reason: Optional[str] = None) -> Flow[TaskResult]:
        """Cancels a task.

        A task that still waits is not delivered any more. If an agent works on the task, the agent stops.
        """
        return _settle(task, "cancel", reason=reason)

    def agents(self) -> Flow[List[Agent]]:
        """Lists the agents, like ``relay.agents.list``: bridges, sessions and followers."""
        answer = yield from ask(get("/agents"))
        return list(answer["agents"])

    def beat(self, name: str, bridge: Mapping[str, Any]) -> Flow[None]:
        """Sends the heartbeat of a bridge."""
        yield post(f"/agents/{segment(name)}", dict(bridge), repeatable=True)

    def leave(self, name: str, instance: str) -> Flow[None]:
        """Removes a bridge from the list of agents."""
        return tell(Call("DELETE", f"/agents/{segment(name)}/{segment(instance)}", repeatable=True))


def _settle(task: str, how: str, **fields: Optional[str]) -> Flow[TaskResult]:
    value = {name: text for name, text in fields.items() if text is not None}
    return ask(post(f"/tasks/{parse_pointer(task).id}/{how}", value, repeatable=True))


class Tasks(Operations):
    """``relay.tasks``: tasks of agents. Each method accepts the id of a task or the URL of its pointer."""

    _flows = TaskFlows()

    list = blocking(TaskFlows.list)
    get = blocking(TaskFlows.get)
    done = blocking(TaskFlows.done)
    fail = blocking(TaskFlows.fail)
    cancel = blocking(TaskFlows.cancel)
    agents = blocking(TaskFlows.agents)
