"""LangGraph: a checkpoint saver that stores checkpoints in the relay's files.

A graph can then continue in another process or on another machine.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
    cast,
)

from ..client import ContextRelay
from ..errors import NotFoundError, RelayHTTPError
from ..files import BATCH, FileContent, FileInfo, NewFile
from . import missing_extra
from .entry_log import segment
from .kept_pointers import KeptPointers
from .large_results import LargeResultOptions, LargeResults
from .tools import stored_elsewhere

if TYPE_CHECKING:
    from typing_extensions import Unpack

try:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        get_checkpoint_id,
        get_checkpoint_metadata,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
except ImportError as error:
    raise missing_extra("langgraph", error) from error

__all__ = ["ContextRelaySaver", "PointerWrapper", "pointer_wrapper"]

#: Number of checkpoints that are loaded at once while listing.
_PAGE = 50
#: Serializer without encryption. It is used to search values for pointers.
_PLAIN = JsonPlusSerializer()
#: Minimum time in seconds for which the values of a checkpoint live longer than the checkpoint.
_LONGER_S = 60
#: Maximum ttl that the relay accepts, in seconds.
_TTL_MAX_S = 3650 * 24 * 3600
#: Maximum number of files whose expiry a saver remembers.
_KNOWN_EXPIRIES = 10_000


class ContextRelaySaver(BaseCheckpointSaver[str]):
    """Checkpoint saver: ``builder.compile(checkpointer=ContextRelaySaver())``.

    ``space``: space in which the files are stored. ``ttl``: seconds until a checkpoint expires. Without
    it, checkpoints do not expire. The data that a checkpoint needs lives at least as long as the
    checkpoint: its values, and the ancestors from which delta channels are rebuilt. If some of this data
    is missing, reading the checkpoint raises :class:`NotFoundError`.

    The files are below ``<thread>/<namespace>/``. ``c/`` contains the checkpoints, newest first. ``v/``
    contains the values of channels, each version once. ``w/`` contains the pending writes.
    """

    def __init__(
        self,
        relay: Union[ContextRelay, str, None] = None,
        *,
        space: str = "langgraph",
        ttl: Optional[int] = None,
        serde: Optional[SerializerProtocol] = None,
    ) -> None:
        super().__init__(serde=serde)
        client = relay if isinstance(relay, ContextRelay) else ContextRelay(relay)
        self._files = client.files.space(space)
        self._ttl = ttl
        # Pointers live as long as the values that contain them. Values live longer than their checkpoint.
        self._pointers = KeptPointers(client, self._longer_ttl())
        # Maps a path to the expiry of the file, for files that this process wrote. Also maps a namespace to
        # the time until which this process renewed the ancestors in it.
        self._expiry: Dict[str, float] = {}
        self._expiry_lock = threading.Lock()

    #: Tells the tools that this saver renews the pointers in its checkpoints.
    keeps_pointers = True

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint and the values that have changed."""
        thread_id, namespace = _place(config)
        root = _root(thread_id, namespace)
        values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
        full_metadata = get_checkpoint_metadata(config, metadata)
        parent = get_checkpoint_id(config)
        # Values that did not change since the parent checkpoint are already stored with an ancestor.
        named = {
            channel: versions[channel]
            for channel in values
            if channel in versions and (parent or channel in new_versions)
        }
        changed = {channel: version for channel, version in new_versions.items() if channel in values}
        # Write values of earlier checkpoints again, if they would expire before this checkpoint.
        expiring = {
            channel: version
            for channel, version in named.items()
            if channel not in changed and self._expires_too_early(_value_path(root, channel, version))
        }
        self._write(
            [
                self._file(_value_path(root, channel, version), values[channel], {}, longer=True)
                for channel, version in {**expiring, **changed}.items()
            ]
        )
        deltas = set(full_metadata.get("counters_since_delta_snapshot") or {}) - set(values)
        if deltas and parent and self._ttl is not None:
            self._renew_ancestors(root, parent, deltas)
        stored = {
            "checkpoint": {**checkpoint, "channel_values": {}},
            "metadata": full_metadata,
            "values": list(named),
        }
        about = {
            "thread_id": thread_id,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint["id"],
            "parent": parent,
            "run_id": full_metadata.get("run_id"),
        }
        # Write the checkpoint last. So whoever finds the checkpoint also finds its values.
        self._write([self._file(_checkpoint_path(root, checkpoint["id"]), stored, about)])
        return _config(thread_id, namespace, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[Tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores the pending writes of a task."""
        root = _root(*_place(config))
        checkpoint_id = str(get_checkpoint_id(config))
        files = []
        for at, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, at)
            about = {"channel": channel, "task_id": task_id, "task_path": task_path, "index": index}
            path = f"{_writes_prefix(root, checkpoint_id)}{segment(task_id)}/{index}"
            # The first write of a task is kept. Special writes, such as an error, have a negative index and
            # replace earlier ones.
            files.append(self._file(path, value, about, if_absent=index >= 0, longer=True))
        self._write(files)

    def get_tuple(self, config: RunnableConfig) -> Optional[CheckpointTuple]:
        """Returns the checkpoint that the config names, or the newest one if it names none."""
        thread_id, namespace = _place(config)
        root = _root(thread_id, namespace)
        checkpoint_id = get_checkpoint_id(config)
        if checkpoint_id:
            path = _checkpoint_path(root, checkpoint_id)
        else:
            newest = self._files.list(f"{root}c/", limit=1).files
            if not newest:
                return None
            path = newest[0].path
        found = self._files.read([path])
        return next(iter(self._tuples(list(found.values()))), None)

    def list(
        self,
        config: Optional[RunnableConfig],
        *,
        filter: Optional[Dict[str, Any]] = None,
        before: Optional[RunnableConfig] = None,
        limit: Optional[int] = None,
    ) -> Iterator[CheckpointTuple]:
        """Yields checkpoints. Within each namespace, the newest comes first. Loads only as many as are used."""
        if limit is not None and limit <= 0:
            return
        wanted = get_checkpoint_id(config) if config else None
        end = get_checkpoint_id(before) if before else None
        infos = self._checkpoints(config, wanted=wanted, before=end, page=None if filter else limit)
        count = 0
        while True:
            size = _PAGE if limit is None or filter else min(_PAGE, limit - count)
            paths = [info.path for info in islice(infos, size)]
            if not paths:
                return
            contents = self._files.read(paths)
            matching = [contents[path] for path in paths if path in contents]
            if filter:
                matching = [each for each in matching if _matches(self._load(each)["metadata"], filter)]
            for each in self._tuples(matching):
                yield each
                count += 1
                if count == limit:
                    return

    def delete_thread(self, thread_id: str) -> None:
        """Deletes all checkpoints of a thread."""
        self._files.remove(prefix=f"{segment(str(thread_id))}/")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints of runs, except those that other runs need for their delta channels."""
        unwanted = set(map(str, run_ids))
        found: Dict[str, List[FileInfo]] = {}
        for info in self._checkpoints(None):
            found.setdefault(_root_of(info), []).append(info)
        for root, infos in found.items():
            kept = [info for info in infos if info.metadata.get("run_id") not in unwanted]
            if len(kept) < len(infos):
                self._keep_only(root, infos, kept)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all checkpoints of a thread to another thread."""
        source, target = segment(str(source_thread_id)), segment(str(target_thread_id))
        infos = list(self._files.all(f"{source}/"))
        # Copy the checkpoints last. So whoever finds a checkpoint also finds its values.
        infos.sort(key=lambda info: info.path.split("/")[2] == "c")
        for at in range(0, len(infos), _PAGE):
            paths = [info.path for info in infos[at : at + _PAGE]]
            contents = self._files.read(paths)
            copies = []
            for path in paths:
                if path not in contents:
                    continue
                about = dict(contents[path].info.metadata)
                if "thread_id" in about:
                    about["thread_id"] = str(target_thread_id)
                new = target + path[len(source) :]
                ttl = self._longer_ttl()
                copies.append(NewFile(new, contents[path].content, metadata=about, ttl=ttl, keep=0))
            self._write(copies)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Deletes old checkpoints of threads.

        ``keep_latest`` keeps the newest checkpoint of each namespace, and the ancestors that its delta
        channels need. ``delete`` deletes all checkpoints.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"There is no strategy {strategy!r}. Use keep_latest or delete.")
        for thread_id in map(str, thread_ids):
            if strategy == "delete":
                self.delete_thread(thread_id)
                continue
            found: Dict[str, List[FileInfo]] = {}
            for info in self._checkpoints({"configurable": {"thread_id": thread_id}}):
                found.setdefault(_root_of(info), []).append(info)
            for root, infos in found.items():
                # The newest checkpoint comes first.
                self._keep_only(root, infos, infos[:1])

    def get_next_version(self, current: Optional[str], channel: None) -> str:
        """Returns the next version of a channel.

        Branches of a thread can have the same version number. A random part distinguishes their values.
        """
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        """Returns the history of delta channels. Raises NotFoundError if an ancestor is missing."""
        found = super().get_delta_channel_history(config=config, channels=channels)
        unseeded = {channel for channel, history in found.items() if "seed" not in history}
        if unseeded:
            self._check_ancestors(config, unseeded)
        return found

    # The asynchronous methods run the blocking methods in threads.

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        return await asyncio.to_thread(self.get_delta_channel_history, config=config, channels=channels)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[Tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> Optional[CheckpointTuple]:
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: Optional[RunnableConfig],
        *,
        filter: Optional[Dict[str, Any]] = None,
        before: Optional[RunnableConfig] = None,
        limit: Optional[int] = None,
    ) -> AsyncIterator[CheckpointTuple]:
        listing = self.list(config, filter=filter, before=before, limit=limit)
        while True:
            found = await asyncio.to_thread(next, listing, None)
            if found is None:
                return
            yield found

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await asyncio.to_thread(lambda: self.prune(thread_ids, strategy=strategy))

    # Files.

    def _file(
        self,
        path: str,
        value: Any,
        about: Dict[str, Any],
        *,
        if_absent: bool = False,
        longer: bool = False,
    ) -> NewFile:
        kind, content = self.serde.dumps_typed(value)
        metadata = {"type": kind, **{name: each for name, each in about.items() if each is not None}}
        ttl = self._longer_ttl() if longer else self._ttl
        return NewFile(path, content, metadata=metadata, ttl=ttl, keep=0, if_absent=if_absent)

    def _write(self, files: Sequence[NewFile]) -> None:
        for file, written in zip(files, self._files.write(files) if files else []):
            conditional = file.if_absent or file.if_match is not None
            if isinstance(written, FileInfo):
                if file.ttl is not None:
                    self._note_expiry(file.path, time.time() + file.ttl)
            elif not (conditional and written.get("code") == "file_changed"):
                message, hint = str(written["error"]), str(written.get("hint", ""))
                raise RelayHTTPError(message, code=written.get("code"), hint=hint)
        self._pointers.keep(*(self._readable(file) for file in files))

    def _readable(self, file: NewFile) -> bytes:
        """Returns the content in a form that can be searched for pointers. Decrypts it if it is encrypted."""
        content = file.content.encode("utf-8") if isinstance(file.content, str) else file.content
        kind = str((file.metadata or {}).get("type", ""))
        if "+" not in kind:
            return content
        return _PLAIN.dumps_typed(self.serde.loads_typed((kind, content)))[1]

    # Values live somewhat longer than their checkpoint. So an unchanged value is written again only now and
    # then, not with each checkpoint.

    def _longer_ttl(self) -> Optional[int]:
        if self._ttl is None:
            return None
        return min(self._ttl + max(_LONGER_S, self._ttl // 4), _TTL_MAX_S)

    def _expires_too_early(self, path: str) -> bool:
        """Returns whether a file may expire before a checkpoint that is written now.

        Returns True for a file that another process wrote, because this process does not know its expiry.
        """
        return self._ttl is not None and self._expiry.get(path, 0) < time.time() + self._ttl

    def _note_expiry(self, path: str, expiry: float) -> None:
        with self._expiry_lock:
            self._expiry.pop(path, None)
            self._expiry[path] = expiry
            if len(self._expiry) > _KNOWN_EXPIRIES:
                del self._expiry[next(iter(self._expiry))]

    def _renew_ancestors(self, root: str, parent: str, deltas: Set[str]) -> None:
        """Renews the ancestors that delta channels need.

        They must not expire before a checkpoint that is written now.
        """
        paths = [_checkpoint_path(root, parent)]
        if self._expires_too_early(root):
            by_id = {info.metadata["checkpoint_id"]: info for info in self._files.all(f"{root}c/")}
            paths = [info.path for info in self._chain(by_id.get(parent), by_id, deltas)]
        until = time.time() + (self._longer_ttl() or 0)
        for path in paths:
            found = self._files.read([path]).get(path)
            if found is None:
                continue
            needed = set(_value_paths(root, self._load(found)["checkpoint"]).values())
            pending = self._pending(root, [found.info.metadata["checkpoint_id"]])
            needed |= {each.path for infos in pending.values() for each in infos}
            files = self._files.read([each for each in needed if self._expires_too_early(each)])
            # With `if_match`, a file that was deleted or replaced meanwhile is skipped.
            self._write(
                [
                    NewFile(
                        file.info.path,
                        file.content,
                        metadata=file.info.metadata,
                        ttl=self._longer_ttl(),
                        keep=0,
                        if_match=file.info.etag,
                    )
                    for file in [*files.values(), found]
                ]
            )
        # All ancestors are renewed. From now on it is enough to renew the parent of each new checkpoint.
        if self._expires_too_early(root):
            self._note_expiry(root, until)

    def _check_ancestors(self, config: RunnableConfig, channels: Set[str]) -> None:
        """Raises NotFoundError if an ancestor of these delta channels is missing.

        Without the ancestor, the values of the channels would be wrong.
        """
        thread_id, namespace = _place(config)
        root = _root(thread_id, namespace)
        infos = list(self._files.all(f"{root}c/"))
        by_id = {info.metadata["checkpoint_id"]: info for info in infos}
        checkpoint_id = get_checkpoint_id(config)
        oldest = by_id.get(checkpoint_id) if checkpoint_id else next(iter(infos), None)
        while oldest is not None and oldest.metadata.get("parent") in by_id:
            oldest = by_id[oldest.metadata["parent"]]
        if oldest is None or "parent" not in oldest.metadata:
            return
        found = self._files.read([oldest.path]).get(oldest.path)
        if found is None:
            return
        lost = channels & set(self._load(found)["checkpoint"]["channel_versions"])
        if lost:
            what = f"checkpoint {oldest.metadata['parent']}"
            raise _missing(what, f"delta channel {min(lost)!r}", thread_id)

    def _load(self, file: FileContent) -> Any:
        return self.serde.loads_typed((file.info.metadata["type"], file.content))

    def _checkpoints(
        self,
        config: Optional[RunnableConfig],
        *,
        wanted: Optional[str] = None,
        before: Optional[str] = None,
        page: Optional[int] = None,
    ) -> Iterator[FileInfo]:
        """Yields the checkpoints of a namespace, of a thread, or of all threads. In each namespace, newest first.

        ``wanted``: only the checkpoint with this id. ``before``: only checkpoints that are older than this one.
        ``page``: how many the caller will use, if it is known.
        """
        place = (config or {}).get("configurable", {})
        if "thread_id" not in place:
            threads = self._prefixes("")
        else:
            threads = [f"{segment(str(place['thread_id']))}/"]
        for thread in threads:
            namespace = place.get("checkpoint_ns")
            roots = self._prefixes(thread) if namespace is None else [f"{thread}{segment(namespace)}/"]
            for root in roots:
                prefix = f"{root}c/" if wanted is None else _checkpoint_path(root, wanted)
                after = None if before is None else _checkpoint_path(root, before)
                for info in self._infos(prefix, after, page):
                    if before is None or info.metadata["checkpoint_id"] < before:
                        yield info

    def _infos(
        self, prefix: str, after: Optional[str] = None, page: Optional[int] = None
    ) -> Iterator[FileInfo]:
        """Yields the files below a prefix. Requests the next page only when it is needed."""
        while True:
            found = self._files.list(prefix, after=after, limit=min(page or BATCH, BATCH))
            yield from found.files
            after = found.next
            if after is None:
                return

    def _prefixes(self, prefix: str) -> List[str]:
        found: List[str] = []
        after: Optional[str] = None
        while True:
            page = self._files.list(prefix, delimiter="/", after=after, limit=1000)
            found.extend(page.prefixes)
            after = page.next
            if after is None:
                return found

    def _tuples(self, files: Sequence[FileContent]) -> List[CheckpointTuple]:
        stored = [(file.info.metadata, _root_of(file.info), self._load(file)) for file in files]
        values = {
            path: None for _, root, each in stored for path in _value_paths(root, each["checkpoint"]).values()
        }
        ids: Dict[str, List[str]] = {}
        for about, root, _ in stored:
            ids.setdefault(root, []).append(about["checkpoint_id"])
        writes = {prefix: each for root in ids for prefix, each in self._pending(root, ids[root]).items()}
        contents = self._files.read([*values, *(info.path for each in writes.values() for info in each)])
        found = []
        for info, (about, root, each) in zip([file.info for file in files], stored):
            paths = _value_paths(root, each["checkpoint"])
            channel_values = {
                channel: self._load(contents[path]) for channel, path in paths.items() if path in contents
            }
            # Checkpoints of earlier versions of this package do not list the channels that have a value.
            absent = [channel for channel in each.get("values", ()) if channel not in channel_values]
            if absent:
                if not self._files.read([info.path]):
                    continue
                what = f"channel {absent[0]!r} of checkpoint {about['checkpoint_id']}"
                raise _missing("the value", what, about["thread_id"])
            place = (about["thread_id"], about["checkpoint_ns"])
            parent = about.get("parent")
            pending = [
                (info.metadata["task_id"], info.metadata["channel"], self._load(contents[info.path]))
                for info in writes.get(_writes_prefix(root, about["checkpoint_id"]), ())
                if info.path in contents
            ]
            found.append(
                CheckpointTuple(
                    config=_config(*place, about["checkpoint_id"]),
                    checkpoint=cast(Checkpoint, {**each["checkpoint"], "channel_values": channel_values}),
                    metadata=each["metadata"],
                    parent_config=_config(*place, parent) if parent else None,
                    pending_writes=pending,
                )
            )
        return found

    def _pending(self, root: str, checkpoint_ids: Sequence[str]) -> Dict[str, List[FileInfo]]:
        """Returns the pending writes of checkpoints, by the prefix of their paths, in the order of the writes."""
        prefixes = {_writes_prefix(root, checkpoint_id) for checkpoint_id in checkpoint_ids}
        found: Dict[str, List[FileInfo]] = {}
        if not prefixes:
            return found
        # Ids grow with time, so the writes of neighbouring checkpoints are neighbours in one listing.
        first, last = min(prefixes), max(prefixes)
        for info in self._infos(first) if first == last else self._infos(f"{root}w/", first[:-1]):
            prefix = info.path[: info.path.index("/", len(root) + 2) + 1]
            if prefix > last:
                break
            if prefix in prefixes:
                found.setdefault(prefix, []).append(info)
        for infos in found.values():
            infos.sort(key=_write_order)
        return found

    def _keep_only(self, root: str, infos: Sequence[FileInfo], kept: Sequence[FileInfo]) -> None:
        """Deletes all checkpoints of a namespace except ``kept`` and the ancestors that they need.

        Also deletes their writes, and the values that no checkpoint uses.
        """
        by_id = {info.metadata["checkpoint_id"]: info for info in infos}
        needed = {info.metadata["checkpoint_id"] for info in kept}
        for info in kept:
            content = self._files.read([info.path]).get(info.path)
            if content is not None:
                deltas = self._load(content)["metadata"].get("counters_since_delta_snapshot") or {}
                chain = self._chain(info, by_id, set(deltas))
                needed |= {each.metadata["checkpoint_id"] for each in chain}
        stays = [info for each, info in by_id.items() if each in needed]
        contents = self._files.read([info.path for info in stays])
        named: Set[str] = set()
        for info in stays:
            if info.path in contents:
                named.update(_value_paths(root, self._load(contents[info.path])["checkpoint"]).values())
        # Delete the checkpoints first, so that nobody finds a checkpoint without its values.
        gone = [info for each, info in by_id.items() if each not in needed]
        self._files.remove([info.path for info in gone])
        writes = self._pending(root, [info.metadata["checkpoint_id"] for info in gone])
        self._files.remove([info.path for infos in writes.values() for info in infos])
        self._files.remove([info.path for info in self._files.all(f"{root}v/") if info.path not in named])

    def _chain(
        self, start: Optional[FileInfo], by_id: Dict[str, FileInfo], deltas: Set[str]
    ) -> List[FileInfo]:
        """Returns a checkpoint and its ancestors, back to the stored value of each of these delta channels.

        Most checkpoints store no value for a delta channel. The value is rebuilt from the nearest stored
        value and the later writes.
        """
        chain: List[FileInfo] = []
        unseen = deltas
        current = start
        while current is not None and unseen:
            found = self._files.read([current.path]).get(current.path)
            if found is None:
                break
            chain.append(current)
            paths = _value_paths(_root_of(current), self._load(found)["checkpoint"])
            there = self._files.read([paths[each] for each in unseen if each in paths])
            unseen = {each for each in unseen if paths.get(each) not in there}
            current = by_id.get(current.metadata.get("parent", ""))
        return chain


def _missing(what: str, of: str, thread_id: str) -> NotFoundError:
    return NotFoundError(
        f"{what.capitalize()} for {of} in the thread {thread_id!r} is missing: it expired or was deleted.",
        code="not_found",
        hint="Continue from an older checkpoint of the thread, or delete the thread and start again.",
    )


class PointerWrapper:
    """Wrapper for :class:`ToolNode`: ``ToolNode(tools, **pointer_wrapper())``.

    It works in synchronous and in asynchronous runs.
    """

    def __init__(self, results: LargeResults) -> None:
        self._results = results

    def keys(self) -> Tuple[str, str]:
        """Returns the argument names of ToolNode, so that ``**`` can unpack the wrapper."""
        return "wrap_tool_call", "awrap_tool_call"

    def __getitem__(self, name: str) -> Callable[[Any, Callable[[Any], Any]], Any]:
        if name not in self.keys():
            raise KeyError(name)
        return self

    def __call__(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        if inspect.iscoroutinefunction(handler):
            return self._async(request, handler)
        result = handler(_with_sync_tool(request))
        return self._results.swap(result, request.tool_call["name"], forever=stored_elsewhere(request))

    async def _async(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        result = await handler(request)
        name = request.tool_call["name"]
        return await self._results.aswap(result, name, forever=stored_elsewhere(request))


def pointer_wrapper(
    relay: Union[ContextRelay, str, None] = None, **options: Unpack[LargeResultOptions]
) -> PointerWrapper:
    """Returns a wrapper for ``ToolNode(tools, **pointer_wrapper())``.

    If a tool result is larger than ``max_bytes``, it is stored, and the graph continues with a pointer to it. The options
    are those of :class:`LargeResultOptions`. It also works as ``wrap_tool_call=pointer_wrapper()``, but then each tool
    blocks an asynchronous run.

    With :class:`ContextRelaySaver`, pointers live as long as the checkpoints. With another checkpointer and without
    ``ttl``, they live as long as the relay allows.
    """
    return PointerWrapper(LargeResults(relay, **options))


def _with_sync_tool(request: Any) -> Any:
    """Lets a synchronous call run a tool that has only a coroutine.

    The coroutine runs in a thread with its own event loop. A ToolNode with only ``wrap_tool_call`` calls
    its tools synchronously, even in an asynchronous run.
    """
    tool = request.tool
    if getattr(tool, "coroutine", None) is None or getattr(tool, "func", None) is not None:
        return request
    coroutine = tool.coroutine

    @functools.wraps(coroutine)
    def run(*args: Any, **kwargs: Any) -> Any:
        context = contextvars.copy_context()
        with ThreadPoolExecutor(1) as executor:
            return executor.submit(context.run, asyncio.run, coroutine(*args, **kwargs)).result()

    return request.override(tool=tool.model_copy(update={"func": run}))


def _place(config: RunnableConfig) -> Tuple[str, str]:
    configurable = config.get("configurable") or {}
    return str(configurable["thread_id"]), configurable.get("checkpoint_ns") or ""


def _config(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    place = {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}
    return {"configurable": place}


def _root(thread_id: str, namespace: str) -> str:
    return f"{segment(thread_id)}/{segment(namespace)}/"


def _root_of(info: FileInfo) -> str:
    return "/".join(info.path.split("/")[:2]) + "/"


def _checkpoint_path(root: str, checkpoint_id: str) -> str:
    """Returns the path of a checkpoint.

    Ids of checkpoints grow with time. Their bytes are inverted, so that a listing shows the newest first.
    """
    inverted = bytes(255 - byte for byte in checkpoint_id.encode("utf-8")).hex()
    return f"{root}c/{inverted}~"


def _value_path(root: str, channel: str, version: object) -> str:
    return f"{root}v/{segment(channel)}/{segment(str(version))}"


def _value_paths(root: str, checkpoint: Checkpoint) -> Dict[str, str]:
    versions = checkpoint["channel_versions"]
    return {channel: _value_path(root, channel, version) for channel, version in versions.items()}


def _writes_prefix(root: str, checkpoint_id: str) -> str:
    return f"{root}w/{segment(checkpoint_id)}/"


def _write_order(info: FileInfo) -> Tuple[str, str, int]:
    about = info.metadata
    return about["task_path"], about["task_id"], about["index"]


def _matches(metadata: Dict[str, Any], wanted: Dict[str, Any]) -> bool:
    return all(metadata.get(name) == value for name, value in wanted.items())
