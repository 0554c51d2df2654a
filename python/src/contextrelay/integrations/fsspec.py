"""fsspec: the files of a relay as a file system (``relay://space/path``), for pandas, pyarrow, Dask and
others.
"""

from __future__ import annotations

import random
import time
from datetime import datetime
from typing import Any, Dict, List, Optional, Tuple, Union

from ..client import ContextRelay
from ..errors import ConflictError, NotFoundError
from ..files import FileInfo
from . import missing_extra

try:
    from fsspec import AbstractFileSystem
    from fsspec.spec import AbstractBufferedFile
except ImportError as error:
    raise missing_extra("fsspec", error) from error

__all__ = ["RelayFileSystem"]

#: Maximum number of attempts of one append. An attempt fails only if another writer appended first, so only
#: very many writers reach this number.
_APPEND_ATTEMPTS = 200


class RelayFileSystem(AbstractFileSystem):
    """File system of a relay: ``fsspec.filesystem("relay", base_url=…, api_key=…)``, or pass a client as
    ``relay``.

    The first part of a path is the space. A folder exists as long as it contains a file. A file has at
    most 25 MB. It is uploaded when it is closed. The upload creates a new version.
    """

    protocol = "relay"
    root_marker = ""
    cachable = True

    def __init__(
        self,
        base_url: Optional[str] = None,
        api_key: Optional[str] = None,
        *,
        relay: Optional[ContextRelay] = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.relay = relay or ContextRelay(base_url, api_key)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return [cls._strip_protocol(each) for each in path] if isinstance(path, list) else _stripped(path)

    def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
        space, inner = _split(path)
        entries: List[Dict[str, Any]] = []
        if not space:
            entries = [_folder(each) for each in self._spaces()]
        else:
            after: Optional[str] = None
            prefix = f"{inner}/" if inner else None
            while True:
                page = self.relay.files.space(space).list(prefix, delimiter="/", after=after, limit=1000)
                entries += [_folder(f"{space}/{each.rstrip('/')}") for each in page.prefixes]
                entries += [_entry(info) for info in page.files]
                after = page.next
                if after is None:
                    break
            if not entries:
                entries = [self.info(path)]
        entries.sort(key=lambda entry: entry["name"])
        return entries if detail else [entry["name"] for entry in entries]

    def info(self, path: str, **_: Any) -> Dict[str, Any]:
        space, inner = _split(path)
        if not space:
            return _folder("")
        files = self.relay.files.space(space)
        if inner:
            try:
                return _entry(files.info(inner))
            except NotFoundError:
                pass
        page = files.list(f"{inner}/" if inner else None, limit=1)
        if not page.files:
            raise FileNotFoundError(path)
        return _folder(_stripped(path))

    def cat_file(self, path: str, start: Optional[int] = None, end: Optional[int] = None, **_: Any) -> bytes:
        space, inner = _split(path)
        files = self.relay.files.space(space)
        try:
            if start is None and end is None:
                return files.bytes(inner)
            size = files.info(inner).size
            first, last, _step = slice(start, end).indices(size)
            return files.bytes(inner, range=(first, last)) if first < last else b""
        except NotFoundError:
            raise FileNotFoundError(path) from None

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        space, inner = _split(path)
        try:
            self.relay.files.space(space).put(
                _file_path(path, inner), bytes(value), if_absent=mode == "create"
            )
        except ConflictError:
            raise FileExistsError(path) from None

    def append_file(self, path: str, value: bytes) -> None:
        """Appends to a file, or creates it. Concurrent appends do not overwrite each other."""
        space, inner = _split(path)
        files, name = self.relay.files.space(space), _file_path(path, inner)
        for attempt in range(_APPEND_ATTEMPTS):
            try:
                before = files.info(name)
            except NotFoundError:
                before = None
            try:
                if before is None:
                    files.put(name, value, if_absent=True)
                else:
                    content = files.bytes(name, version=before.version)
                    files.put(name, content + value, if_match=before.etag)
                return
            except (ConflictError, NotFoundError):
                # Another writer was faster. Read the version of that writer and try again. The random pause
                # makes conflicts rare.
                if attempt == _APPEND_ATTEMPTS - 1:
                    raise
                time.sleep(random.uniform(0, 0.01 * min(attempt + 1, 20)))

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        if self.isdir(path1):
            return
        self.pipe_file(path2, self.cat_file(path1))

    def rm_file(self, path: str) -> None:
        space, inner = _split(path)
        try:
            self.relay.files.space(space).delete(_file_path(path, inner))
        except NotFoundError:
            raise FileNotFoundError(path) from None

    def rm(
        self, path: Union[str, List[str]], recursive: bool = False, maxdepth: Optional[int] = None
    ) -> None:
        if maxdepth is not None:
            super().rm(path, recursive=recursive, maxdepth=maxdepth)
            return
        for each in self.expand_path(path, recursive=False):
            if self.isfile(each):
                self.rm_file(each)
            elif recursive:
                space, inner = _split(each)
                self.relay.files.space(space).remove(prefix=f"{inner}/" if inner else "")
            else:
                raise IsADirectoryError(each)

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Does nothing, because a folder exists as long as it contains a file."""

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Does nothing, because a folder exists as long as it contains a file."""

    def rmdir(self, path: str) -> None:
        """Does nothing, because a folder exists as long as it contains a file."""

    def touch(self, path: str, truncate: bool = True, **_: Any) -> None:
        if truncate or not self.exists(path):
            self.pipe_file(path, b"")
        else:
            self.append_file(path, b"")

    def created(self, path: str) -> datetime:
        return _time(self._file(path).created_at)

    def modified(self, path: str) -> datetime:
        return _time(self._file(path).modified_at)

    def checksum(self, path: str) -> int:
        return int(self._file(path).sha256, 16)

    def ukey(self, path: str) -> str:
        return self._file(path).etag

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: Optional[int] = None,
        autocommit: bool = True,
        cache_options: Optional[Dict[str, Any]] = None,
        **options: Any,
    ) -> _RelayFile:
        size = block_size or "default"
        return _RelayFile(self, path, mode, size, autocommit, cache_options=cache_options, **options)

    def _file(self, path: str) -> FileInfo:
        space, inner = _split(path)
        try:
            return self.relay.files.space(space).info(inner)
        except NotFoundError:
            raise FileNotFoundError(path) from None

    def _spaces(self) -> List[str]:
        spaces: List[str] = []
        after: Optional[str] = None
        while True:
            page = self.relay.files.spaces(after=after)
            spaces += [each["space"] for each in page["spaces"]]
            after = page.get("next")
            if after is None:
                return spaces


