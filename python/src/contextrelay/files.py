"""Named files with versions, grouped into spaces."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypedDict, Union
from urllib.parse import quote

from .errors import RelayError
from .parts import Part, PartRequest, part_of
from .transport import Transport
from .types import SpacePage
from .wire import (
    BODY_BYTES,
    Answer,
    Call,
    Flow,
    JsonObject,
    Operations,
    ask,
    blocking,
    get,
    idempotency,
    json_object,
    post,
    segment,
    tell,
    to_json,
)

#: Maximum number of files in one request that lists, reads, writes or removes files.
BATCH = 1000
#: Maximum number of content bytes in one request that writes several files. With base64 and JSON syntax, the request
#: then stays below the relay's limit of 2 MiB.
_WRITE_BYTES = 1024 * 1024
#: Media type of several files in one body: a line of JSON that lists the files, then their contents. In the JSON,
#: ``bytes`` is the size of a file.
_FILES_TYPE = "application/vnd.contextrelay.files"


@dataclass(frozen=True)
class FileInfo:
    """Description of one version of a file."""

    space: str
    path: str
    #: Number of the version. The first version is 1.
    version: int
    #: Identifies this version and its content, for ``if_match``.
    etag: str
    size: int
    sha256: str
    #: True if the content is valid UTF-8.
    text: bool
    content_type: Optional[str]
    created_at: str
    modified_at: str
    expires_at: Optional[str] = None
    metadata: JsonObject = field(default_factory=dict)


@dataclass(frozen=True)
class FileContent:
    """A file with its content."""

    info: FileInfo
    content: bytes


class FileError(TypedDict):
    """The error of a file that was not written."""

    path: str
    error: str
    code: str


@dataclass(frozen=True)
class FilePage:
    """One page of a listing."""

    files: List[FileInfo]
    #: With ``delimiter="/"``: the folders at this level, such as ``src/``.
    prefixes: List[str]
    #: Pass it as ``after`` to get the next page. None on the last page.
    next: Optional[str]


@dataclass(frozen=True)
class NewFile:
    """A file for :meth:`Space.write`. Its fields are the options of :meth:`Space.put`."""

    path: str
    content: Union[str, bytes]
    content_type: Optional[str] = None
    metadata: Optional[Mapping[str, Any]] = None
    ttl: Optional[int] = None
    keep: Optional[int] = None
    if_match: Optional[str] = None
    if_absent: bool = False

    @property
    def body(self) -> bytes:
        """The content as bytes."""
        return self.content.encode("utf-8") if isinstance(self.content, str) else bytes(self.content)

    def wire(self) -> JsonObject:
        """Returns everything except the content as JSON for the request."""
        value: JsonObject = {
            "path": self.path,
            "content_type": self.content_type,
            "metadata": None if self.metadata is None else dict(self.metadata),
            "ttl": self.ttl,
            "keep": self.keep,
            "if_match": self.if_match,
            "if_none_match": "*" if self.if_absent else None,
        }
        return {name: each for name, each in value.items() if each is not None}


class FileFlows:
    """Operations on all spaces."""

    def spaces(self, *, after: Optional[str] = None, limit: Optional[int] = None) -> Flow[SpacePage]:
        """Lists the spaces that contain a file: ``{"spaces": [{"space"}], "next"?}``."""
        return ask(get("/files", after=after, limit=limit))


class SpaceFlows:
    """Operations on the files of one space."""

    def __init__(self, space: str) -> None:
        self._space = space
        self._only_json = False

    def put(
        self,
        path: str,
        content: Union[str, bytes],
        *,
        content_type: Optional[str] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        ttl: Optional[int] = None,
        keep: Optional[int] = None,
        if_match: Optional[str] = None,
        if_absent: bool = False,
        idempotency_key: Optional[str] = None,
    ) -> Flow[FileInfo]:
        """Writes a file and returns its new version.

        ``ttl``: seconds until the file expires. Without it the file stays until it is deleted.
        ``keep``: number of earlier versions to keep.
        ``if_match="v3"``: raise ConflictError unless the file has this version.
        ``if_absent``: raise ConflictError if the file exists.
        ``idempotency_key``: repeated writes with the same key create one version.
        """
        file = NewFile(path, content, content_type, metadata, ttl, keep, if_match, if_absent)
        return self._put(file, idempotency_key)

    def _put(self, file: NewFile, key: Optional[str]) -> Flow[FileInfo]:
        headers = {**idempotency(key), "Content-Type": file.content_type or "application/octet-stream"}
        if file.if_match is not None:
            headers["If-Match"] = _match(file.if_match)
        if file.if_absent:
            headers["If-None-Match"] = "*"
        if file.metadata is not None:
            encoded = base64.urlsafe_b64encode(to_json(dict(file.metadata))).decode("ascii")
            headers["Relay-Metadata"] = encoded.rstrip("=")
        query = {"ttl": file.ttl, "keep": file.keep}
        answer = yield from ask(Call("PUT", _path(self._space, file.path), query, headers, file.body))
        return _info(answer)

    def bytes(
        self, path: str, *, version: Optional[int] = None, range: Optional[Tuple[int, int]] = None
    ) -> Flow[bytes]:
        """Returns the content of a file, or of an old ``version`` of it.

        ``range=(start, end)`` selects bytes. ``end`` is exclusive.
        """
        headers = {} if range is None else {"Range": f"bytes={range[0]}-{range[1] - 1}"}
        answer = yield Call("GET", _path(self._space, path), {"version": version}, headers, most=BODY_BYTES)
        if range is not None and answer.status == 200:
            return answer.body[range[0] : range[1]]
        return answer.body

    def text(
        self,
        path: str,
        *,
        version: Optional[int] = None,
        lines: Optional[str] = None,
        grep: Optional[str] = None,
        json: Optional[str] = None,
        outline: bool = False,
        context: Optional[int] = None,
        ignore_case: bool = False,
        question: Optional[str] = None,
    ) -> Flow[str]:
        """Returns the content as text, or only the requested part of it."""
        part = part_of(lines, grep, json, outline, context, ignore_case, question)
        if part is not None:
            return (yield from self.part(path, part, version=version)).text
        return (yield from self.bytes(path, version=version)).decode("utf-8")

    def json(self, path: str, *, version: Optional[int] = None) -> Flow[Any]:
        """Returns the parsed content of a JSON file."""
        return json.loads((yield from self.bytes(path, version=version)))

    def part(self, path: str, part: PartRequest, *, version: Optional[int] = None) -> Flow[Part]:
        """Returns a part of a file, with the position of the part."""
        query = {**part.query(), "version": version}
        answer = yield Call("GET", _path(self._space, path), query)
        about = answer.headers.get("relay-part", "")
        return Part(answer.body.decode("utf-8"), about, answer.headers.get("relay-truncated") == "1")

    def info(self, path: str, *, version: Optional[int] = None) -> Flow[FileInfo]:
        """Returns version, size, hash and metadata of a file, without its content."""
        answer = yield from ask(get(_path(self._space, path), info=True, version=version))
        return _info(answer)

    def log(self, path: str) -> Flow[List[FileInfo]]:
        """Returns the stored versions of a file, newest first."""
        answer = yield from ask(get(_path(self._space, path), log=True))
        return [_info(each) for each in answer["versions"]]

    def delete(self, path: str, *, if_match: Optional[str] = None) -> Flow[None]:
        """Deletes a file with all its versions. With ``if_match``, deletes it only if it has this version."""
        headers = {} if if_match is None else {"If-Match": _match(if_match)}
        return tell(Call("DELETE", _path(self._space, path), headers=headers, repeatable=True))

    def list(
        self,
        prefix: Optional[str] = None,
        *,
        delimiter: Optional[str] = None,
        after: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Flow[FilePage]:
        """Returns one page of files, sorted by path.

        With ``delimiter="/"``, files in subfolders are grouped by subfolder.
        """
        query = {"prefix": prefix or None, "delimiter": delimiter, "after": after, "limit": limit}
        answer = yield from ask(Call("GET", f"/files/{segment(self._space)}", query))
        files = [_info(each) for each in answer["files"]]
        return FilePage(files, list(answer.get("prefixes") or []), answer.get("next"))

    def all(self, prefix: Optional[str] = None) -> Flow[List[FileInfo]]:
        """Returns every file, or every file whose path starts with the prefix."""
        files: List[FileInfo] = []
        after: Optional[str] = None
        while True:
            page: FilePage = yield from self.list(prefix, after=after, limit=BATCH)
            files.extend(page.files)
            after = page.next
            if after is None:
                return files

    def read(self, paths: Sequence[str]) -> Flow[Dict[str, FileContent]]:
        """Reads several files in few requests. Returns the files by path. Missing files are left out."""
        by_path: Dict[str, FileContent] = {}
        remaining = list(dict.fromkeys(paths))
        while remaining:
            now, later = remaining[:BATCH], remaining[BATCH:]
            call = post(
                f"/files/{segment(self._space)}/read",
                {"paths": now},
                headers={"Accept": f"{_FILES_TYPE}, application/json"},
                repeatable=True,
                most=BODY_BYTES,
            )
            value, contents = _files_in((yield call))
            for each, content in zip(value["files"], contents):
                by_path[each["path"]] = FileContent(_info(each), content)
            skipped = list(value.get("left") or [])
            if len(skipped) == len(now):
                # The relay returned none of the files. So the first one is too large for a combined answer
                # and is read alone.
                path = skipped.pop(0)
                info = yield from self.info(path)
                by_path[path] = FileContent(info, (yield from self.bytes(path)))
            remaining = skipped + later
        return by_path

    def write(self, files: Sequence[NewFile]) -> Flow[List[Union[FileInfo, FileError]]]:
        """Writes several files. Each file is written completely or not at all.

        Returns one result per file, in order: the new version, or ``{"path", "error", "code"}``.
        """
        written: List[Union[FileInfo, FileError]] = []
        for batch in _batches(files):
            if len(batch) == 1 and _size(batch[0]) > _WRITE_BYTES:
                written.append((yield from self._put(batch[0], None)))
                continue
            answer = yield from self._write(batch)
            written.extend(each if "error" in each else _info(each) for each in answer["files"])
        return written

    def _write(self, files: Sequence[NewFile]) -> Flow[Any]:
        path = f"/files/{segment(self._space)}/write"
        bodies = [file.body for file in files]
        if not self._only_json:
            value = [{**file.wire(), "bytes": len(body)} for file, body in zip(files, bodies)]
            content = b"".join([to_json({"files": value}), b"\n", *bodies])
            call = Call("POST", path, headers={"Content-Type": _FILES_TYPE}, body=content, repeatable=True)
            try:
                return (yield from ask(call))
            except RelayError as error:
                if error.code != "bad_json":
                    raise
                # An older relay takes only JSON.
                self._only_json = True
        encoded = [base64.b64encode(body).decode("ascii") for body in bodies]
        value = [{**file.wire(), "content": text, "encoding": "base64"} for file, text in zip(files, encoded)]
        return (yield from ask(post(path, {"files": value}, repeatable=True)))

    def remove(self, paths: Optional[Sequence[str]] = None, *, prefix: Optional[str] = None) -> Flow[int]:
        """Deletes several files, by path or by prefix. Returns the number of deleted files."""
        deleted = 0
        todo: List[JsonObject] = []
        if paths is not None:
            todo = [{"paths": list(paths[at : at + BATCH])} for at in range(0, len(paths), BATCH)]
        elif prefix is not None:
            todo = [{"prefix": prefix}]
        for value in todo:
            more = True
            while more:
                call = post(f"/files/{segment(self._space)}/delete", value, repeatable=True)
                answer = yield from ask(call)
                deleted += int(answer["deleted"])
                more = answer.get("more") is True
        return deleted


class Space:
    """The files of one space: ``relay.files.space("notes")``. Writing the first file creates the space."""

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport = transport
        self._flows = SpaceFlows(name)
        self.name = name

    def all(self, prefix: Optional[str] = None) -> Iterator[FileInfo]:
        """Yields every file, or every file whose path starts with the prefix."""
        return iter(self._transport.run(self._flows.all(prefix)))

    put = blocking(SpaceFlows.put)
    bytes = blocking(SpaceFlows.bytes)
    text = blocking(SpaceFlows.text)
    json = blocking(SpaceFlows.json)
    part = blocking(SpaceFlows.part)
    info = blocking(SpaceFlows.info)
    log = blocking(SpaceFlows.log)
    delete = blocking(SpaceFlows.delete)
    list = blocking(SpaceFlows.list)
    read = blocking(SpaceFlows.read)
    write = blocking(SpaceFlows.write)
    remove = blocking(SpaceFlows.remove)


class Files(Operations):
    """``relay.files``: the files of a relay, grouped into spaces."""

    _flows = FileFlows()

    def space(self, name: str) -> Space:
        """Returns a space by its name. Writing the first file creates the space."""
        return Space(self._transport, name)

    spaces = blocking(FileFlows.spaces)


def _path(space: str, path: str) -> str:
    return f"/files/{segment(space)}/{quote(path, safe='/')}"


def _match(tag: str) -> str:
    """Formats a tag for the If-Match header. An etag gets quotes. ``v3`` and ``*`` do not."""
    return f'"{tag}"' if "-" in tag else tag


def _info(value: Mapping[str, Any]) -> FileInfo:
    names = FileInfo.__dataclass_fields__
    return FileInfo(**{name: value.get(name) for name in names})  # type: ignore[arg-type]


def _files_in(answer: Answer) -> Tuple[JsonObject, List[bytes]]:
    """Returns the JSON of an answer and the contents of its files, in order."""
    if answer.headers.get("content-type") != _FILES_TYPE:
        # An older relay always answers in JSON.
        value = json_object(answer)
        return value, [_content(each) for each in value["files"]]
    at = answer.body.find(b"\n") + 1
    value = json_object(replace(answer, body=answer.body[:at]))
    contents = []
    for each in value["files"]:
        contents.append(answer.body[at : at + each["bytes"]])
        at += each["bytes"]
    return value, contents


def _content(value: Mapping[str, Any]) -> bytes:
    text = str(value["content"])
    return base64.b64decode(text) if value.get("encoding") == "base64" else text.encode("utf-8")


def _size(file: NewFile) -> int:
    return len(file.content) * (3 if isinstance(file.content, str) else 1)


def _batches(files: Sequence[NewFile]) -> Iterator[List[NewFile]]:
    batch: List[NewFile] = []
    size = 0
    for file in files:
        if batch and (len(batch) == BATCH or size + _size(file) > _WRITE_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += _size(file)
    if batch:
        yield batch
