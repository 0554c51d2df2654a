"""Tests the behaviour on which programs for the original package rely.

The same file runs with the original package (PyPI: contextrelay 0.2.0) and with ours, against our relay. Marks say which
tests the original does not pass.
"""

from __future__ import annotations

import inspect
import json
import threading
import time
from typing import Any, Callable, List
from uuid import uuid4

import pytest
import requests

import contextrelay
from contextrelay import AgentBridge, ContextRelay, TmuxDispatcher, agent_bridge, client

from .conftest import RelayProcess

#: True for the original package, which has no `RelayError`.
ORIGINAL = not hasattr(contextrelay, "RelayError")
#: True for our package and for the newer sources in the original's repository, which are not on PyPI.
NEWER = hasattr(client, "MANAGED_URL")
ours_or_newer = pytest.mark.skipif(not NEWER, reason="newer than the original of PyPI")
ours = pytest.mark.skipif(ORIGINAL, reason="the original fails here")


@pytest.fixture
def hub(server: RelayProcess) -> ContextRelay:
    return ContextRelay(server.url)


@pytest.fixture
def channel() -> str:
    return f"original-{uuid4().hex[:8]}"


def wait_for(condition: Callable[[], Any]) -> Any:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)
    return condition()


def listen(hub: ContextRelay, channel: str) -> List[str]:
    """Subscribes in a thread, as the original's documentation shows. Returns the list that fills with URLs."""
    urls: List[str] = []
    threading.Thread(target=hub.subscribe, args=(channel, urls.append), daemon=True).start()
    # Nothing tells when a subscription is open. So push until the first message arrives.
    until = time.monotonic() + 30
    while not urls and time.monotonic() < until:
        hub.push("first", channel=channel)
        time.sleep(0.2)
    return urls


def test_push_pull_and_peek(hub: ContextRelay) -> None:
    url = hub.push("text", metadata={"summary": "s"})
    assert "/pull/" in url
    assert hub.pull(url) == "text"
    assert hub.peek(url) == {"summary": "s"}
    assert hub.peek(hub.push("x")) == {}
    assert requests.get(url, timeout=10).json() == {"data": "text", "metadata": {"summary": "s"}}


def test_arguments_have_the_same_names_and_order(server: RelayProcess) -> None:
    hub = ContextRelay(server.url + "/", timeout=20)
    assert (hub.base_url, hub.timeout) == (server.url, 20)
    hub.timeout = 10
    assert hub.timeout == 10
    for function, names in (
        (ContextRelay.push, ["self", "data", "channel", "encrypted", "metadata"]),
        (ContextRelay.pull, ["self", "url"]),
        (ContextRelay.peek, ["self", "url"]),
        (ContextRelay.subscribe, ["self", "channel", "callback", "max_reconnect_delay"]),
        (AgentBridge.__init__, ["self", "hub", "task_channel", "done_channel", "dispatcher"]),
        (AgentBridge.push_and_wait, ["self", "task", "timeout"]),
        (TmuxDispatcher.__init__, ["self", "session", "window", "timeout"]),
    ):
        assert list(inspect.signature(function).parameters)[: len(names)] == names
    tmux = inspect.signature(AgentBridge.for_tmux).parameters
    assert list(tmux) == ["hub", "session", "window", "task_channel", "done_channel", "timeout"]
    assert (agent_bridge.DEFAULT_TASK_CHANNEL, agent_bridge.DEFAULT_DONE_CHANNEL) == (
        "agent-tasks",
        "agent-done",
    )


@pytest.mark.skipif(ORIGINAL and NEWER, reason="the key comes first in the repository of the original")
def test_the_second_argument_may_be_the_timeout(server: RelayProcess) -> None:
    assert ContextRelay(server.url, 7).timeout == 7


@ours_or_newer
def test_the_second_argument_may_be_the_api_key(guarded: RelayProcess) -> None:
    hub = ContextRelay(guarded.url, guarded.key)
    assert hub.pull(hub.push("x")) == "x"
    assert client.MANAGED_URL.startswith("https://")


def test_encrypted_payloads(hub: ContextRelay) -> None:
    url = hub.push("secret ünïcode", encrypted=True)
    address, _, key = url.partition("#key=")
    assert key and "secret" not in requests.get(address, timeout=10).text
    assert hub.pull(url) == "secret ünïcode"
    with pytest.raises(ValueError, match="Failed to decrypt: Invalid or missing key"):
        hub.pull(f"{address}#key=")
    with pytest.raises(ValueError, match="Failed to decrypt: Invalid or missing key"):
        hub.pull(f"{address}#key={'AB' * 21}A=")


