"""LangGraph: a checkpoint saver that stores checkpoints in the relay's files.

A graph can then continue in another process or on another machine.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import hashlib
import inspect
import math
import random
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
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
from ..files import BATCH, FileContent, FileError, FileInfo, NewFile
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

#: Number of checkpoints that are loaded together while listing.
_PAGE = 50
#: Values up to this number of bytes are always stored inside writes and checkpoints. A larger value gets its own
#: file when put_writes stores it, or when a second checkpoint uses it.
_INLINE_BYTES = 4 * 1024
#: Maximum number of namespaces whose recent values a saver remembers.
_MOST_RECENT = 256
#: Serializer without encryption. It is used to search values for pointers.
_PLAIN = JsonPlusSerializer()
#: The values of a checkpoint live at least this many seconds longer than the checkpoint.
_LONGER_S = 60
#: Maximum ttl that the relay accepts, in seconds.
_TTL_MAX_S = 3650 * 24 * 3600
#: First the maximum time in seconds that writes wait for the request of the next checkpoint, then the maximum
#: number of calls that wait.
_WAIT_S = 0.02
_MOST_WAITING = 4
#: Maximum number of files whose expiry a saver remembers.
_KNOWN_EXPIRIES = 10_000


@dataclass(frozen=True)
class _Stored:
    """A stored checkpoint. Large values that it shares with writes or other checkpoints are in files of their own."""

    info: FileInfo
    root: str
    #: The checkpoint with its own values.
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    #: Paths of the files that contain its other values, by channel.
    paths: Dict[str, str]
    #: True if version 0.2.0 or earlier wrote the checkpoint. Then some files in ``paths`` may not exist.
    old: bool
    #: Channels that must have a value. If one of these values is missing, reading the checkpoint raises an error.
    named: List[str]

    @property
    def id(self) -> str:
        return str(self.info.metadata["checkpoint_id"])

    @property
    def parent(self) -> Optional[str]:
        return self.info.metadata.get("parent")

    @property
    def deltas(self) -> Set[str]:
        """Delta channels whose value is rebuilt from ancestors."""
        return set(self.metadata.get("counters_since_delta_snapshot") or {})


@dataclass
class _Recent:
    """Cache for one namespace: the large values that are stored or being sent, and need not be sent again.

    These are the values that the newest checkpoint or a write after it uses. Pruning does not delete them.
    """

    #: Maps a channel and its version to the path of the value.
    values: Dict[Tuple[str, object], str] = field(default_factory=dict)
    #: Maps the path of a sent value to a pair: the newest checkpoint that uses the value, and a future that
    #: completes when the value is stored.
    sent: Dict[str, Tuple[str, Future[None]]] = field(default_factory=dict)
    #: Maps large strings to their files. A checkpoint often contains a string that a write has just stored. With this
    #: cache, the string is not serialized again. Only strings are cached, because other values can change.
    strings: Dict[str, NewFile] = field(default_factory=dict)


@dataclass(frozen=True)
class _Waiting:
    """Files of ``put_writes`` that wait for the request of the next checkpoint."""

    files: Sequence[NewFile]
    written: Future[List[Union[FileInfo, FileError]]] = field(default_factory=Future)


@dataclass(frozen=True)
class _Write:
    """A pending write. A large value is in the file ``path``."""

    task_id: str
    channel: str
    value: Any
    path: Optional[str]


class ContextRelaySaver(BaseCheckpointSaver[str]):
    """Checkpoint saver: ``builder.compile(checkpointer=ContextRelaySaver())``.

    ``space``: space in which the files are stored. ``ttl``: seconds until a checkpoint expires. Without
    it, checkpoints do not expire. The data that a checkpoint needs lives at least as long as the
    checkpoint: its values, and the ancestors from which delta channels are rebuilt. If some of this data
    is missing, reading the checkpoint raises :class:`NotFoundError`.

    The files are below ``<thread>/<namespace>/``. ``c/`` contains the checkpoints, newest first. ``v/`` contains
    large values of writes, and large values that several checkpoints share, named by their hash. ``w/`` contains the
    pending writes.
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
        # A pointer must live as long as the value whose text contains its URL. Values live longer than their
        # checkpoint, so pointers are renewed for this longer time.
        self._pointers = KeptPointers(client, self._longer_ttl())
        # Maps a path to the expiry of the file, for files that this process wrote. Also maps a namespace to
        # the time until which this process has renewed the ancestors in this namespace.
        self._expiry: Dict[str, float] = {}
        self._recent: Dict[str, _Recent] = {}
        self._waiting: List[_Waiting] = []
        # Time at which a checkpoint was last sent or stored.
        self._last_put = -math.inf
        self._lock = threading.RLock()

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
        root, checkpoint_id = _root(thread_id, namespace), checkpoint["id"]
        full_metadata = get_checkpoint_metadata(config, metadata)
        parent = get_checkpoint_id(config)
        recent = self._recent_of(root)
        own: Dict[str, Any] = {}
        large: Dict[str, NewFile] = {}
        paths: Dict[str, str] = {}
        for channel, value in checkpoint["channel_values"].items():
            version = checkpoint["channel_versions"].get(channel)
            if version is None or (parent is None and channel not in new_versions):
                continue
            changed = channel in new_versions
            path = None if changed else recent.values.get((channel, version))
            if path is None or self._expires_too_early(path):
                # Store small values in the checkpoint. Also store a large value in the checkpoint if the value has
                # just changed and put_writes has not stored it. This value gets its own file when a second
                # checkpoint uses it.
                file = None if changed and not recent.sent else self._large_file(root, value)
                if file is None or (changed and file.path not in recent.sent):
                    own[channel] = value
                    continue
                path = file.path
                large[path] = file
            paths[channel] = path
        if paths:
            self._send(root, checkpoint_id, large)
        deltas = set(full_metadata.get("counters_since_delta_snapshot") or {}) - set(own) - set(paths)
        if deltas and parent and self._ttl is not None:
            self._renew_ancestors(root, parent, deltas)
        stored = {
            "checkpoint": {**checkpoint, "channel_values": own},
            "metadata": full_metadata,
            "files": {channel: _name(path) for channel, path in paths.items()},
        }
        about = {
            "thread_id": thread_id,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
            "parent": parent,
            "run_id": full_metadata.get("run_id"),
        }
        # Write the checkpoint last. So whoever finds the checkpoint also finds its values.
        self._last_put = time.monotonic()
        self._write_with_waiting([self._file(_checkpoint_path(root, checkpoint_id), stored, about)])
        self._last_put = time.monotonic()
        self._remember(root, checkpoint, paths)
        return _config(thread_id, namespace, checkpoint_id)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[Tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores the pending writes of a task."""
        root, checkpoint_id = _root(*_place(config)), str(get_checkpoint_id(config))
        folder = f"{_writes_prefix(root, checkpoint_id)}{segment(task_id)}/"
        about = {"task_id": task_id, "task_path": task_path}
        large: Dict[str, NewFile] = {}
        files: List[NewFile] = []
        ordinary: List[Tuple[int, str, Any, Optional[str]]] = []
        for at, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, at)
            file = self._large_file(root, value)
            if file is not None:
                large[file.path] = file
            entry = (
                (index, channel, value, None) if file is None else (index, channel, None, _name(file.path))
            )
            if index >= 0:
                ordinary.append(entry)
            else:
                # Special writes, such as an error, replace earlier ones.
                files.append(self._file(f"{folder}{index}", [entry], about, longer=True))
        if ordinary:
            # Of several writes with the same index, the first one counts. If a task gets more writes,
            # LangGraph passes a longer list, which begins with the stored writes.
            path = f"{folder}n{len(ordinary)}"
            files.append(self._file(path, ordinary, about, if_absent=True, longer=True))
        self._send(root, checkpoint_id, large, files)

    def get_tuple(self, config: RunnableConfig) -> Optional[CheckpointTuple]:
        """Returns the checkpoint that the config names, or the newest one if it names none."""
        root = _root(*_place(config))
        checkpoint_id = get_checkpoint_id(config)
        if checkpoint_id:
            paths = [_checkpoint_path(root, checkpoint_id)]
        else:
            paths = [info.path for info in self._files.list(f"{root}c/", limit=1).files]
        stored = self._stored(paths)
        tuples = self._tuples(stored)
        with self._lock:
            self._recent.pop(root, None)
        if not tuples:
            return None
        # Remember these values, so that the run that continues from this checkpoint does not send them again.
        if not stored[0].old:
            self._remember(root, stored[0].checkpoint, stored[0].paths)
        return tuples[0]

    def list(
        self,
        config: Optional[RunnableConfig],
        *,
        filter: Optional[Dict[str, Any]] = None,
        before: Optional[RunnableConfig] = None,
        limit: Optional[int] = None,
    ) -> Iterator[CheckpointTuple]:
        """Yields checkpoints. Within each namespace, the newest comes first. Loads them only when the caller needs them."""
        if limit is not None and limit <= 0:
            return
        checkpoint_id = get_checkpoint_id(config) if config else None
        end = get_checkpoint_id(before) if before else None
        infos = self._checkpoints(
            config, checkpoint_id=checkpoint_id, before=end, page=None if filter else limit
        )
        count = 0
        while True:
            size = _PAGE if limit is None or filter else min(_PAGE, limit - count)
            paths = [info.path for info in islice(infos, size)]
            if not paths:
                return
            for each in self._tuples(
                [each for each in self._stored(paths) if _matches(each.metadata, filter)]
            ):
                yield each
                count += 1
                if count == limit:
                    return

    def delete_thread(self, thread_id: str) -> None:
        """Deletes all checkpoints of a thread."""
        folder = f"{segment(str(thread_id))}/"
        self._files.remove(prefix=folder)
        with self._lock:
            for root in [each for each in self._recent if each.startswith(folder)]:
                del self._recent[root]

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints of runs, except those that other runs need for their delta channels."""
        unwanted = set(map(str, run_ids))
        by_root: Dict[str, List[FileInfo]] = {}
        for info in self._checkpoints(None):
            by_root.setdefault(_root_of(info), []).append(info)
        for root, infos in by_root.items():
            remaining = [info for info in infos if info.metadata.get("run_id") not in unwanted]
            if len(remaining) < len(infos):
                self._keep_only(root, infos, remaining)

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
            by_root: Dict[str, List[FileInfo]] = {}
            for info in self._checkpoints({"configurable": {"thread_id": thread_id}}):
                by_root.setdefault(_root_of(info), []).append(info)
            for root, infos in by_root.items():
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
        histories = super().get_delta_channel_history(config=config, channels=channels)
        unseeded = {channel for channel, history in histories.items() if "seed" not in history}
        if unseeded:
            self._check_ancestors(config, unseeded)
        return histories

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
            checkpoint = await asyncio.to_thread(next, listing, None)
            if checkpoint is None:
                return
            yield checkpoint

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

    def _large_file(self, root: str, value: Any) -> Optional[NewFile]:
        """Returns a file for a large value, or None if the value is small enough to be stored with its checkpoint."""
        strings = self._recent_of(root).strings
        cached = strings.get(value) if type(value) is str else None
        if cached is not None:
            return cached
        kind, content = self.serde.dumps_typed(value)
        if len(content) <= _INLINE_BYTES:
            return None
        name = hashlib.sha256(kind.encode() + b"\0" + content).hexdigest()
        file = NewFile(f"{root}v/{name}", content, metadata={"type": kind}, ttl=self._longer_ttl(), keep=0)
        if type(value) is str:
            with self._lock:
                strings[value] = file
        return file

    def _send(
        self, root: str, checkpoint_id: str, large: Mapping[str, NewFile], files: Sequence[NewFile] = ()
    ) -> None:
        """Writes files, and the large values that are not stored yet.

        The files in ``files`` may wait until the next checkpoint is sent. The call waits for the large values that
        other threads are sending.
        """
        done: Future[None] = Future()
        with self._lock:
            sent = self._recent_of(root).sent
            waiting = []
            unsent = []
            for path, file in large.items():
                newest, transfer = sent.get(path, ("", None))
                if transfer is None or self._expires_too_early(path):
                    unsent.append(file)
                    transfer = done
                    self._note_expiry(file)
                else:
                    waiting.append(transfer)
                sent[path] = (max(checkpoint_id, newest), transfer)
        try:
            (self._write_soon if files else self._write)([*unsent, *files])
            done.set_result(None)
        except BaseException as error:
            with self._lock:
                for file in unsent:
                    sent.pop(file.path, None)
                    self._expiry.pop(file.path, None)
            done.set_exception(error)
            raise
        if not files and not all(each.done() for each in waiting):
            self._write_with_waiting([])
        for each in waiting:
            each.result()

    def _recent_of(self, root: str) -> _Recent:
        with self._lock:
            recent = self._recent.pop(root, None) or _Recent()
            self._recent[root] = recent
            if len(self._recent) > _MOST_RECENT:
                del self._recent[next(iter(self._recent))]
            return recent

    def _remember(self, root: str, checkpoint: Checkpoint, paths: Mapping[str, str]) -> None:
        """Notes the large values of the newest checkpoint. Forgets the values that only earlier checkpoints use."""
        stored: Future[None] = Future()
        stored.set_result(None)
        versions = checkpoint["channel_versions"]
        with self._lock:
            recent = self._recent_of(root)
            recent.values = {(channel, versions[channel]): path for channel, path in paths.items()}
            for path in paths.values():
                recent.sent[path] = (checkpoint["id"], recent.sent.get(path, ("", stored))[1])
            for path, (checkpoint_id, _) in [*recent.sent.items()]:
                if checkpoint_id < checkpoint["id"]:
                    del recent.sent[path]
            for text, file in [*recent.strings.items()]:
                if file.path not in recent.sent:
                    del recent.strings[text]

    def _write(self, files: Sequence[NewFile]) -> None:
        self._check(files, self._files.write(files))

    def _write_soon(self, files: Sequence[NewFile]) -> None:
        """Writes the files of ``put_writes``.

        If checkpoints follow each other quickly, the files wait for the request of the next checkpoint, so that a step
        of a graph is one request.
        """
        mine = _Waiting(files)
        paths = {file.path for file in files}
        with self._lock:
            # Files with equal paths must be written one after the other.
            equal = any(file.path in paths for each in self._waiting for file in each.files)
            full = equal or len(self._waiting) >= _MOST_WAITING
            waits = not full and time.monotonic() < self._last_put + _WAIT_S
            if waits:
                self._waiting.append(mine)
        if full:
            self._write_with_waiting([])
        try:
            written = mine.written.result(_WAIT_S if waits else 0)
        except (TimeoutError, FutureTimeoutError):
            written = self._files.write(files) if mine.written.cancel() else mine.written.result()
        self._check(files, written)

    def _write_with_waiting(self, files: Sequence[NewFile]) -> None:
        """Writes these files together with the files that wait for the request of a checkpoint."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        batch = [each for each in waiting if each.written.set_running_or_notify_cancel()]
        try:
            written = iter(self._files.write([*(file for each in batch for file in each.files), *files]))
        except BaseException as error:
            for each in batch:
                each.written.set_exception(error)
            raise
        for each in batch:
            each.written.set_result([*islice(written, len(each.files))])
        self._check(files, [*written])

    def _check(self, files: Sequence[NewFile], results: Sequence[Union[FileInfo, FileError]]) -> None:
        """Raises an exception if a file was not written. A file whose condition did not hold is no error.

        Notes the expiry of the files, and renews the pointers in them.
        """
        for file, written in zip(files, results):
            conditional = file.if_absent or file.if_match is not None
            if isinstance(written, FileInfo):
                self._note_expiry(file)
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

    def _note_expiry(self, file: NewFile) -> None:
        if file.ttl is not None:
            self._set_expiry(file.path, time.time() + file.ttl)

    def _set_expiry(self, path: str, expiry: float) -> None:
        with self._lock:
            self._expiry.pop(path, None)
            self._expiry[path] = expiry
            if len(self._expiry) > _KNOWN_EXPIRIES:
                del self._expiry[next(iter(self._expiry))]

    def _renew_ancestors(self, root: str, parent: str, deltas: Set[str]) -> None:
        """Renews the ancestors that delta channels need.

        They must not expire before a checkpoint that is written now.
        """
        ancestors = self._stored([_checkpoint_path(root, parent)])
        if self._expires_too_early(root):
            by_id = {info.metadata["checkpoint_id"]: info for info in self._files.all(f"{root}c/")}
            ancestors = self._chain(by_id.get(parent), by_id, deltas)
        until = time.time() + (self._longer_ttl() or 0)
        for each in ancestors:
            pending = self._pending(root, [each.id])
            needed = {*each.paths.values(), *(info.path for info in pending)}
            for writes in self._writes(pending).values():
                needed.update(write.path for write in writes if write.path is not None)
            paths = [each.info.path, *(path for path in needed if self._expires_too_early(path))]
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
                    for file in self._files.read(paths).values()
                ]
            )
        # All ancestors are renewed. From now on it is enough to renew the parent of each new checkpoint.
        if self._expires_too_early(root):
            self._set_expiry(root, until)

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
        lost = {
            channel
            for each in self._stored([oldest.path])
            for channel in channels & set(each.checkpoint["channel_versions"])
        }
        if lost:
            what = f"The checkpoint {oldest.metadata['parent']}"
            raise _missing(what, thread_id, f" The channel {min(lost)!r} cannot be computed without it.")

    def _load(self, file: FileContent) -> Any:
        return self.serde.loads_typed((file.info.metadata["type"], file.content))

    def _stored(self, paths: Sequence[str]) -> List[_Stored]:
        """Reads checkpoints without their large values. Missing checkpoints are left out."""
        contents = self._files.read(paths)
        return [self._parsed(contents[path]) for path in paths if path in contents]

    def _parsed(self, file: FileContent) -> _Stored:
        root, each = _root_of(file.info), self._load(file)
        checkpoint: Checkpoint = each["checkpoint"]
        if "files" in each:
            paths = {channel: f"{root}v/{name}" for channel, name in each["files"].items()}
            return _Stored(file.info, root, checkpoint, each["metadata"], paths, False, [*paths])
        paths = {
            channel: f"{root}v/{segment(channel)}/{segment(str(version))}"
            for channel, version in checkpoint["channel_versions"].items()
        }
        # The oldest checkpoints do not list the channels that have a value.
        return _Stored(file.info, root, checkpoint, each["metadata"], paths, True, each.get("values", []))

    def _checkpoints(
        self,
        config: Optional[RunnableConfig],
        *,
        checkpoint_id: Optional[str] = None,
        before: Optional[str] = None,
        page: Optional[int] = None,
    ) -> Iterator[FileInfo]:
        """Yields the checkpoints of a namespace, of a thread, or of all threads.

        Within each namespace, the newest comes first.
        ``checkpoint_id``: only the checkpoint with this id. ``before``: only checkpoints that are older than this one.
        ``page``: number of checkpoints that the caller will use, or None if it is unknown.
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
                prefix = f"{root}c/" if checkpoint_id is None else _checkpoint_path(root, checkpoint_id)
                after = None if before is None else _checkpoint_path(root, before)
                for info in self._infos(prefix, after, page):
                    if before is None or info.metadata["checkpoint_id"] < before:
                        yield info

    def _infos(
        self, prefix: str, after: Optional[str] = None, page: Optional[int] = None
    ) -> Iterator[FileInfo]:
        """Yields the files below a prefix. Requests the next page only when it is needed."""
        while True:
            listing = self._files.list(prefix, after=after, limit=min(page or BATCH, BATCH))
            yield from listing.files
            after = listing.next
            if after is None:
                return

    def _prefixes(self, prefix: str) -> List[str]:
        prefixes: List[str] = []
        after: Optional[str] = None
        while True:
            page = self._files.list(prefix, delimiter="/", after=after, limit=1000)
            prefixes.extend(page.prefixes)
            after = page.next
            if after is None:
                return prefixes

    def _tuples(self, stored: Sequence[_Stored]) -> List[CheckpointTuple]:
        """Reads the large values and the pending writes of checkpoints."""
        ids: Dict[str, List[str]] = {}
        for each in stored:
            ids.setdefault(each.root, []).append(each.id)
        writes = self._writes([info for root in ids for info in self._pending(root, ids[root])])
        contents = self._files.read(
            [
                *(path for each in stored for path in each.paths.values()),
                *(write.path for each in writes.values() for write in each if write.path is not None),
            ]
        )
        strings: Dict[str, str] = {}

        def load(path: str) -> Any:
            # A checkpoint and a write often have the same value. Only strings are shared, because other values can
            # change.
            if path in strings:
                return strings[path]
            value = self._load(contents[path])
            if type(value) is str:
                strings[path] = value
            return value

        tuples = []
        for each in stored:
            about = each.info.metadata
            channel_values = dict(each.checkpoint["channel_values"])
            for channel, path in each.paths.items():
                if path in contents:
                    channel_values[channel] = load(path)
            absent = [channel for channel in each.named if channel not in channel_values]
            if absent:
                if not self._files.read([each.info.path]):
                    continue
                what = f"The value of the channel {absent[0]!r} in the checkpoint {each.id}"
                raise _missing(what, about["thread_id"])
            place = (about["thread_id"], about["checkpoint_ns"])
            # A write whose value is missing was not acknowledged, so it is left out.
            pending = [
                (
                    write.task_id,
                    write.channel,
                    load(write.path) if write.path else write.value,
                )
                for write in writes.get(_writes_prefix(each.root, each.id), ())
                if write.path is None or write.path in contents
            ]
            tuples.append(
                CheckpointTuple(
                    config=_config(*place, each.id),
                    checkpoint=cast(Checkpoint, {**each.checkpoint, "channel_values": channel_values}),
                    metadata=each.metadata,
                    parent_config=_config(*place, each.parent) if each.parent else None,
                    pending_writes=pending,
                )
            )
        return tuples

    def _pending(self, root: str, checkpoint_ids: Sequence[str]) -> List[FileInfo]:
        """Returns the files with the pending writes of checkpoints."""
        prefixes = {_writes_prefix(root, checkpoint_id) for checkpoint_id in checkpoint_ids}
        if not prefixes:
            return []
        files = []
        # Ids grow with time, so one listing finds the writes of neighbouring checkpoints next to each other.
        first, last = min(prefixes), max(prefixes)
        shared = first if first == last else f"{root}w/"
        for info in self._infos(shared, first[:-1], 2 * len(prefixes) + 10):
            prefix = _folder(info.path, 4)
            if prefix > last:
                break
            if prefix in prefixes:
                files.append(info)
        return files

    def _writes(self, infos: Sequence[FileInfo]) -> Dict[str, List[_Write]]:
        """Reads pending writes without their large values.

        Groups them by the path of their checkpoint, sorted by task path, task id and index.
        """
        contents = self._files.read([info.path for info in infos])
        by_checkpoint: Dict[str, Dict[Tuple[str, str, int], _Write]] = {}
        # Of several writes at the same place, the first one counts. Files are sorted by time; of files with equal
        # times, the one with more writes comes first.
        for file in sorted(reversed([*contents.values()]), key=lambda file: file.info.created_at):
            about, value = file.info.metadata, self._load(file)
            # Version 0.2.0 and earlier stored each write in a file of its own.
            entries = [(about["index"], about["channel"], value, None)] if "channel" in about else value
            writes = by_checkpoint.setdefault(_folder(file.info.path, 4), {})
            for index, channel, value, name in entries:
                place = (about["task_path"], about["task_id"], index)
                path = None if name is None else f"{_root_of(file.info)}v/{name}"
                writes.setdefault(place, _Write(about["task_id"], channel, value, path))
        return {
            prefix: [writes[place] for place in sorted(writes)] for prefix, writes in by_checkpoint.items()
        }

    def _keep_only(self, root: str, infos: Sequence[FileInfo], remaining: Sequence[FileInfo]) -> None:
        """Deletes all checkpoints of a namespace except ``remaining`` and the ancestors that they need.

        Also deletes their writes, and the values that no checkpoint uses. ``infos`` has the newest checkpoint first.
        """
        by_id = {info.metadata["checkpoint_id"]: info for info in infos}
        stays = {each.id: each for each in self._stored([info.path for info in remaining])}
        for each in [*stays.values()]:
            if each.deltas:
                stays.update(
                    {ancestor.id: ancestor for ancestor in self._chain(each.info, by_id, each.deltas)}
                )
        writes = self._writes(self._pending(root, [*stays]))
        used_paths = {path for each in stays.values() for path in each.paths.values()}
        used_paths.update(write.path for each in writes.values() for write in each if write.path is not None)
        # Delete the checkpoints first, so that nobody finds a checkpoint without its values.
        deleted = [info for each, info in by_id.items() if each not in stays]
        self._files.remove([info.path for info in deleted])
        pending = self._pending(root, [info.metadata["checkpoint_id"] for info in deleted])
        self._files.remove([info.path for info in pending])
        # Keep values that are younger than the newest checkpoint, because a checkpoint that is being written may use
        # them. If the newest checkpoint is deleted too, delete all unused values.
        newest = infos[0]
        unused = [
            info.path
            for info in self._files.all(f"{root}v/")
            if info.path not in used_paths
            and (newest.metadata["checkpoint_id"] not in stays or info.modified_at < newest.modified_at)
        ]
        self._files.remove(unused)

    def _chain(
        self, start: Optional[FileInfo], by_id: Dict[str, FileInfo], deltas: Set[str]
    ) -> List[_Stored]:
        """Returns the checkpoint ``start`` and its ancestors, until each channel in ``deltas`` has a stored value.

        Most checkpoints store no value for a delta channel. The value is rebuilt from the nearest stored
        value and the later writes.
        """
        chain: List[_Stored] = []
        unseen = deltas
        current = start
        while current is not None and unseen:
            found = self._stored([current.path])
            if not found:
                break
            chain.extend(found)
            paths = found[0].paths
            there = set(found[0].checkpoint["channel_values"]) | set(paths)
            if found[0].old:
                contents = self._files.read([paths[each] for each in unseen if each in paths])
                there = {each for each in unseen if paths.get(each) in contents}
            unseen = unseen - there
            current = by_id.get(found[0].parent or "")
        return chain


def _missing(what: str, thread_id: str, consequence: str = "") -> NotFoundError:
    return NotFoundError(
        f"{what} of the thread {thread_id!r} is missing: it expired or was deleted.{consequence}",
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
    return _folder(info.path, 2)


def _folder(path: str, depth: int) -> str:
    """Returns the first segments of a path, with a slash at the end."""
    return "/".join(path.split("/")[:depth]) + "/"


def _name(path: str) -> str:
    return path.rsplit("/", 1)[1]


def _checkpoint_path(root: str, checkpoint_id: str) -> str:
    """Returns the path of a checkpoint.

    Ids of checkpoints grow with time. Their bytes are inverted, so that a listing shows the newest first.
    """
    inverted = bytes(255 - byte for byte in checkpoint_id.encode("utf-8")).hex()
    return f"{root}c/{inverted}~"


def _writes_prefix(root: str, checkpoint_id: str) -> str:
    return f"{root}w/{segment(checkpoint_id)}/"


def _matches(metadata: CheckpointMetadata, required: Optional[Mapping[str, Any]]) -> bool:
    return all(metadata.get(name) == value for name, value in (required or {}).items())
