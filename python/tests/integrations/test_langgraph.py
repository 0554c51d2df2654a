from __future__ import annotations

import asyncio
import base64
import json
import operator
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, Dict, List, Tuple, TypedDict
from uuid import uuid4

import pytest
from cryptography.fernet import Fernet
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from contextrelay import ContextRelay, NotFoundError
from contextrelay.files import NewFile
from contextrelay.integrations import langgraph
from contextrelay.integrations.kept_pointers import seconds_of
from contextrelay.integrations.langgraph import ContextRelaySaver, pointer_wrapper
from contextrelay.integrations.tools import RelayTools

from ..conftest import RelayProcess
from .hand_over import QUESTION, offloading_tests
from .million import NEEDLE, million, url_in


def place(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def place_in(thread: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}


#: A value that is stored in a file of its own.
LARGE = "ada " * 2000


@pytest.fixture
def space() -> str:
    return f"langgraph-{uuid4().hex[:8]}"


def test_the_whole_conformance_suite_passes(relay: ContextRelay, space: str) -> None:
    @checkpointer_test(name="ContextRelaySaver")
    async def saver():
        yield ContextRelaySaver(relay, space=space)

    report = asyncio.run(validate(saver))
    failures = {name: result.failures for name, result in report.results.items() if result.failures}
    assert failures == {}
    assert report.passed_all(), {name: result for name, result in report.results.items() if not result.passed}
    assert all(result.detected and result.tests_passed > 0 for result in report.results.values())


class Approval(TypedDict):
    steps: Annotated[List[str], operator.add]


def approval(saver: BaseCheckpointSaver) -> Any:
    builder = StateGraph(Approval)
    builder.add_node("ask", lambda state: {"steps": [f"asked: {interrupt('go on?')}"]})
    builder.add_node("work", lambda state: {"steps": ["worked"]})
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "work")
    builder.add_edge("work", END)
    return builder.compile(checkpointer=saver)


def test_a_graph_continues_in_another_process(server: RelayProcess, space: str) -> None:
    first = approval(ContextRelaySaver(ContextRelay(server.url), space=space))
    assert "__interrupt__" in first.invoke({"steps": ["begun"]}, place("t/1 ü"))
    second = approval(ContextRelaySaver(ContextRelay(server.url), space=space))
    done = second.invoke(Command(resume="yes"), place("t/1 ü"))
    assert done == {"steps": ["begun", "asked: yes", "worked"]}
    history = list(second.get_state_history(place("t/1 ü")))
    assert [len(each.values.get("steps", [])) for each in history] == [3, 2, 1, 0]
    forked = second.invoke(None, history[1].config)
    assert forked == done


