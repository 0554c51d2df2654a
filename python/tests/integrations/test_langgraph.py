from __future__ import annotations

import asyncio
import operator
import threading
from typing import Annotated, Any, List, TypedDict
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from contextrelay import ContextRelay
from contextrelay.integrations.langgraph import ContextRelaySaver, pointer_wrapper
from contextrelay.integrations.tools import RelayTools

from ..conftest import RelayProcess
from ..pages import run_page
from .million import NEEDLE, million, url_in


def place(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


@pytest.fixture
def space() -> str:
    return f"langgraph-{uuid4().hex[:8]}"


def test_the_conformance_suite_passes_whole(relay: ContextRelay, space: str) -> None:
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


def test_a_graph_goes_on_in_another_process(server: RelayProcess, space: str) -> None:
    first = approval(ContextRelaySaver(ContextRelay(server.url), space=space))
    assert "__interrupt__" in first.invoke({"steps": ["begun"]}, place("t/1 ü"))
    second = approval(ContextRelaySaver(ContextRelay(server.url), space=space))
    done = second.invoke(Command(resume="yes"), place("t/1 ü"))
    assert done == {"steps": ["begun", "asked: yes", "worked"]}
    history = list(second.get_state_history(place("t/1 ü")))
    assert [len(each.values.get("steps", [])) for each in history] == [3, 2, 1, 0]
    forked = second.invoke(None, history[1].config)
    assert forked == done


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


def test_pruning_keeps_what_delta_channels_are_rebuilt_from(relay: ContextRelay, space: str) -> None:
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
        graph.invoke({"steps": ["again"]}, place("plain"))
    saver.prune(["plain"])
    assert len(list(saver.list(place("plain")))) == 1
    assert graph.get_state(place("plain")).values == {"steps": ["again", "worked"] * 3}
    names = set(saver.get_tuple(place("plain")).checkpoint["channel_values"])
    stored = [info.path for info in relay.files.space(space).all() if "/v/" in info.path]
    assert len(stored) == len(names)
    saver.delete_thread("plain")
    assert list(relay.files.space(space).all()) == []
    with pytest.raises(ValueError):
        saver.prune(["plain"], strategy="everything")


def test_threads_are_told_apart_whatever_they_are_called(relay: ContextRelay, space: str) -> None:
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
        """All orders."""
        return million()

    tools = RelayTools(relay)

    @tool("contextrelay_pull")
    def pull(url: str, part: str = "") -> str:
        """Reads a part."""
        return tools.pull(url, part or None)

    def model(state: MessagesState) -> Any:
        last = state["messages"][-1]
        if not isinstance(last, ToolMessage):
            call = {"name": "orders", "args": {}, "id": "1"}
        elif last.name == "orders":
            call = {
                "name": "contextrelay_pull",
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
    """All orders, from a coroutine."""
    await asyncio.sleep(0)
    return million()


@tool
def sync_orders() -> str:
    """All orders."""
    return million()


def one_call(node: ToolNode) -> Any:
    """A graph of a ToolNode alone, called for the tool it has."""
    builder = StateGraph(MessagesState)
    builder.add_node("tools", node)
    builder.add_edge(START, "tools")
    call = {"name": next(iter(node.tools_by_name)), "args": {}, "id": "1"}
    return builder.compile(), {"messages": [AIMessage("", tool_calls=[call])]}


@pytest.mark.parametrize("orders", [async_orders, sync_orders], ids=lambda each: each.name)
@pytest.mark.parametrize("form", ["both", "awrap_tool_call", "wrap_tool_call"])
def test_the_wrapper_serves_async_runs_of_every_tool(relay: ContextRelay, orders: Any, form: str) -> None:
    wrapper = pointer_wrapper(relay)
    graph, asked = one_call(ToolNode([orders], **(wrapper if form == "both" else {form: wrapper})))
    last = asyncio.run(graph.ainvoke(asked))["messages"][-1]
    assert last.status == "success" and url_in(last.content), last.content[:300]


def test_an_async_run_goes_on_with_other_work_while_a_result_is_stored(relay: ContextRelay) -> None:
    stored = threading.Event()
    turned = threading.Event()

    class Waiting(ContextRelay):
        """Stores a result only once the event loop has had a turn."""

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


def test_the_page_does_what_it_says(server: RelayProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTRELAY_URL", server.url)
    run_page("docs/integrations/python-langgraph.md")
