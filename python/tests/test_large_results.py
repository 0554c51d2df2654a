"""Tests large results with the cases that the TypeScript tests use. A hanging relay must not stall an agent."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List

import pytest

from contextrelay import ContextRelay, RelayTimeoutError
from contextrelay.connection import time_limit
from contextrelay.integrations.kept_pointers import KeptPointers
from contextrelay.integrations.large_results import LargeResults, seconds_of
from contextrelay.integrations.tools import RelayTools

from .conftest import ROOT, typescript
from .integrations.million import url_in

TABLE = json.loads((ROOT / "test/integrations/large-results.json").read_text("utf-8"))


def text(about: Dict[str, Any]) -> str:
    words = about.get("of", "line")
    return "\n".join(f"line {n}" if words == "line" else words for n in range(about.get("lines", 0)))


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["name"])
def test_large_results(case: Dict[str, Any], relay: ContextRelay) -> None:
    results = LargeResults(relay, **case.get("options", {}))
    tool = case.get("tool", "tool")
    if "blocks" in case:
        return check_blocks(case, results, relay, tool)
    original = text(case["result"])
    replacement = results.shown(original, tool)
    if case.get("stays"):
        assert replacement == original
        return
    url = url_in(replacement)
    lines = replacement.split("\n")
    if "first" in case:
        assert lines[0] == case["first"].replace("{url}", url)
    if "last" in case:
        assert lines[-1] == case["last"]
    assert all(part in replacement for part in case.get("contains", ())), replacement
    assert not any(part in replacement for part in case.get("lacks", ())), replacement
    assert relay.pull(url) == original
    assert ("#key=" in url) == case.get("encrypted", False)
    info = relay.inspect(url)
    if "metadata" in case:
        assert info.metadata == case["metadata"]
    assert info.channel == case.get("channel")
    if "lives" in case:
        assert case["lives"] - 600 < seconds_of(str(info.expires_at)) - time.time() <= case["lives"]


def check_blocks(case: Dict[str, Any], results: LargeResults, relay: ContextRelay, tool: str) -> None:
    blocks = [
        {"type": "image", "data": "AAAA"} if each.get("image") else {"type": "text", "text": text(each)}
        for each in case["blocks"]
    ]
    swapped = results.swap(blocks, tool)
    kinds = [
        "image"
        if each["type"] != "text"
        else "replacement"
        if each["text"].startswith("Too large to show")
        else "text"
        for each in swapped
    ]
    assert kinds == case["becomes"]
    if "replacement" not in kinds:
        assert swapped is blocks
        return
    stored = "\n".join(text({"lines": lines}) for lines in case["stored"])
    assert relay.pull(url_in(swapped[0]["text"])) == stored


@dataclass
class FakeMessage:
    content: Any
    tool_call_id: str = "1"
    name: str = "search"

    def model_copy(self, update: Dict[str, Any]) -> "FakeMessage":
        return FakeMessage(**{**self.__dict__, **update})


@dataclass
class FakeCommand:
    update: Dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize("case", TABLE["messages"], ids=lambda case: case["name"])
def test_messages(case: Dict[str, Any], relay: ContextRelay) -> None:
    content = [{"type": "text", "text": text(each)} for each in case.get("blocks", ())] or text(
        case.get("content", {})
    )
    message = FakeMessage(content)
    original = FakeCommand({"messages": [message], "other": 1}) if case.get("command") else message
    swapped = LargeResults(relay).swap(original, "search")
    if not case["replaced"]:
        assert swapped is original
        return
    if case.get("command"):
        assert swapped.update["other"] == 1
        [swapped] = swapped.update["messages"]
    first = swapped.content if isinstance(swapped.content, str) else swapped.content[0]["text"]
    assert first.startswith("Too large to show: the result of search") and message.content == content


def test_python_and_typescript_show_the_same_text(relay: ContextRelay) -> None:
    original = text({"lines": 4000})
    script = """
        const { ContextRelay } = await import('./src/sdk/context-relay.ts');
        const { LargeResults } = await import('./src/integrations/large-results.ts');
        output(await new LargeResults(new ContextRelay(input.url)).replaceText(input.text, 'search'));
    """
    theirs = typescript(script, {"url": relay.base_url, "text": original})
    assert LargeResults(relay).shown(original, "search") == theirs


def test_an_unknown_option_is_refused(relay: ContextRelay) -> None:
    with pytest.raises(TypeError, match="no option 'maxbytes'"):
        LargeResults(relay, maxbytes=1)  # type: ignore[call-arg]


def test_a_part_of_a_pull_has_at_most_64_KiB(relay: ContextRelay) -> None:
    url = relay.push(text({"lines": 30_000}))
    tools = RelayTools(relay)
    assert len(tools.pull(url, "lines=1-30000")) < 64 * 1024 + 100
    assert tools.pull(url).startswith("Not pulled: the limit for one result is 65,536 bytes (64 KiB).")
    assert tools.pull(url, "lines=2") == "line 1"
    assert tools.peek(url) == "(no metadata available)"


class Hanging:
    """A server that accepts connections and never answers."""

    def __init__(self) -> None:
        self.connections: List[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                self.connections.append(self._server.accept()[0])
            except OSError:
                return

    def close(self) -> None:
        for each in [self._server, *self.connections]:
            each.close()


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    server = Hanging()
    yield server
    server.close()


def test_a_relay_that_hangs_delays_a_step_once_and_is_then_left_alone(
    hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextrelay.integrations.large_results._OFFLOAD_S", 0.2)
    errors: List[Exception] = []
    results = LargeResults(ContextRelay(hanging.url), on_error=errors.append)
    large = text({"lines": 3000})
    # Only the first of three results of a step waits for the relay. The other two are returned without waiting.
    assert [results.shown(large, "search") for _ in range(3)] == [large] * 3
    assert len(hanging.connections) == 1 and isinstance(errors[0], RelayTimeoutError) and len(errors) == 1
    kept = KeptPointers(ContextRelay(hanging.url))
    for _ in range(2):
        kept.keep(b"http://127.0.0.1/pull/00000000-0000-4000-8000-000000000000")
    assert len(hanging.connections) == 2


def test_the_timeout_is_for_the_whole_call_with_its_retries(hanging: Hanging) -> None:
    with pytest.raises(RelayTimeoutError, match=r"timeout: 0\.3 s"):
        ContextRelay(hanging.url, timeout=0.3).push("x")
    assert len(hanging.connections) == 1
    with time_limit(0.3), pytest.raises(RelayTimeoutError):
        ContextRelay(hanging.url).push("x")


def test_an_answer_that_stalls_or_trickles_ends_at_the_deadline(in_thread: Any) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def trickle() -> None:
        client = server.accept()[0]
        client.recv(65536)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{")
        while not done.wait(0.05):
            try:
                client.sendall(b" ")
            except OSError:
                return

    in_thread(trickle)
    url = f"http://127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(RelayTimeoutError):
        ContextRelay(url, timeout=0.5, retries=0).channels()
    done.set()
    server.close()


def test_the_asynchronous_client_has_the_same_deadline(hanging: Hanging) -> None:
    aio = pytest.importorskip("contextrelay.aio")

    async def push() -> None:
        async with aio.AsyncContextRelay(hanging.url, timeout=0.3) as relay:
            await relay.push("x")

    with pytest.raises(RelayTimeoutError, match=r"timeout: 0\.3 s"):
        asyncio.run(push())