def test_writes_share_the_request_of_the_next_checkpoint(
    server: RelayProcess, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(langgraph, "_WAIT_S", 60.0)
    requests: List[str] = []
    relay = ContextRelay(server.url, on_request=lambda report: requests.append(report.path))
    saver = ContextRelaySaver(relay, space=space)
    first = checkpoint_of(1, name="ada")
    config = saver.put(place_in("t"), first, {}, first["channel_versions"])
    second = checkpoint_of(2, name="bob")
    with ThreadPoolExecutor() as executor:
        writes = executor.submit(saver.put_writes, config, [("name", LARGE)], "task")
        while not saver._waiting:
            time.sleep(0.001)
        saver.put(config, second, {}, second["channel_versions"])
        writes.result(60)
        assert len(requests) == 2
        # If a new checkpoint has the same value as a write that still waits, the saver sends the write first.
        config = saver.put(config, second, {}, second["channel_versions"])
        writes = executor.submit(saver.put_writes, config, [("name", LARGE * 2)], "task")
        while not saver._waiting:
            time.sleep(0.001)
        third = checkpoint_of(3, name=LARGE * 2)
        saver.put(config, third, {}, third["channel_versions"])
        writes.result(60)
        # Repeated special writes of a task stay in order.
        config = place_in("t")
        config["configurable"]["checkpoint_id"] = third["id"]
        repeated = []
        for error in ("one", "two"):
            repeated.append(executor.submit(saver.put_writes, config, [("__error__", error)], "task"))
            while not (saver._waiting or repeated[0].done()):
                time.sleep(0.001)
        for each in repeated:
            each.result(60)
    found = [*saver.list(place_in("t"))]
    assert [each.checkpoint["channel_values"]["name"] for each in found] == [LARGE * 2, "bob", "ada"]
    assert [each.pending_writes for each in found] == [
        [("task", "__error__", "two")],
        [("task", "name", LARGE * 2)],
        [("task", "name", LARGE)],
    ]


class Deltas(TypedDict):
    log: Annotated[
        List[str],
        DeltaChannel(
            lambda old, new: [*old, *(each for batch in new for each in batch)], snapshot_frequency=50
        ),
    ]


def deltas(saver: BaseCheckpointSaver) -> Any:
    builder = StateGraph(Deltas)
    builder.add_node("one", lambda state: {"log": ["one"]})
    builder.add_node("two", lambda state: {"log": ["two"]})
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    builder.add_edge("two", END)
    return builder.compile(checkpointer=saver)


def test_pruning_keeps_the_ancestors_that_delta_channels_need(relay: ContextRelay, space: str) -> None:
    saver = ContextRelaySaver(relay, space=space)
    graph = deltas(saver)
    for turn in range(3):
        graph.invoke({"log": [f"turn {turn}"]}, place("delta"))
    before = graph.get_state(place("delta")).values
    assert len(before["log"]) == 9
    assert "log" not in saver.get_tuple(place("delta")).checkpoint["channel_values"], (
        "it is one that has to be rebuilt"
    )
    saver.prune(["delta"])
    assert deltas(ContextRelaySaver(relay, space=space)).get_state(place("delta")).values == before
    after = graph.invoke({"log": ["turn 3"]}, place("delta"))
    assert after["log"][:9] == before["log"] and len(after["log"]) == 12


def test_pruning_a_plain_thread_leaves_one_checkpoint_and_no_orphans(relay: ContextRelay, space: str) -> None:
    saver = ContextRelaySaver(relay, space=space)
    builder = StateGraph(Approval)
    builder.add_node("work", lambda state: {"steps": ["worked"]})
    builder.add_edge(START, "work")
    graph = builder.compile(checkpointer=saver)
    for _ in range(3):
        graph.invoke({"steps": [LARGE]}, place("plain"))
    saver.prune(["plain"])
    assert len(list(saver.list(place("plain")))) == 1
    assert graph.get_state(place("plain")).values == {"steps": [LARGE, "worked"] * 3}
    assert [info.path for info in relay.files.space(space).all() if "/c/" not in info.path] == []
    saver.delete_thread("plain")
    assert list(relay.files.space(space).all()) == []
    with pytest.raises(ValueError):
        saver.prune(["plain"], strategy="everything")


class Profile(TypedDict):
    name: str
    turns: Annotated[int, operator.add]


def profile(saver: BaseCheckpointSaver) -> Any:
    """Returns a graph whose only node increments the channel ``turns``. It never writes the channel ``name``."""
    builder = StateGraph(Profile)
    builder.add_node("turn", lambda state: {"turns": 1})
    builder.add_edge(START, "turn")
    return builder.compile(checkpointer=saver)


def expiries(relay: ContextRelay, space: str, kind: str) -> Dict[str, str]:
    """Returns the expiry of files by path.

    ``kind``: ``c`` for checkpoints (newest first), ``v`` for values, ``w`` for writes.
    """
    return {each.path: each.expires_at for each in relay.files.space(space).all() if f"/{kind}/" in each.path}


def test_a_value_lives_as_long_as_the_newest_checkpoint_that_uses_it(relay: ContextRelay, space: str) -> None:
    profile(ContextRelaySaver(relay, space=space, ttl=3600)).invoke({"name": LARGE}, place("ttl"))
    profile(ContextRelaySaver(relay, space=space, ttl=3600)).invoke({"turns": 0}, place("ttl"))
    before = expiries(relay, space, "v")
    # Each saver simulates another process that runs later.
    for _ in range(2):
        graph = profile(ContextRelaySaver(relay, space=space, ttl=3600))
        graph.invoke({"turns": 0}, place("ttl"))
    newest = next(iter(expiries(relay, space, "c").values()))
    values = expiries(relay, space, "v")
    assert before and all(values[path] >= newest for path in before), (values, newest)
    assert graph.get_state(place("ttl")).values == {"name": LARGE, "turns": 4}


def test_an_unchanged_value_is_not_written_with_each_checkpoint(relay: ContextRelay, space: str) -> None:
    graph = profile(ContextRelaySaver(relay, space=space, ttl=3600))
    for _ in range(3):
        graph.invoke({"name": LARGE} if _ == 0 else {"turns": 0}, place("ttl"))
    names = [each for each in relay.files.space(space).all() if "/v/" in each.path]
    assert [each.version for each in names] == [1]
    newest = next(iter(expiries(relay, space, "c").values()))
    assert names[0].expires_at >= newest


def checkpoint_of(number: int, **values: Any) -> Any:
    versions = {channel: f"{number:032}.{channel}" for channel in values}
    return {
        **empty_checkpoint(),
        "id": str(uuid6(clock_seq=number)),
        "channel_values": values,
        "channel_versions": versions,
    }


def test_a_large_value_of_a_write_and_of_checkpoints_is_stored_once(relay: ContextRelay, space: str) -> None:
    saver = ContextRelaySaver(relay, space=space)
    config = saver.put(place_in("once"), checkpoint_of(0), {}, {})
    saver.put_writes(config, [("name", LARGE), ("again", LARGE)], "task")
    first = checkpoint_of(1, name=LARGE)
    config = saver.put(config, first, {}, first["channel_versions"])
    second = {**checkpoint_of(2, name=LARGE), "channel_versions": first["channel_versions"]}
    config = saver.put(config, second, {}, {})
    assert [info.version for info in relay.files.space(space).all() if "/v/" in info.path] == [1]
    saver.prune(["once"])
    other = ContextRelaySaver(relay, space=space)
    assert [each.checkpoint["channel_values"] for each in other.list(place("once"))] == [{"name": LARGE}]


def test_a_value_of_a_thread_that_another_process_deleted_is_sent_again(
    relay: ContextRelay, space: str
) -> None:
    savers = [ContextRelaySaver(relay, space=space) for _ in range(2)]
    for _ in range(2):
        checkpoint = checkpoint_of(0, name=LARGE)
        config = savers[0].put(place_in("again"), checkpoint, {}, checkpoint["channel_versions"])
        savers[0].put_writes(config, [("name", LARGE)], "task")
        newest = savers[1].get_tuple(place("again"))
        assert newest is not None and newest.checkpoint["channel_values"] == {"name": LARGE}
        savers[1].delete_thread("again")
        assert savers[0].get_tuple(place("again")) is None


def test_a_longer_list_of_writes_adds_to_the_stored_one(relay: ContextRelay, space: str) -> None:
    saver = ContextRelaySaver(relay, space=space)
    config = saver.put(place_in("writes"), checkpoint_of(0), {}, {})
    saver.put_writes(config, [("a", 1)], "task")
    saver.put_writes(config, [("a", 1), ("b", LARGE)], "task")
    saver.put_writes(config, [("a", 2), ("b", 2)], "task 2")
    saver.put_writes(config, [("a", 3)], "task 2")
    newest = saver.get_tuple(place("writes"))
    assert newest is not None and newest.pending_writes == [
        ("task", "a", 1),
        ("task", "b", LARGE),
        ("task 2", "a", 2),
        ("task 2", "b", 2),
    ]


def test_ancestors_of_a_delta_channel_live_as_long_as_the_newest_checkpoint(
    relay: ContextRelay, space: str
) -> None:
    savers = [ContextRelaySaver(relay, space=space, ttl=3600) for _ in range(2)]
    for turn, saver in enumerate([savers[0], savers[1], savers[1]]):
        graph = deltas(saver)
        graph.invoke({"log": [f"turn {turn}"]}, place("delta"))
    checkpoints = expiries(relay, space, "c")
    newest = next(iter(checkpoints.values()))
    writes = expiries(relay, space, "w")
    assert writes and min([*checkpoints.values(), *writes.values()]) >= newest
    assert len(graph.get_state(place("delta")).values["log"]) == 9


def test_reading_a_checkpoint_with_a_missing_value_raises(relay: ContextRelay, space: str) -> None:
    saver = ContextRelaySaver(relay, space=space)
    profile(saver).invoke({"name": LARGE}, place("missing"))
    profile(saver).invoke({"turns": 0}, place("missing"))
    files = relay.files.space(space)
    files.remove([each.path for each in files.all() if "/v/" in each.path])
    with pytest.raises(NotFoundError, match="'name'"):
        saver.get_tuple(place("missing"))
    with pytest.raises(NotFoundError, match="'name'"):
        profile(saver).invoke({"turns": 0}, place("missing"))


def test_a_delta_channel_with_a_missing_ancestor_raises(relay: ContextRelay, space: str) -> None:
    saver = ContextRelaySaver(relay, space=space)
    for turn in range(2):
        deltas(saver).invoke({"log": [f"turn {turn}"]}, place("delta"))
    oldest = list(expiries(relay, space, "c"))[-2]
    relay.files.space(space).remove([oldest])
    with pytest.raises(NotFoundError, match="'log'"):
        deltas(saver).get_state(place("delta"))
    with pytest.raises(NotFoundError, match="'log'"):
        asyncio.run(deltas(saver).aget_state(place("delta")))


def test_checkpoints_of_0_2_0_can_be_read_and_continued(relay: ContextRelay, space: str) -> None:
    fixture = json.loads((Path(__file__).parent / "langgraph-checkpoints-0.2.0.json").read_text())
    relay.files.space(space).write(
        [
            NewFile(each["path"], base64.b64decode(each["content"]), metadata=each["metadata"])
            for each in fixture["files"]
        ]
    )
    saver = ContextRelaySaver(relay, space=space, ttl=3600)
    done = approval(saver).invoke(Command(resume="yes"), place("approval"))
    assert done == {"steps": ["begun", "asked: yes", "worked"]}
    assert deltas(saver).get_state(place("delta")).values["log"] == [
        "turn 0",
        "one",
        "two",
        "turn 1",
        "one",
        "two",
    ]
    assert len(deltas(saver).invoke({"log": ["turn 2"]}, place("delta"))["log"]) == 9
    assert len(list(saver.list(place("approval")))) == 4


def test_threads_with_unusual_names_stay_separate(relay: ContextRelay, space: str) -> None:
    saver = ContextRelaySaver(relay, space=space)
    graph = approval(saver)
    names = ["a", "a/b", "..", "ü", "x" * 400, "a%2Fb", " "]
    for name in names:
        graph.invoke({"steps": [name]}, place(name))
    assert [graph.get_state(place(name)).values["steps"] for name in names] == [[name] for name in names]
    assert {each.config["configurable"]["thread_id"] for each in saver.list(None)} == set(names)


def test_a_tool_result_of_a_megabyte_becomes_a_pointer(relay: ContextRelay, space: str) -> None:
    @tool
    def orders() -> str:
        """Returns all orders."""
        return million()

    tools = RelayTools(relay)

    @tool("pull_context")
    def pull(url: str, part: str = "") -> str:
        """Reads a part."""
        return tools.pull(url, part)

    def model(state: MessagesState) -> Any:
        last = state["messages"][-1]
        if not isinstance(last, ToolMessage):
            call = {"name": "orders", "args": {}, "id": "1"}
        elif last.name == "orders":
            call = {
                "name": "pull_context",
                "args": {"url": url_in(last.content), "part": "grep=failed"},
                "id": "2",
            }
        else:
            return {"messages": [AIMessage(last.content)]}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([orders, pull], wrap_tool_call=pointer_wrapper(relay)))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "model")
    graph = builder.compile(checkpointer=ContextRelaySaver(relay, space=space))
    done = graph.invoke({"messages": [("user", "which order failed?")]}, place("million"))
    assert done["messages"][-1].content == f"13378:{NEEDLE}"
    stored = sum(info.size for info in relay.files.space(space).all())
    assert stored < 100_000, "the megabyte is in no checkpoint either"


