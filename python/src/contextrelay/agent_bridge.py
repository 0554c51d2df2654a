"""Both ends of handing work to an agent."""

from __future__ import annotations

import logging
import threading
import time
from datetime import datetime, timezone
from typing import Any, Callable, Dict, Optional
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
#: The group in which bridges share the tasks of a channel, so that no two of them run the same one.
_GROUP = "bridges"
_BEAT_EVERY = 10.0
#: The channel tells at once; asking by id now and then makes up for whatever it could have missed.
_ASK_EVERY = 10.0
_SUMMARY_CHARS = 280

Dispatcher = Callable[[str], str]


class AgentBridge:
    """``push_and_wait`` where the work comes from, ``start`` next to the agent that does it.

    ``dispatcher`` takes the text of a task and gives the agent's output; a tmux window by default.
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
        """``name``: under which ``relay agents`` shows a bridge that was started."""
        self.hub = hub
        self.task_channel = task_channel
        self.done_channel = done_channel
        self.name = name or f"python-{uuid4().hex[:6]}"
        self._dispatcher = dispatcher or TmuxDispatcher()
        self._flows = TaskFlows()
        self._instance = uuid4().hex[:12]
        #: Task id → whether the task is encrypted.
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
        """Next to an agent that runs in a tmux window."""
        return cls(hub, task_channel, done_channel, TmuxDispatcher(session, window, timeout))

    # Where the work comes from.

    def push_and_wait(self, task: str, timeout: float = 600, *, encrypted: bool = False) -> str:
        """The result as text. Raises TaskFailedError where it failed, RelayTimeoutError where none came in time."""
        deadline = time.monotonic() + timeout
        # Before the task is there, so that even the fastest result comes behind it.
        with self.hub.messages(self.done_channel) as messages:
            task_id = self.send(task, encrypted=encrypted)
            found = _Waiter(self.hub, messages, task_id).wait(deadline)
        if found is None:
            raise RelayTimeoutError(
                f"No result within {timeout:g} s.",
                hint=f"The task is still there: relay task wait {task_id}",
            )
        # From our own relay's channel: asked from it, whatever address stands there.
        text = self.hub.pull(found["url"])
        if found["status"] == "done":
            return text
        raise TaskFailedError(
            found.get("summary") or first_line(text, _SUMMARY_CHARS), task_id=task_id, text=text
        )

    def send(self, task: str, *, encrypted: bool = False) -> str:
        """Hands the task over and does not wait; gives its id."""
        metadata = {"done_channel": self.done_channel}
        if not encrypted:
            # Metadata is never encrypted: what a secret task begins with is not told there.
            metadata["summary"] = first_line(task, 80)
        content_type = "text/plain; charset=utf-8"
        return self.hub.push_detailed(
            task, self.task_channel, encrypted, metadata, content_type=content_type
        ).id

    # Next to the agent.

    def start(self) -> None:
        """Takes tasks, one after the other, until :meth:`stop` or Ctrl-C. Each is this bridge's alone for as long as it works
        on it; what it has not finished goes to another."""
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
        self._stopped.set()
        if self._subscription is not None:
            self._subscription.close()

    def _take(self, message: Message) -> None:
        lease = Lease(self._settle, message)
        try:
            self._do(message, lease)
        except RelayError as error:
            # Nothing was decided: whoever gets it next may have more luck.
            log.warning("A task was given back: %s", error)
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
        wished = message.metadata.get("done_channel")
        channel = wished if isinstance(wished, str) and wished else self.done_channel
        encrypted = task.key is not None and self.hub.has_channel_key(channel)
        metadata: JsonObject = {"task_id": task.id, "status": status, "agent": self.name}
        if not encrypted:
            summary = summary_of(text) if status == "done" else first_line(text, _SUMMARY_CHARS)
            metadata.update(summary=summary, outcome=outcome)
        try:
            # One result for each task, whoever brings it.
            self.hub.push(
                text,
                channel,
                encrypted,
                metadata,
                content_type="text/plain; charset=utf-8",
                idempotency_key=f"task-result:{task.id}",
            )
        except ConflictError:
            log.info("Task %s has its result already", task.id)
        else:
            self._counts[status] += 1
        self._ack(message)

    def _perform(self, url: str) -> "tuple[str, str, str]":
        """Status, text and kind of outcome. Whatever goes wrong with the agent is a failed result."""
        try:
            task = self.hub.pull(url)
        except (RelayHTTPError, ValueError) as error:
            return "failed", f"The task could not be read: {error}", "none"
        try:
            outcome = read_outcome(self._dispatcher(task + OUTCOME_INSTRUCTION))
        except Exception as error:
            log.exception("The dispatcher failed")
            said = read_outcome(getattr(error, "output", None) or "").text
            text = f"{error}" or type(error).__name__
            return "failed", f"{text}\n\n{said}".strip(), "whole" if said else "none"
        kind = "block" if outcome.found else "whole" if outcome.text else "none"
        return "done", outcome.text or "(the agent said nothing)", kind

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
            # Another member's in the meantime, and its answer counts.
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
            # A question may quote the task, so that none about an encrypted task is passed on.
            beat["stuck"] = {
                task: f"{stuck.why}: {stuck.asked}" if stuck.asked and not secret else f"{stuck.why}."
                for task, secret in self._running.items()
            }
        self.hub._transport.run(self._flows.beat(self.name, beat))

    @staticmethod
    def _tell(what: Callable[[], object]) -> None:
        """Whoever cannot be told now is told the next time."""
        try:
            what()
        except RelayError as error:
            log.debug("The relay was not told: %s", error)


_STARTED = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


class _Waiter:
    """Waits for the result of one task: on its done channel, and by asking for it now and then."""

    def __init__(self, hub: ContextRelay, messages: Subscription, task_id: str) -> None:
        self._hub = hub
        self._messages = messages
        self._task_id = task_id
        self._found: Optional[JsonObject] = None
        self._error: Optional[BaseException] = None
        self._over = threading.Event()

    def wait(self, deadline: float) -> Optional[JsonObject]:
        listening = threading.Thread(target=self._listen, name="contextrelay-wait", daemon=True)
        listening.start()
        while self._found is None:
            left = deadline - time.monotonic()
            if left <= 0 or self._over.wait(min(left, _ASK_EVERY)):
                break
            self._ask()
        if self._found is None and self._error is not None:
            raise self._error
        return self._found

    def _listen(self) -> None:
        try:
            for message in self._messages:
                found = self._result_in(message)
                if found is not None:
                    self._found = found
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
        # A result without a mark, as older agents bring it, may be ours where no bridge that marks its results has it.
        unmarked = not self._asks_for_keys() and self._untouched()
        return {"url": message.url, "status": "done"} if unmarked else None

    def _confirmed(self, message: Message) -> Optional[JsonObject]:
        """The result that the relay has for the task: a message on the channel alone proves nothing."""
        try:
            found = self._result()
        except RelayHTTPError as error:
            if error.status == 404:
                # An older relay knows no tasks. One with keys does: there the task is gone, perhaps by whoever sent the message.
                return None if self._asks_for_keys() else _told({**message.metadata, "url": message.url})
            if error.status == 403:
                raise
            return None
        except RelayError:
            return None
        if found is None:
            return None
        # The URL of the message may have the key of an encrypted result.
        same = parse_pointer(found["url"]).id == parse_pointer(message.url or "").id
        return {**found, "url": message.url} if same else found

    def _result(self) -> Optional[JsonObject]:
        """A push that names the task without a status of the table is no result to the relay, and still what came of it."""
        task = self._hub.tasks.get(self._task_id)
        received = [each for each in task["receipts"] if each["rung"] == "result" and each.get("url")]
        found = task["result"] or (received[0] if received else None)
        return None if found is None else _told(found)

    def _asks_for_keys(self) -> bool:
        """Where keys are on, whoever may push to the channel could say anything."""
        try:
            return bool(self._hub._transport.run(TaskFlows().asks_for_keys()))
        except RelayHTTPError as error:
            # An older relay knows no keys.
            return error.status != 404
        except RelayError:
            return True

    def _untouched(self) -> bool:
        try:
            task = self._hub.tasks.get(self._task_id)
        except RelayHTTPError as error:
            # An older relay knows no tasks.
            return error.status == 404
        return bool(task["state"] == "queued" and task["attempt"] == 0)

    def _ask(self) -> None:
        try:
            result = self._result()
        except RelayError:
            return
        if result is not None and self._found is None:
            self._found = result


def _told(found: JsonObject) -> JsonObject:
    status = found.get("status")
    known = status in ("done", "failed", "canceled")
    return {"url": found["url"], "status": status if known else "done", "summary": found.get("summary")}