class _RelayFile(AbstractBufferedFile):
    """An open file.

    It reads byte ranges of one version. Writes are buffered and uploaded when the file is closed.
    """

    def __init__(
        self, fs: RelayFileSystem, path: str, mode: str, block_size: Any, autocommit: bool, **more: Any
    ):
        self._chunks: List[bytes] = []
        self._version: Optional[int] = None
        if mode == "xb" and fs.exists(path):
            raise FileExistsError(path)
        if mode == "rb":
            self._version = fs._file(path).version
        super().__init__(fs, path, mode, block_size, autocommit, **more)
        if mode == "ab":
            # Start at the end of the file, as local files do in append mode.
            try:
                self.loc = fs._file(path).size
            except FileNotFoundError:
                self.loc = 0

    def _fetch_range(self, start: int, end: int) -> bytes:
        space, inner = _split(self.path)
        end = min(end, self.size)
        if start >= end:
            return b""
        files = self.fs.relay.files.space(space)
        return bytes(files.bytes(inner, version=self._version, range=(start, end)))

    def _initiate_upload(self) -> None:
        """Does nothing, because ``commit`` uploads the whole file in one request."""

    def _upload_chunk(self, final: bool = False) -> None:
        self._chunks.append(self.buffer.getvalue())
        if final and self.autocommit:
            self.commit()

    def commit(self) -> None:
        """Uploads the buffered content."""
        value = b"".join(self._chunks)
        if self.mode == "ab":
            self.fs.append_file(self.path, value)
        else:
            self.fs.pipe_file(self.path, value, mode="create" if self.mode == "xb" else "overwrite")

    def discard(self) -> None:
        """Drops the buffered content."""
        self._chunks = []


def _stripped(path: Any) -> str:
    text = str(path)
    for start in ("relay://", "relay::"):
        if text.startswith(start):
            text = text[len(start) :]
    return text.strip("/")


def _split(path: str) -> Tuple[str, str]:
    space, _, inner = _stripped(path).partition("/")
    return space, inner


def _file_path(path: str, inner: str) -> str:
    if not inner:
        raise IsADirectoryError(path)
    return inner


def _folder(name: str) -> Dict[str, Any]:
    return {"name": name, "size": 0, "type": "directory"}


def _entry(info: FileInfo) -> Dict[str, Any]:
    return {
        "name": f"{info.space}/{info.path}",
        "size": info.size,
        "type": "file",
        "created": _time(info.created_at),
        "mtime": _time(info.modified_at),
        "ETag": info.etag,
        "version": info.version,
        "sha256": info.sha256,
        "mimetype": info.content_type,
    }


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
