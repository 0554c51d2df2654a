"""LangGraph: a checkpoint saver over the relay's files, so that a graph goes on in another process or on another machine."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import hashlib
import inspect
import random
from concurrent.futures import ThreadPoolExecutor
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Dict,
    Iterator,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
    cast,
)
from urllib.parse import quote

from ..client import ContextRelay
from ..errors import RelayHTTPError
from ..files import FileContent, FileInfo, NewFile
from . import missing_extra
from .tools import OVER_CHARS, RelayTools, shortened_message

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
except ImportError as error:
    raise missing_extra("langgraph", error) from error

__all__ = ["ContextRelaySaver", "PointerWrapper", "pointer_wrapper"]

#: Checkpoints that are loaded at once by a listing.
_PAGE = 20
_SEGMENT_CHARS = 200


class ContextRelaySaver(BaseCheckpointSaver[str]):
    """``builder.compile(checkpointer=ContextRelaySaver())``.

    ``space``: where the files are. ``ttl``: seconds after which what was written is gone; without one it stays. Below
    ``<thread>/<namespace>/`` there is ``c/`` with the checkpoints, newest first, ``v/`` with the values of channels, each version
    once, and ``w/`` with pending writes.
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

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread_id, namespace = _place(config)
        root = _root(thread_id, namespace)
        values = checkpoint["channel_values"]
        self._write(
            [
                self._file(_value_path(root, channel, version), values[channel], {})
                for channel, version in new_versions.items()
                if channel in values
            ]
        )
        told = get_checkpoint_metadata(config, metadata)
        stored = {"checkpoint": {**checkpoint, "channel_values": {}}, "metadata": told}
        about = {
            "thread_id": thread_id,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint["id"],
            "parent": get_checkpoint_id(config),
            "run_id": told.get("run_id"),
        }
        # Last: whoever finds a checkpoint finds all that it names.
        self._write([self._file(_checkpoint_path(root, checkpoint["id"]), stored, about)])
        return _config(thread_id, namespace, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[Tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        root = _root(*_place(config))
        checkpoint_id = str(get_checkpoint_id(config))
        files = []
        for at, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, at)
            about = {"channel": channel, "task_id": task_id, "task_path": task_path, "index": index}
            path = f"{_writes_prefix(root, checkpoint_id)}{_segment(task_id)}/{index}"
            # The first write of a task counts, except of what happens to it, such as an error.
            files.append(self._file(path, value, about, if_absent=index >= 0))
        self._write(files)

    def get_tuple(self, config: RunnableConfig) -> Optional[CheckpointTuple]:
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
        return self._tuples([found[path]])[0] if path in found else None

    def list(
        self,
        config: Optional[RunnableConfig],
        *,
        filter: Optional[Dict[str, Any]] = None,
        before: Optional[RunnableConfig] = None,
        limit: Optional[int] = None,
    ) -> Iterator[CheckpointTuple]:
        if limit is not None and limit <= 0:
            return
        wanted = get_checkpoint_id(config) if config else None
        end = get_checkpoint_id(before) if before else None
        infos = [
            info
            for info in self._checkpoints(config)
            if (wanted is None or info.metadata["checkpoint_id"] == wanted)
            and (end is None or info.metadata["checkpoint_id"] < end)
        ]
        given = 0
        for at in range(0, len(infos), _PAGE):
            paths = [info.path for info in infos[at : at + _PAGE]]
            contents = self._files.read(paths)
            matching = [contents[path] for path in paths if path in contents]
            if filter:
                matching = [each for each in matching if _matches(self._load(each)["metadata"], filter)]
            for each in self._tuples(matching):
                yield each
                given += 1
                if given == limit:
                    return

    def delete_thread(self, thread_id: str) -> None:
        self._files.remove(prefix=f"{_segment(str(thread_id))}/")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """What later checkpoints of other runs need to rebuild their delta channels stays."""
        unwanted = set(map(str, run_ids))
        found: Dict[str, List[FileInfo]] = {}
        for info in self._checkpoints(None):
            found.setdefault(_root_of(info), []).append(info)
        for root, infos in found.items():
            kept = [info for info in infos if info.metadata.get("run_id") not in unwanted]
            if len(kept) < len(infos):
                self._keep_only(root, infos, kept)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        source, target = _segment(str(source_thread_id)), _segment(str(target_thread_id))
        infos = list(self._files.all(f"{source}/"))
        # Checkpoints last, as they are put.
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
                copies.append(NewFile(new, contents[path].content, metadata=about, ttl=self._ttl, keep=0))
            self._write(copies)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """``keep_latest`` keeps the newest checkpoint of each namespace, and of its ancestors those from which its delta channels
        are rebuilt; ``delete`` keeps nothing."""
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"There is no strategy {strategy!r}: it is keep_latest or delete.")
        for thread_id in map(str, thread_ids):
            if strategy == "delete":
                self.delete_thread(thread_id)
                continue
            found: Dict[str, List[FileInfo]] = {}
            for info in self._checkpoints({"configurable": {"thread_id": thread_id}}):
                found.setdefault(_root_of(info), []).append(info)
            for root, infos in found.items():
                # They come newest first.
                self._keep_only(root, infos, infos[:1])

    def get_next_version(self, current: Optional[str], channel: None) -> str:
        """Branches of a thread count on from the same number: the random part tells their values apart."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    # The same for asyncio, in threads.

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

    def _file(self, path: str, value: Any, about: Dict[str, Any], *, if_absent: bool = False) -> NewFile:
        kind, content = self.serde.dumps_typed(value)
        metadata = {"type": kind, **{name: said for name, said in about.items() if said is not None}}
        return NewFile(path, content, metadata=metadata, ttl=self._ttl, keep=0, if_absent=if_absent)

    def _write(self, files: Sequence[NewFile]) -> None:
        for file, written in zip(files, self._files.write(files) if files else []):
            if isinstance(written, FileInfo) or (file.if_absent and written.get("code") == "file_changed"):
                continue
            said, hint = str(written["error"]), str(written.get("hint", ""))
            raise RelayHTTPError(said, code=written.get("code"), hint=hint)

    def _load(self, file: FileContent) -> Any:
        return self.serde.loads_typed((file.info.metadata["type"], file.content))

    def _checkpoints(self, config: Optional[RunnableConfig]) -> Iterator[FileInfo]:
        """Those of a namespace, of a thread, or all; of each namespace the newest first."""
        place = (config or {}).get("configurable", {})
        if "thread_id" not in place:
            threads = self._prefixes("")
        else:
            threads = [f"{_segment(str(place['thread_id']))}/"]
        for thread in threads:
            namespace = place.get("checkpoint_ns")
            roots = self._prefixes(thread) if namespace is None else [f"{thread}{_segment(namespace)}/"]
            for root in roots:
                yield from self._files.all(f"{root}c/")

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
        writes = {
            about["checkpoint_id"]: self._pending(root, about["checkpoint_id"]) for about, root, _ in stored
        }
        contents = self._files.read([*values, *(info.path for infos in writes.values() for info in infos)])
        found = []
        for about, root, each in stored:
            paths = _value_paths(root, each["checkpoint"])
            channel_values = {
                channel: self._load(contents[path]) for channel, path in paths.items() if path in contents
            }
            place = (about["thread_id"], about["checkpoint_ns"])
            parent = about.get("parent")
            pending = [
                (info.metadata["task_id"], info.metadata["channel"], self._load(contents[info.path]))
                for info in writes[about["checkpoint_id"]]
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

    def _pending(self, root: str, checkpoint_id: str) -> List[FileInfo]:
        def order(info: FileInfo) -> Tuple[str, str, int]:
            about = info.metadata
            return about["task_path"], about["task_id"], about["index"]

        return sorted(self._files.all(_writes_prefix(root, checkpoint_id)), key=order)

    def _keep_only(self, root: str, infos: Sequence[FileInfo], kept: Sequence[FileInfo]) -> None:
        """Deletes the other checkpoints of a namespace, their writes, and values that nothing names any more."""
        by_id = {info.metadata["checkpoint_id"]: info for info in infos}
        needed = {info.metadata["checkpoint_id"] for info in kept}
        for info in kept:
            needed |= self._ancestors_needed(info, by_id)
        stays = [info for each, info in by_id.items() if each in needed]
        contents = self._files.read([info.path for info in stays])
        named: Set[str] = set()
        for info in stays:
            if info.path in contents:
                named.update(_value_paths(root, self._load(contents[info.path])["checkpoint"]).values())
        # Checkpoints first: what is deleted half is then found by nobody.
        gone = [info for each, info in by_id.items() if each not in needed]
        self._files.remove([info.path for info in gone])
        for info in gone:
            self._files.remove(prefix=_writes_prefix(root, info.metadata["checkpoint_id"]))
        self._files.remove([info.path for info in self._files.all(f"{root}v/") if info.path not in named])

    def _ancestors_needed(self, info: FileInfo, by_id: Dict[str, FileInfo]) -> Set[str]:
        """A delta channel has no value of its own in most checkpoints: it is the nearest stored one above, with the writes
        since. All between the two must stay."""
        needed: Set[str] = set()
        missing: Optional[Set[str]] = None
        current: Optional[FileInfo] = info
        while current is not None:
            found = self._files.read([current.path]).get(current.path)
            if found is None:
                break
            stored = self._load(found)
            paths = _value_paths(_root_of(current), stored["checkpoint"])
            if missing is None:
                missing = set(stored["metadata"].get("counters_since_delta_snapshot") or {})
            else:
                needed.add(current.metadata["checkpoint_id"])
            if missing:
                there = self._files.read([paths[each] for each in missing if each in paths])
                missing = {each for each in missing if paths.get(each) not in there}
            if not missing:
                break
            current = by_id.get(current.metadata.get("parent", ""))
        return needed


class PointerWrapper:
    """Both forms of a wrapper for :class:`ToolNode`: ``ToolNode(tools, **pointer_wrapper())`` takes the one that fits each run."""

    def __init__(self, tools: RelayTools) -> None:
        self._tools = tools

    def keys(self) -> Tuple[str, str]:
        return "wrap_tool_call", "awrap_tool_call"

    def __getitem__(self, name: str) -> Callable[[Any, Callable[[Any], Any]], Any]:
        if name not in self.keys():
            raise KeyError(name)
        return self

    def __call__(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        if inspect.iscoroutinefunction(handler):
            return self._async(request, handler)
        return shortened_message(self._tools, handler(_with_sync_tool(request)))

    async def _async(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        return await asyncio.to_thread(shortened_message, self._tools, await handler(request))


def pointer_wrapper(
    relay: Union[ContextRelay, str, None] = None, *, over: int = OVER_CHARS
) -> PointerWrapper:
    """For ``ToolNode(tools, **pointer_wrapper())``: a tool result of more than ``over`` characters is stored, and the graph goes
    on with a pointer to it. Given as ``wrap_tool_call`` alone it works too, but async runs then wait for each tool."""
    return PointerWrapper(RelayTools(relay, over=over))


def _with_sync_tool(request: Any) -> Any:
    """A ToolNode that was given ``wrap_tool_call`` alone calls tools synchronously, also in an async run. A tool that has only a
    coroutine then runs on an event loop of its own."""
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


def _segment(name: str) -> str:
    """Any name as one segment of a path, never empty and never too long."""
    text = "=" + quote(name, safe="")
    if len(text) <= _SEGMENT_CHARS:
        return text
    return "#" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _root(thread_id: str, namespace: str) -> str:
    return f"{_segment(thread_id)}/{_segment(namespace)}/"


def _root_of(info: FileInfo) -> str:
    return "/".join(info.path.split("/")[:2]) + "/"


def _checkpoint_path(root: str, checkpoint_id: str) -> str:
    """Ids grow with time; turned round, the newest comes first in a listing."""
    turned = bytes(255 - byte for byte in checkpoint_id.encode("utf-8")).hex()
    return f"{root}c/{turned}~"


def _value_path(root: str, channel: str, version: object) -> str:
    return f"{root}v/{_segment(channel)}/{_segment(str(version))}"


def _value_paths(root: str, checkpoint: Checkpoint) -> Dict[str, str]:
    versions = checkpoint["channel_versions"]
    return {channel: _value_path(root, channel, version) for channel, version in versions.items()}


def _writes_prefix(root: str, checkpoint_id: str) -> str:
    return f"{root}w/{_segment(checkpoint_id)}/"


def _matches(metadata: Dict[str, Any], wanted: Dict[str, Any]) -> bool:
    return all(metadata.get(name) == value for name, value in wanted.items())