@tool
async def async_orders() -> str:
    """Returns all orders, from a coroutine."""
    await asyncio.sleep(0)
    return million()


@tool
def sync_orders() -> str:
    """Returns all orders."""
    return million()


def one_call(node: ToolNode) -> Any:
    """Returns a graph with one ToolNode, and an input that calls the tool of this node."""
    builder = StateGraph(MessagesState)
    builder.add_node("tools", node)
    builder.add_edge(START, "tools")
    call = {"name": next(iter(node.tools_by_name)), "args": {}, "id": "1"}
    return builder.compile(), {"messages": [AIMessage("", tool_calls=[call])]}


@pytest.mark.parametrize("orders", [async_orders, sync_orders], ids=lambda each: each.name)
@pytest.mark.parametrize("form", ["both", "awrap_tool_call", "wrap_tool_call"])
def test_the_wrapper_works_in_async_runs_with_every_tool(relay: ContextRelay, orders: Any, form: str) -> None:
    wrapper = pointer_wrapper(relay)
    graph, asked = one_call(ToolNode([orders], **(wrapper if form == "both" else {form: wrapper})))
    last = asyncio.run(graph.ainvoke(asked))["messages"][-1]
    assert last.status == "success" and url_in(last.content), last.content[:300]


class FernetCipher:
    def __init__(self) -> None:
        self._fernet = Fernet(Fernet.generate_key())

    def encrypt(self, plaintext: bytes) -> Tuple[str, bytes]:
        return "fernet", self._fernet.encrypt(plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return self._fernet.decrypt(ciphertext)


def stored_result(relay: ContextRelay, saver: Any, **options: Any) -> str:
    """Runs a graph with a checkpointer and a new large tool result.

    Returns the text that replaced the result.
    """
    text = f"{million()} {uuid4()}"

    @tool
    def orders() -> str:
        """Returns all orders."""
        return text

    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([orders], **pointer_wrapper(relay, **options)))
    builder.add_edge(START, "tools")
    state = {"messages": [AIMessage("", tool_calls=[{"name": "orders", "args": {}, "id": "1"}])]}
    graph = builder.compile(checkpointer=saver)
    return graph.invoke(state, place("kept"))["messages"][-1].content


