"""Sends tasks to agents, and runs a bridge that receives tasks for an agent."""

from __future__ import annotations

import logging
import threading
import time
from datetime import datetime, timezone
from typing import Any, Callable, Dict, Mapping, Optional
from uuid import uuid4

from .channels import Lease, Message, Subscription
from .client import ContextRelay
from .errors import (
    ConflictError,
    NotFoundError,
    RelayError,
    RelayHTTPError,
    RelayTimeoutError,
    TaskFailedError,
)
from .outcome import OUTCOME_END, OUTCOME_INSTRUCTION, OUTCOME_START, first_line, read_outcome, summary_of
from .pointer_url import parse_pointer
from .tasks import TaskFlows
from .tmux import TmuxDispatcher
from .wire import JsonObject

__all__ = ["OUTCOME_END", "OUTCOME_INSTRUCTION", "OUTCOME_START", "AgentBridge", "TmuxDispatcher"]

log = logging.getLogger("contextrelay")

DEFAULT_TASK_CHANNEL = "agent-tasks"
DEFAULT_DONE_CHANNEL = "agent-done"
#: Name of the group in which bridges share the tasks of a channel. Each task goes to one bridge of the group.
_GROUP = "bridges"
#: Interval between two heartbeats of a bridge, in seconds.
_BEAT_EVERY = 10.0
#: Interval in seconds at which a waiter asks the relay for the task, in case it missed the message on the
#: channel.
_POLL_EVERY = 10.0
_SUMMARY_CHARS = 280

#: Function that receives the text of a task and returns the output of the agent.
Dispatcher = Callable[[str], str]


