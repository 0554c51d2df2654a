from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from uuid import uuid4

import pytest

from contextrelay import (
    AgentBridge,
    ContextRelay,
    RelayTimeoutError,
    TaskFailedError,
    TmuxDispatcher,
    generate_key,
)
from contextrelay.agent_bridge import OUTCOME_END, OUTCOME_INSTRUCTION, OUTCOME_START
from contextrelay.outcome import read_outcome
from contextrelay.pointer_url import parse_pointer

from .conftest import RELAY, RelayProcess, plain_environment

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def block(text: str) -> str:
    return f"{OUTCOME_START}\nCOMPLETED: {text}\nNOT_DONE: nothing\nNOTES: none\n{OUTCOME_END}"


class Bridging:
    """A bridge that runs in a thread until the test ends."""

    def __init__(self, hub: ContextRelay, dispatcher, **more) -> None:
        self.bridge = AgentBridge(hub, dispatcher=dispatcher, **more)
        self._thread = threading.Thread(target=self.bridge.start, daemon=True)

    def __enter__(self) -> AgentBridge:
        self._thread.start()
        return self.bridge

    def __exit__(self, *_) -> None:
        self.bridge.stop()
        self._thread.join(30)
        assert not self._thread.is_alive()


@pytest.fixture
def names() -> "dict[str, str]":
    """Returns channel names that no other test uses."""
    own = uuid4().hex[:8]
    return {"task_channel": f"tasks-{own}", "done_channel": f"done-{own}"}


def test_only_the_result_block_is_returned(relay: ContextRelay, names) -> None:
    seen = []

    def agent(task: str) -> str:
        seen.append(task)
        return f"thinking…\n{block('refactored auth')}\n$ "

    with Bridging(relay, agent, name="ada", **names):
        result = AgentBridge(relay, **names).push_and_wait("refactor auth", timeout=60)
        agents = relay.tasks.agents()
    assert result == block("refactored auth")
    assert seen == ["refactor auth" + OUTCOME_INSTRUCTION]
    assert [
        each["name"] for each in agents if each.get("bridge", {}).get("task_channel") == names["task_channel"]
    ] == ["ada"]


def test_without_a_result_block_the_whole_output_is_returned(relay: ContextRelay, names) -> None:
    with Bridging(relay, lambda task: " all of it \n", **names):
        assert AgentBridge(relay, **names).push_and_wait("x", timeout=60) == "all of it"


def test_a_failed_task_is_reported_and_the_bridge_continues(relay: ContextRelay, names) -> None:
    answers = [RuntimeError("it broke"), "fine"]

    def agent(task: str) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with Bridging(relay, agent, **names):
        orchestrator = AgentBridge(relay, **names)
        with pytest.raises(TaskFailedError, match="it broke") as caught:
            orchestrator.push_and_wait("x", timeout=60)
        assert relay.tasks.get(caught.value.task_id)["state"] == "failed"
        assert orchestrator.push_and_wait("x", timeout=60) == "fine"


def test_a_missing_result_raises_a_timeout(relay: ContextRelay, names) -> None:
    with pytest.raises(TimeoutError, match="No result within 1 s"):
        AgentBridge(relay, **names).push_and_wait("x", timeout=1)


def test_concurrent_waiters_each_get_their_own_result(relay: ContextRelay, names) -> None:
    results = {}

    def ask(n: int) -> None:
        results[n] = AgentBridge(relay, **names).push_and_wait(f"task {n}", timeout=120)

    with Bridging(relay, lambda task: block(task.splitlines()[0]), **names):
        threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {n: text.splitlines()[1] for n, text in results.items()} == {
        n: f"COMPLETED: task {n}" for n in range(4)
    }