def test_a_result_lives_as_long_as_the_checkpoints_with_its_pointer(relay: ContextRelay, space: str) -> None:
    def days(text: str) -> float:
        return (seconds_of(relay.inspect(url_in(text)).expires_at) - time.time()) / (24 * 3600)

    week = 7 * 24 * 3600
    result = stored_result(relay, ContextRelaySaver(relay, space=space, ttl=week))
    newest = next(iter(expiries(relay, space, "c").values()))
    assert relay.inspect(url_in(result)).expires_at >= newest
    assert 7 <= days(result) < 14
    assert days(stored_result(relay, ContextRelaySaver(relay, space=f"{space}-2"))) > 3600
    secret = EncryptedSerializer(FernetCipher())
    assert (
        days(stored_result(relay, ContextRelaySaver(relay, space=f"{space}-3", ttl=week, serde=secret))) >= 7
    )
    assert days(stored_result(relay, InMemorySaver())) > 3600, "nobody knows for how long it is kept"
    assert 2.9 < days(stored_result(relay, InMemorySaver(), ttl=3 * 24 * 3600)) <= 3
    assert days(stored_result(relay, None)) <= 1


def test_a_pointer_in_a_continued_conversation_is_renewed(relay: ContextRelay, space: str) -> None:
    url = relay.push("the findings", ttl=3600)
    profile(ContextRelaySaver(relay, space=space, ttl=7200)).invoke({"name": f"see {url}"}, place("on"))
    for _ in range(2):
        profile(ContextRelaySaver(relay, space=space, ttl=7200)).invoke({"turns": 0}, place("on"))
    assert relay.inspect(url).expires_at >= next(iter(expiries(relay, space, "c").values()))