class AgentBridge:
    """Sends tasks with ``push_and_wait`` or ``send``.

    With ``start``, the bridge runs next to an agent and receives tasks for it.

    ``dispatcher``: function that receives the text of a task and returns the agent's output. Default: a
    tmux window.
    """

    def __init__(
        self,
        hub: ContextRelay,
        task_channel: str = DEFAULT_TASK_CHANNEL,
        done_channel: str = DEFAULT_DONE_CHANNEL,
        dispatcher: Optional[Dispatcher] = None,
        *,
        name: Optional[str] = None,
    ) -> None:
        """Creates a bridge. ``name``: the name that ``relay agents`` shows for this bridge while it runs."""
        self.hub = hub
        self.task_channel = task_channel
        self.done_channel = done_channel
        self.name = name or f"python-{uuid4().hex[:6]}"
        self._dispatcher = dispatcher or TmuxDispatcher()
        self._flows = TaskFlows()
        self._instance = uuid4().hex[:12]
        #: Maps the id of each running task to True if the task is encrypted.
        self._running: Dict[str, bool] = {}
        self._counts = {"done": 0, "failed": 0}
        self._stopped = threading.Event()
        self._subscription: Optional[Subscription] = None
        if isinstance(self._dispatcher, TmuxDispatcher):
            self._dispatcher.on_stuck = self._beat_quietly

    @classmethod
    def for_tmux(
        cls,
        hub: ContextRelay,
        session: str = "vibe",
        window: int = 0,
        task_channel: str = DEFAULT_TASK_CHANNEL,
        done_channel: str = DEFAULT_DONE_CHANNEL,
        timeout: float = 600,
    ) -> AgentBridge:
        """Returns a bridge for an agent that runs in a tmux window.

        ``timeout``: maximum seconds for one task.
        """
        return cls(hub, task_channel, done_channel, TmuxDispatcher(session, window, timeout))

    # Methods for the sender of tasks.

    def push_and_wait(self, task: str, timeout: float = 600, *, encrypted: bool = False) -> str:
        """Sends a task, waits for its result and returns it as text.

        Raises TaskFailedError if the task failed, and RelayTimeoutError if there is no result within ``timeout`` seconds.
        """
        deadline = time.monotonic() + timeout
        # Subscribe before sending the task. Otherwise a fast result could be missed.
        with self.hub.messages(self.done_channel) as messages:
            task_id = self.send(task, encrypted=encrypted)
            result = _Waiter(self.hub, messages, task_id).wait(deadline)
        if result is None:
            raise RelayTimeoutError(
                f"No result within {timeout:g} s.",
                hint=f"The task continues. Wait for it with: relay task wait {task_id}",
            )
        text = self.hub.pull(result["url"])
        if result["status"] == "done":
            return text
        raise TaskFailedError(
            result.get("summary") or first_line(text, _SUMMARY_CHARS), task_id=task_id, text=text
        )

    def send(self, task: str, *, encrypted: bool = False) -> str:
        """Sends a task and returns its id without waiting for the result."""
        metadata = {"done_channel": self.done_channel}
        if not encrypted:
            # Metadata is never encrypted, so an encrypted task gets no summary.
            metadata["summary"] = first_line(task, 80)
        content_type = "text/plain; charset=utf-8"
        return self.hub.push_detailed(
            task, self.task_channel, encrypted, metadata, content_type=content_type
        ).id

    # Methods for the bridge that runs next to the agent.

    def start(self) -> None:
        """Receives tasks and runs them one after the other, until :meth:`stop` or Ctrl-C.

        While a task runs, this bridge holds a lease on it. If the bridge does not finish a task, another
        bridge gets it.
        """
        self._stopped.clear()
        self._beat()
        beating = threading.Thread(target=self._keep_beating, name="contextrelay-beat", daemon=True)
        beating.start()
        log.info("%s takes tasks from %s", self.name, self.task_channel)
        try:
            self._subscription = self.hub.messages(self.task_channel, group=_GROUP)
            for message in self._subscription:
                self._take(message)
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()
            self._tell(lambda: self.hub._transport.run(self._flows.leave(self.name, self._instance)))

    def stop(self) -> None:
        """Stops the bridge. Can be called from any thread."""
        self._stopped.set()
        if self._subscription is not None:
            self._subscription.close()

    def _take(self, message: Message) -> None:
        lease = Lease(self._settle, message)
        try:
            self._do(message, lease)
        except RelayError as error:
            # The task has no result yet, so give it back. Another bridge may try it.
            log.warning("A task was returned to the queue: %s", error)
            self._tell(lambda: self._settle(message, "nack"))
        finally:
            lease.stop()
            self._running.clear()

    def _do(self, message: Message, lease: Lease) -> None:
        if message.url is None:
            self._ack(message)
            return
        task = parse_pointer(message.url)
        if self._has_result(task.id):
            self._ack(message)
            return
        self._running[task.id] = task.key is not None
        self._beat_quietly()
        log.info("Task %s from %s", task.id, message.sender)
        status, text, outcome = self._perform(message.url)
        if lease.lost.is_set() or (self._stopped.is_set() and status == "failed"):
            self._tell(lambda: self._settle(message, "nack"))
            return
        requested = message.metadata.get("done_channel")
        channel = requested if isinstance(requested, str) and requested else self.done_channel
        encrypted = task.key is not None and self.hub.has_channel_key(channel)
        metadata: JsonObject = {"task_id": task.id, "status": status, "agent": self.name}
        if not encrypted:
            summary = summary_of(text) if status == "done" else first_line(text, _SUMMARY_CHARS)
            metadata.update(summary=summary, outcome=outcome)
        try:
            # The idempotency key allows only one result per task, even if two bridges ran the task.
            self.hub.push(
                text,
                channel,
                encrypted,
                metadata,
                content_type="text/plain; charset=utf-8",
                idempotency_key=f"task-result:{task.id}",
            )
        except ConflictError:
            log.info("Task %s already has a result", task.id)
        else:
            self._counts[status] += 1
        self._ack(message)

    def _perform(self, url: str) -> "tuple[str, str, str]":
        """Runs a task and returns its status, its text and the kind of outcome.

        An error of the agent becomes a failed result.
        """
        try:
            task = self.hub.pull(url)
        except (RelayHTTPError, ValueError) as error:
            return "failed", f"The task could not be read: {error}", "none"
        try:
            outcome = read_outcome(self._dispatcher(task + OUTCOME_INSTRUCTION))
        except Exception as error:
            log.exception("The dispatcher failed")
            output = read_outcome(getattr(error, "output", None) or "").text
            text = f"{error}" or type(error).__name__
            return "failed", f"{text}\n\n{output}".strip(), "whole" if output else "none"
        if outcome.found:
            # Keep the markers, as the original package does: programs look for them in the result.
            return "done", f"{OUTCOME_START}\n{outcome.text}\n{OUTCOME_END}", "block"
        return "done", outcome.text or "(no output from the agent)", "whole" if outcome.text else "none"

    def _has_result(self, task_id: str) -> bool:
        try:
            return self.hub.tasks.get(task_id)["result"] is not None
        except NotFoundError:
            return False

    def _settle(self, message: Message, how: str) -> Any:
        return self.hub._transport.run(self.hub._flows.settle(message, how))

    def _ack(self, message: Message) -> None:
        try:
            self._settle(message, "ack")
        except ConflictError:
            # Another member holds the message now, and the result of that member counts.
            pass

    def _keep_beating(self) -> None:
        while not self._stopped.wait(_BEAT_EVERY):
            self._beat_quietly()

    def _beat_quietly(self) -> None:
        self._tell(self._beat)

    def _beat(self) -> None:
        dispatcher = self._dispatcher
        tmux = isinstance(dispatcher, TmuxDispatcher)
        beat: JsonObject = {
            "instance": self._instance,
            "runner": "tmux" if tmux else "exec",
            "target": dispatcher.target if isinstance(dispatcher, TmuxDispatcher) else "a Python function",
            "task_channel": self.task_channel,
            "done_channel": self.done_channel,
            "concurrency": 1,
            "running": list(self._running),
            **self._counts,
            "started_at": _STARTED,
        }
        stuck = dispatcher.stuck if isinstance(dispatcher, TmuxDispatcher) else None
        if stuck is not None and self._running:
            # The question of the agent may quote the task. So the question is not sent if the task is encrypted.
            beat["stuck"] = {
                task: f"{stuck.why}: {stuck.asked}" if stuck.asked and not secret else f"{stuck.why}."
                for task, secret in self._running.items()
            }
        self.hub._transport.run(self._flows.beat(self.name, beat))

    @staticmethod
    def _tell(what: Callable[[], object]) -> None:
        """Sends something to the relay and logs errors instead of raising them.

        The next heartbeat or message corrects the state.
        """
        try:
            what()
        except RelayError as error:
            log.debug("The relay could not be updated: %s", error)


