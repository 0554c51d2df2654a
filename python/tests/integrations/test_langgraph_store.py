from __future__ import annotations

import asyncio
from typing import Any

from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore, GetOp, PutOp

from contextrelay import ContextRelay
from contextrelay.integrations.langgraph_store import ContextRelayStore


def test_a_graph_remembers_across_processes(relay: ContextRelay) -> None:
    def graph(node: Any) -> Any:
        builder = StateGraph(MessagesState)
        builder.add_node("node", node)
        builder.add_edge(START, "node")
        return builder.compile(store=ContextRelayStore(relay))

    def remember(_: MessagesState, *, store: BaseStore) -> Any:
        store.put(("users", "ada"), "tea", {"likes": "oolong"})
        return {"messages": []}

    def recall(_: MessagesState, *, store: BaseStore) -> Any:
        item = store.get(("users", "ada"), "tea")
        return {"messages": [("ai", item.value["likes"] if item else "nothing")]}

    graph(remember).invoke({"messages": [("user", "I like oolong.")]})
    answer = graph(recall).invoke({"messages": [("user", "What do I like?")]})
    assert answer["messages"][-1].content == "oolong"


def test_the_store_follows_the_contract(relay: ContextRelay) -> None:
    store = ContextRelayStore(relay, space="contract")
    store.put(("docs", "a"), "1", {"text": "green tea from Uji", "score": 5})
    store.put(("docs", "b"), "2", {"text": "black coffee", "score": 2})
    store.put(("docs",), "with/slash and ü", {"text": "no drink", "score": 9})
    store.put(("other",), "3", {"text": "tea"})
    item = store.get(("docs",), "with/slash and ü")
    assert item is not None and item.key == "with/slash and ü" and item.namespace == ("docs",)
    assert item.created_at <= item.updated_at
    assert store.get(("docs",), "absent") is None
    assert {each.key for each in store.search(("docs",))} == {"1", "2", "with/slash and ü"}
    assert [each.key for each in store.search(("docs",), filter={"score": {"$gt": 4, "$lt": 9}})] == ["1"]
    best = store.search(("docs",), query="green TEA", limit=1)[0]
    assert best.key == "1" and best.score == 1.0
    assert len(store.search(("docs",), limit=2)) == 2 and len(store.search(("docs",), limit=2, offset=2)) == 1
    assert store.list_namespaces() == [("docs",), ("docs", "a"), ("docs", "b"), ("other",)]
    assert store.list_namespaces(prefix=("docs",), max_depth=1) == [("docs",)]
    assert store.list_namespaces(suffix=("b",)) == [("docs", "b")]
    store.put(("docs", "a"), "1", {"text": "changed"})
    changed = store.get(("docs", "a"), "1")
    assert changed is not None and changed.value == {"text": "changed"}
    store.delete(("docs", "a"), "1")
    assert store.get(("docs", "a"), "1") is None


def test_a_batch_reads_before_it_writes_and_the_last_write_counts(relay: ContextRelay) -> None:
    async def check() -> None:
        store = ContextRelayStore(relay, space="batch")
        await store.aput(("n",), "k", {"v": 1})
        results = await store.abatch(
            [PutOp(("n",), "k", {"v": 2}), GetOp(("n",), "k"), PutOp(("n",), "k", {"v": 3})]
        )
        assert results[1].value == {"v": 1}  # type: ignore[union-attr]
        item = await store.aget(("n",), "k")
        assert item is not None and item.value == {"v": 3}

    asyncio.run(check())


def test_a_pointer_in_an_item_lives_as_long_as_the_item(relay: ContextRelay) -> None:
    url = relay.push("the report", ttl=3600)
    ContextRelayStore(relay, space="kept", ttl=30 * 86400).put(("notes",), "report", {"at": url})
    info = next(iter(relay.files.space("kept").all()))
    assert str(relay.inspect(url).expires_at) >= str(info.expires_at)