def stranger_to(relay: RelayProcess) -> ContextRelay:
    """Returns a client whose API key may push and read, but may not settle tasks."""
    created = subprocess.run(
        [*RELAY, "keys", "create", "x", "--home", relay.home, "--scopes", "push,pull,subscribe"],
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return ContextRelay(relay.url, created.stdout.strip())


def test_with_keys_a_forged_result_on_the_done_channel_is_ignored(
    guarded: RelayProcess, names, in_thread
) -> None:
    results = []
    with stranger_to(guarded) as stranger:
        with (
            ContextRelay(guarded.url, guarded.key) as owner,
            stranger.messages(names["task_channel"]) as sent,
        ):
            waiting = in_thread(
                lambda: results.append(AgentBridge(owner, **names).push_and_wait("do it", timeout=60))
            )
            task = parse_pointer(next(iter(sent)).url or "").id
            stranger.push("forged, without a mark", names["done_channel"])
            stranger.push("forged", names["done_channel"], False, {"task_id": task})
            owner.tasks.done(task, "the real one")
            waiting.join(60)
    assert results == ["the real one"]


def test_a_client_that_deletes_a_task_cannot_forge_its_result(
    guarded: RelayProcess, names, in_thread
) -> None:
    results = []
    with stranger_to(guarded) as stranger, ContextRelay(guarded.url, guarded.key) as owner:

        def wait() -> None:
            try:
                results.append(AgentBridge(owner, **names).push_and_wait("do it", timeout=3))
            except RelayTimeoutError:
                results.append("nothing")

        with stranger.messages(names["task_channel"]) as sent:
            waiting = in_thread(wait)
            url = next(iter(sent)).url or ""
            stranger.delete(url)
            forged = {"task_id": parse_pointer(url).id, "status": "ok"}
            stranger.push("forged", names["done_channel"], False, forged)
            waiting.join(60)
    assert results == ["nothing"]


def test_without_keys_a_result_without_a_task_id_is_accepted(relay: ContextRelay, names, in_thread) -> None:
    results = []
    with relay.messages(names["task_channel"]) as sent:
        waiting = in_thread(
            lambda: results.append(AgentBridge(relay, **names).push_and_wait("do it", timeout=60))
        )
        next(iter(sent))
        relay.push("old style", names["done_channel"])
        waiting.join(60)
    assert results == ["old style"]


def test_an_encrypted_task_has_an_encrypted_result(relay: ContextRelay, names) -> None:
    key = generate_key()
    keys = {names["task_channel"]: key, names["done_channel"]: key}
    knowing = ContextRelay(relay.base_url, channel_keys=keys)
    with Bridging(knowing, lambda task: block("the secret was 42"), **names):
        result = AgentBridge(knowing, **names).push_and_wait("find the secret", timeout=60, encrypted=True)
    assert "42" in result
    with relay.messages(names["done_channel"], since="all") as messages:
        assert "summary" not in next(iter(messages)).metadata


def test_a_relay_bridge_runs_a_task_sent_from_python(server: RelayProcess, names) -> None:
    relay = ContextRelay(server.url)
    script = f"cat > /dev/null; printf '%s' '{block('by node')}'"
    process = subprocess.Popen(
        [
            *RELAY,
            "bridge",
            "start",
            "--exec",
            script,
            "--url",
            server.url,
            "--task-channel",
            names["task_channel"],
        ],
        env=plain_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert AgentBridge(relay, **names).push_and_wait("x", timeout=120).startswith("COMPLETED: by node")
    finally:
        process.terminate()
        process.wait(30)


def test_a_python_bridge_runs_a_task_sent_from_the_command_line(server: RelayProcess, names) -> None:
    with Bridging(ContextRelay(server.url), lambda task: block("by python"), **names):
        sent = subprocess.run(
            [*RELAY, "bridge", "send", "do it", "--wait", "--url", server.url]
            + ["--task-channel", names["task_channel"], "--done-channel", names["done_channel"]],
            env=plain_environment(),
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert "COMPLETED: by python" in sent.stdout, sent.stderr


def test_the_commands_start_and_send(server: RelayProcess, names) -> None:
    environment = plain_environment(CONTEXTRELAY_URL=server.url)
    channels = ["--task-channel", names["task_channel"], "--done-channel", names["done_channel"]]
    command = [sys.executable, "-m", "contextrelay.bridge_cli"]
    script = "cat > /dev/null; echo done by a command"
    bridge = subprocess.Popen(
        [*command, "start", "--exec", script, *channels], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        sent = subprocess.run(
            [*command, "send", "two", "words", "--wait", *channels],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (sent.returncode, sent.stdout) == (0, "done by a command\n")
    finally:
        bridge.terminate()
        bridge.wait(30)
    nobody = plain_environment(CONTEXTRELAY_URL="http://127.0.0.1:9")
    failed = subprocess.run([*command, "send", "x"], env=nobody, capture_output=True, text=True, timeout=60)
    assert failed.returncode == 5 and "does not answer" in failed.stderr
    assert (
        subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=60).stdout.count(
            "examples:"
        )
        == 1
    )


def test_the_result_block_is_found_despite_frames_and_echoes() -> None:
    assert read_outcome(OUTCOME_INSTRUCTION).found is False
    assert read_outcome(OUTCOME_INSTRUCTION + block("it")).text.startswith("COMPLETED: it")
    framed = "\n".join(f"│ {line} │" for line in block("framed").split("\n"))
    assert read_outcome(framed).text.splitlines()[0] == "COMPLETED: framed"
    assert read_outcome(block("first") + "\n" + block("second")).text.startswith("COMPLETED: second")
    assert read_outcome(block("x").replace(OUTCOME_END, "")).found is False


@needs_tmux
def test_a_task_runs_in_a_tmux_window(relay: ContextRelay, names, tmp_path) -> None:
    session = f"relay-{uuid4().hex[:8]}"
    agent = tmp_path / "agent.py"
    agent.write_text(
        "import sys\nprint('ready>', flush=True)\nfor line in sys.stdin:\n"
        f"    if line.strip() == {OUTCOME_END!r}:\n        print({block('typed it')!r}, flush=True)\n"
    )
    subprocess.run(
        ["tmux", "new-session", "-d", "-s", session, "-x", "120", "-y", "50", sys.executable, str(agent)],
        check=True,
    )
    try:
        until_shown(session, "ready>")
        bridge = AgentBridge.for_tmux(relay, session=session, timeout=60, **names)
        thread = threading.Thread(target=bridge.start, daemon=True)
        thread.start()
        result = AgentBridge(relay, **names).push_and_wait("first line\nsecond line", timeout=120)
        bridge.stop()
        thread.join(60)
    finally:
        subprocess.run(["tmux", "kill-session", "-t", session], check=False)
    assert result == block("typed it")


#: Program that shows a dialog like Claude Code after it received its task. It continues after Enter.
ASKING = f"""
import sys, time
print("ready>", flush=True)
for line in sys.stdin:
    if line.strip() == {OUTCOME_END!r}:
        break
print("-" * 20 + "\\n touch made\\n Do you want to proceed?\\n ❯ 1. Yes\\n   2. No\\n\\n Esc to cancel", flush=True)
# Ignore the Enter that ends the paste; wait for the answer `y`.
while sys.stdin.readline().strip() != "y":
    pass
print({block("made it")!r}, flush=True)
time.sleep(600)
"""


@needs_tmux
def test_a_dialog_does_not_end_the_task_and_its_question_is_reported(
    relay: ContextRelay, names, tmp_path
) -> None:
    session = f"relay-{uuid4().hex[:8]}"
    agent = tmp_path / "agent.py"
    agent.write_text(ASKING, encoding="utf-8")
    subprocess.run(
        [
            "tmux",
            "-u",
            "new-session",
            "-d",
            "-s",
            session,
            "-x",
            "120",
            "-y",
            "50",
            sys.executable,
            str(agent),
        ],
        check=True,
    )
    try:
        until_shown(session, "ready>")
        with Bridging(relay, TmuxDispatcher(session, timeout=60), name="ada", **names):
            bridge = AgentBridge(relay, **names)
            task = parse_pointer(bridge.send("make it")).id
            deadline = time.monotonic() + 60
            while relay.tasks.get(task)["stuck"] is None and time.monotonic() < deadline:
                time.sleep(0.2)
            asked = relay.tasks.get(task)
            assert (asked["state"], asked["result"]) == ("running", None)
            assert "waits for an answer: touch made Do you want to proceed?" in asked["stuck"]
            subprocess.run(["tmux", "send-keys", "-t", session, "y", "Enter"], check=True)
            while relay.tasks.get(task)["result"] is None and time.monotonic() < deadline:
                time.sleep(0.2)
            done = relay.tasks.get(task)
            assert (done["state"], done["stuck"]) == ("done", None)
            assert done["result"]["summary"] == "made it"
    finally:
        subprocess.run(["tmux", "kill-session", "-t", session], check=False)


@needs_tmux
def test_an_unchanged_screen_does_not_end_the_task_and_the_timeout_keeps_the_output(
    relay: ContextRelay, names
) -> None:
    session = f"relay-{uuid4().hex[:8]}"
    script = "echo ready; read -r line; echo half of it; sleep 600"
    subprocess.run(["tmux", "new-session", "-d", "-s", session, "-x", "120", "-y", "50", script], check=True)
    try:
        until_shown(session, "ready")
        with Bridging(relay, TmuxDispatcher(session, timeout=12, stuck_after=1), **names):
            with pytest.raises(TaskFailedError) as failed:
                AgentBridge(relay, **names).push_and_wait("x", timeout=60)
        assert "did not finish within 12 s" in str(failed.value)
        assert "half of it" in failed.value.text
    finally:
        subprocess.run(["tmux", "kill-session", "-t", session], check=False)


@needs_tmux
def test_a_missing_window_is_an_error(relay: ContextRelay) -> None:
    with pytest.raises(Exception, match="tmux says"):
        TmuxDispatcher(session="no-such-session")("x")
    assert issubclass(RelayTimeoutError, TimeoutError)


def until_shown(session: str, text: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        screen = subprocess.run(
            ["tmux", "capture-pane", "-p", "-t", session], capture_output=True, text=True
        ).stdout
        if text in screen:
            return
        time.sleep(0.1)
    raise AssertionError(f"{text} never showed")