_STARTED = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


class _Waiter:
    """Waits for the result of one task. It listens on the done channel and also polls the task."""

    def __init__(self, hub: ContextRelay, messages: Subscription, task_id: str) -> None:
        self._hub = hub
        self._messages = messages
        self._task_id = task_id
        self._stored_result: Optional[JsonObject] = None
        self._error: Optional[BaseException] = None
        self._over = threading.Event()

    def wait(self, deadline: float) -> Optional[JsonObject]:
        listening = threading.Thread(target=self._listen, name="contextrelay-wait", daemon=True)
        listening.start()
        while self._stored_result is None:
            left = deadline - time.monotonic()
            if left <= 0 or self._over.wait(min(left, _POLL_EVERY)):
                break
            self._ask()
        if self._stored_result is None and self._error is not None:
            raise self._error
        return self._stored_result

    def _listen(self) -> None:
        try:
            for message in self._messages:
                result = self._result_in(message)
                if result is not None:
                    self._stored_result = result
                    break
        except BaseException as error:
            self._error = error
        self._over.set()

    def _result_in(self, message: Message) -> Optional[JsonObject]:
        about = message.metadata.get("task_id")
        if message.url is None:
            return None
        if isinstance(about, str):
            return self._confirmed(message) if about.lower() == self._task_id else None
        # Old agents send results without a task id. Accept such a result if no bridge has claimed the task.
        # On a relay with API keys, ignore such a result, because any client that can push to the channel
        # could forge one.
        accepted = not self._asks_for_keys() and self._is_unclaimed()
        return {"url": message.url, "status": "done"} if accepted else None

    def _confirmed(self, message: Message) -> Optional[JsonObject]:
        """Returns the result that the relay has stored for the task.

        The message on the channel does not prove that the task has this result, because another client
        may have sent the message.
        """
        try:
            result = self._result()
        except RelayHTTPError as error:
            if error.status == 404:
                # The relay does not know the task. If it requires no API keys, it is an old relay without
                # tasks, and the message is trusted. If it requires API keys, someone deleted the task,
                # perhaps the sender of the message. Then the message is not trusted.
                return None if self._asks_for_keys() else _result_of({**message.metadata, "url": message.url})
            if error.status == 403:
                raise
            return None
        except RelayError:
            return None
        if result is None:
            return None
        # If the URL in the message is a pointer to the stored result, use this URL, because it can contain the
        # encryption key.
        same = parse_pointer(result["url"]).id == parse_pointer(message.url or "").id
        return {**result, "url": message.url} if same else result

    def _result(self) -> Optional[JsonObject]:
        """Returns the stored result. If there is none, returns the result that the receipts list.

        The relay does not store a result whose status it does not recognize, but lists it in the receipts.
        """
        task = self._hub.tasks.get(self._task_id)
        received = [each for each in task["receipts"] if each["rung"] == "result" and each.get("url")]
        result = task["result"] or (received[0] if received else None)
        return None if result is None else _result_of(result)

    def _asks_for_keys(self) -> bool:
        """Returns whether the relay requires API keys. Returns True if the relay does not answer."""
        try:
            return bool(self._hub._transport.run(TaskFlows().asks_for_keys()))
        except RelayHTTPError as error:
            # 404 comes from an old relay that has no API keys.
            return error.status != 404
        except RelayError:
            return True

    def _is_unclaimed(self) -> bool:
        try:
            task = self._hub.tasks.get(self._task_id)
        except RelayHTTPError as error:
            # 404 comes from an old relay that has no tasks.
            return error.status == 404
        return bool(task["state"] == "queued" and task["attempt"] == 0)

    def _ask(self) -> None:
        try:
            result = self._result()
        except RelayError:
            return
        if result is not None and self._stored_result is None:
            self._stored_result = result


def _result_of(result: Mapping[str, Any]) -> JsonObject:
    status = result.get("status")
    is_outcome = status in ("done", "failed", "canceled")
    return {
        "url": result["url"],
        "status": status if is_outcome else "done",
        "summary": result.get("summary"),
    }
