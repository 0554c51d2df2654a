"""LangGraph: a store for memories that outlives the process and is shared by all agents that reach the relay."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import datetime
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from ..client import ContextRelay
from ..errors import RelayError
from ..files import FileContent, FileInfo, NewFile
from . import missing_extra
from .entry_log import segment
from .kept_pointers import KeptPointers

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )
except ImportError as error:
    raise missing_extra("langgraph", error) from error

__all__ = ["ContextRelayStore"]


class ContextRelayStore(BaseStore):
    """Items as files of a relay, for ``create_agent(store=…)`` and ``graph.compile(store=…)``.

    A search with a ``query`` ranks the items by the share of its words that they contain. There are no embeddings.
    ``ttl``: seconds until an item expires. Default: never.
    """

    def __init__(
        self,
        relay: Union[ContextRelay, str, None] = None,
        *,
        space: str = "langgraph-store",
        ttl: Optional[int] = None,
    ) -> None:
        client = relay if isinstance(relay, ContextRelay) else ContextRelay(relay)
        self._files = client.files.space(space)
        self._ttl = ttl
        self._pointers = KeptPointers(client, ttl)

    def batch(self, ops: Iterable[Op]) -> List[Result]:
        """Runs several operations with few requests: first all reads, then all writes."""
        listed = list(ops)
        results: List[Result] = [None] * len(listed)
        gets = {at: _path(op.namespace, op.key) for at, op in enumerate(listed) if isinstance(op, GetOp)}
        contents = self._files.read(list(gets.values())) if gets else {}
        for at, path in gets.items():
            results[at] = _item(contents[path]) if path in contents else None
        for at, op in enumerate(listed):
            if isinstance(op, SearchOp):
                results[at] = self._search(op)
            elif isinstance(op, ListNamespacesOp):
                results[at] = self._namespaces(op)
        self._write([op for op in listed if isinstance(op, PutOp)])
        return results

    async def abatch(self, ops: Iterable[Op]) -> List[Result]:
        """Asynchronous form of :meth:`batch`. It runs in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _write(self, ops: List[PutOp]) -> None:
        # Of several writes to one item, the last one counts.
        last = {_path(op.namespace, op.key): op for op in ops}
        deleted = [path for path, op in last.items() if op.value is None]
        if deleted:
            self._files.remove(deleted)
        files = [
            NewFile(
                path,
                json.dumps(op.value, ensure_ascii=False),
                content_type="application/json",
                metadata={"namespace": list(op.namespace), "key": op.key},
                ttl=self._ttl,
                keep=0,
            )
            for path, op in last.items()
            if op.value is not None
        ]
        for written in self._files.write(files) if files else []:
            if not isinstance(written, FileInfo):
                raise RelayError(f"The item {written['path']} was not stored: {written['error']}")
        self._pointers.keep(*(str(file.content).encode("utf-8", "replace") for file in files))

    def _search(self, op: SearchOp) -> List[SearchItem]:
        infos = self._below(op.namespace_prefix)
        # Without a filter or query, read only the requested page.
        whole = bool(op.filter or op.query)
        page = infos if whole else infos[op.offset : op.offset + op.limit]
        contents = self._files.read([info.path for info in page])
        items = [_item(contents[info.path]) for info in page if info.path in contents]
        if op.filter:
            items = [item for item in items if _passes(item.value, op.filter)]
        scored = _ranked(items, op.query) if op.query else [(item, None) for item in items]
        if whole:
            scored = scored[op.offset : op.offset + op.limit]
        return [
            SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)
            for item, score in scored
        ]

    def _namespaces(self, op: ListNamespacesOp) -> List[Tuple[str, ...]]:
        namespaces: Dict[Tuple[str, ...], None] = {}
        for info in self._below(()):
            namespace = tuple(info.metadata["namespace"])
            if all(_matches(namespace, condition) for condition in op.match_conditions or ()):
                namespaces[namespace[: op.max_depth]] = None
        return sorted(namespaces)[op.offset : op.offset + op.limit]

    def _below(self, namespace: Tuple[str, ...]) -> List[FileInfo]:
        return list(self._files.all("".join(f"{segment(label)}/" for label in namespace)))


def _path(namespace: Tuple[str, ...], key: str) -> str:
    return "/".join(segment(label) for label in (*namespace, key))


def _item(file: FileContent) -> Item:
    info = file.info
    return Item(
        value=json.loads(file.content),
        key=info.metadata["key"],
        namespace=tuple(info.metadata["namespace"]),
        created_at=_time(info.created_at),
        updated_at=_time(info.modified_at),
    )


def _time(moment: str) -> datetime:
    return datetime.fromisoformat(moment.replace("Z", "+00:00"))


def _passes(value: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Matches filters such as ``{"status": "active"}`` or ``{"score": {"$gt": 4}}``."""
    for name, condition in conditions.items():
        is_operators = isinstance(condition, dict) and any(each.startswith("$") for each in condition)
        operators = condition if is_operators else {"$eq": condition}
        if not all(_compare(value.get(name), operator, operand) for operator, operand in operators.items()):
            return False
    return True


def _compare(value: Any, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return bool(value == operand)
    if operator == "$ne":
        return bool(value != operand)
    try:
        left, right = float(value), float(operand)
    except (TypeError, ValueError):
        return False
    results = {"$gt": left > right, "$gte": left >= right, "$lt": left < right, "$lte": left <= right}
    if operator not in results:
        raise ValueError(f"There is no operator {operator!r}.")
    return results[operator]


def _ranked(items: List[Item], query: str) -> List[Tuple[Item, Optional[float]]]:
    """Ranks items by the share of the query's words that they contain, best first."""
    query_words = set(_words(query))
    scored: List[Tuple[Item, Optional[float]]] = []
    for item in items:
        item_words = set(_words(json.dumps(item.value, ensure_ascii=False)))
        scored.append((item, len(query_words & item_words) / max(1, len(query_words))))
    return sorted(scored, key=lambda pair: -(pair[1] or 0))


def _words(text: str) -> List[str]:
    return re.findall(r"\w+", text.lower())


def _matches(namespace: Tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    return all(label in ("*", namespace[start + at]) for at, label in enumerate(path))