def test_storing_a_result_does_not_block_an_async_run(relay: ContextRelay) -> None:
    stored = threading.Event()
    turned = threading.Event()

    class Waiting(ContextRelay):
        """Stores a result only after the event loop has run other work."""

        def push_detailed(self, *args: Any, **kwargs: Any) -> Any:
            assert turned.wait(30), "the event loop was blocked"
            stored.set()
            return super().push_detailed(*args, **kwargs)

    async def run() -> Any:
        graph, asked = one_call(ToolNode([async_orders], **pointer_wrapper(Waiting(relay.base_url))))
        running = asyncio.create_task(graph.ainvoke(asked))
        while not stored.is_set():
            await asyncio.sleep(0.01)
            turned.set()
        return await running

    assert url_in(asyncio.run(run())["messages"][-1].content)


def prompt_with(relay: ContextRelay, result: str, **options: Any) -> str:
    @tool
    def log() -> str:
        """Returns the log of today."""
        return result

    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([log], **pointer_wrapper(relay, **options)))
    builder.add_edge(START, "tools")
    question = [HumanMessage(QUESTION), AIMessage("", tool_calls=[{"name": "log", "args": {}, "id": "1"}])]
    messages = builder.compile().invoke({"messages": question})["messages"]
    return "\n".join(str(each.content) for each in messages)


test_a_hand_over_costs_what_the_page_says, test_a_relay_that_hangs_is_asked_once = offloading_tests(
    "langgraph", prompt_with
)