def test_errors_are_those_of_requests(hub: ContextRelay, server: RelayProcess) -> None:
    missing = f"{server.url}/pull/00000000-0000-4000-8000-000000000000"
    for call in (hub.pull, hub.peek):
        with pytest.raises(requests.HTTPError) as raised:
            call(missing)
        assert raised.value.response.status_code == 404
        assert "error" in raised.value.response.json()
    with pytest.raises(ValueError):
        hub.peek("https://example.com/nothing")
    with pytest.raises(TypeError):
        hub.push("x", metadata="no dict")  # type: ignore[arg-type]
    with pytest.raises(requests.ConnectionError):
        ContextRelay("http://127.0.0.1:9").push("x")


def test_a_subscriber_gets_urls(hub: ContextRelay, channel: str) -> None:
    urls = listen(hub, channel)
    url = hub.push("news", channel=channel)
    wait_for(lambda: url in urls)


@pytest.mark.parametrize("name", ["with space", "100%", "a/b", "50%25 off/today", "ünï"])
@ours
def test_a_channel_has_the_same_name_for_push_and_subscribe(hub: ContextRelay, name: str) -> None:
    channel = f"{name} {uuid4().hex[:8]}"
    assert listen(hub, channel)


def test_a_bridge_answers_a_task(hub: ContextRelay, channel: str) -> None:
    places = {"task_channel": f"{channel}-tasks", "done_channel": f"{channel}-done"}
    bridge = AgentBridge(hub, dispatcher=lambda task: f"did: {task.splitlines()[0]}", **places)
    threading.Thread(target=bridge.start, daemon=True).start()
    time.sleep(1)
    assert AgentBridge(hub, **places).push_and_wait("the work", timeout=30) == "did: the work"


@ours_or_newer
def test_a_result_keeps_the_markers_of_its_outcome(hub: ContextRelay, channel: str) -> None:
    start, end = "=== CC_OUTCOME_START ===", "=== CC_OUTCOME_END ==="
    assert (agent_bridge.OUTCOME_START, agent_bridge.OUTCOME_END) == (start, end)
    assert start in agent_bridge.OUTCOME_INSTRUCTION
    places = {"task_channel": f"{channel}-tasks", "done_channel": f"{channel}-done"}
    block = f"{start}\nCOMPLETED: all\nNOT_DONE: none\nNOTES: none\n{end}"
    bridge = AgentBridge(hub, dispatcher=lambda task: f"{task}\nworking…\n{block}\n$ ", **places)
    threading.Thread(target=bridge.start, daemon=True).start()
    time.sleep(1)
    assert AgentBridge(hub, **places).push_and_wait("the work", timeout=30) == block


def test_the_mcp_module_has_its_functions(server: RelayProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTRELAY_URL", server.url)
    from contextrelay import mcp

    monkeypatch.setattr(mcp, "hub", ContextRelay(server.url))
    url = mcp.push_context("text", summary="s")
    assert mcp.pull_context(url) == "text"
    assert json.loads(mcp.peek_context(url)) == {"summary": "s"}
    assert mcp.peek_context(mcp.push_context("x")) == "(no metadata available)"
    assert mcp.pull_context(url[:-4] + "0000").startswith("Error pulling context: ")
    assert callable(mcp.bridge_task) and callable(mcp.main) and callable(mcp.mcp.run)


def test_the_integrations_can_be_imported_without_frameworks() -> None:
    names: dict[str, Any] = {}
    exec("from contextrelay.integrations import *", names)
    for name in (
        "ContextRelayRetriever",
        "ContextRelayCallbackHandler",
        "ContextRelayPushTool",
        "ContextRelayPullTool",
        "contextrelay_push",
        "contextrelay_pull",
        "get_autogen_tools",
    ):
        assert callable(names[name])


def test_a_retriever_takes_the_address_first(server: RelayProcess, hub: ContextRelay, channel: str) -> None:
    pytest.importorskip("langchain_core")
    from contextrelay.integrations.langchain import ContextRelayRetriever

    retriever = ContextRelayRetriever(server.url, None, channel, False)
    [document] = (
        retriever._get_relevant_documents("q") if ORIGINAL else retriever.invoke("q")  # type: ignore[call-arg]
    )
    assert hub.pull(document.metadata["contextrelay_url"]) == "q"


@ours
def test_our_version_is_above_that_of_the_original() -> None:
    assert tuple(int(part) for part in contextrelay.__version__.split(".")[:2]) > (0, 2)
