"""Deep Agents: a backend that stores an agent's files in a relay."""

from __future__ import annotations

import base64
from typing import Any, Callable, List, Optional, Tuple, TypeVar, Union

from ..client import ContextRelay
from ..errors import ConflictError, NotFoundError, RelayError
from ..files import FileInfo, Space
from . import missing_extra
from .kept_pointers import KeptPointers
from .langchain import ContextRelayMiddleware, get_langchain_tools

try:
    from deepagents.backends.protocol import (
        BackendProtocol,
        DeleteResult,
        EditResult,
        FileData,
        FileDownloadResponse,
        FileUploadResponse,
        GlobResult,
        GrepMatch,
        GrepResult,
        LsResult,
        ReadResult,
        WriteResult,
    )
    from deepagents.backends.protocol import FileInfo as AgentFile
    from deepagents.backends.utils import (
        compile_grep_include_glob,
        normalize_read_bounds,
        perform_string_replacement,
        slice_read_response,
    )
except ImportError as error:
    raise missing_extra("deepagents", error) from error

__all__ = ["ContextRelayBackend", "ContextRelayMiddleware", "get_langchain_tools"]

R = TypeVar("R")
#: Number of files that a search reads with one request.
_PAGE = 50


class ContextRelayBackend(BackendProtocol):
    """The file system of a deep agent, for ``create_deep_agent(backend=…)``.

    The files outlive the process, keep earlier versions, and can be shared: ``/notes/plan.md`` is ``notes/plan.md`` in
    the space. ``ttl``: seconds until a file expires. Default: never.
    """

    def __init__(
        self,
        relay: Union[ContextRelay, str, None] = None,
        *,
        space: str = "deepagents",
        ttl: Optional[int] = None,
    ) -> None:
        client = relay if isinstance(relay, ContextRelay) else ContextRelay(relay)
        self._files: Space = client.files.space(space)
        self._ttl = ttl
        self._pointers = KeptPointers(client, ttl)

    def ls(self, path: str) -> LsResult:
        """Lists the files and folders in a folder."""

        def run() -> LsResult:
            entries: List[AgentFile] = []
            after: Optional[str] = None
            while True:
                page = self._files.list(_folder(path), delimiter="/", after=after)
                entries += [{"path": f"/{each}", "is_dir": True} for each in page.prefixes]
                entries += [_agent_file(each) for each in page.files]
                after = page.next
                if after is None:
                    return LsResult(entries=sorted(entries, key=lambda each: each["path"]))

        return _errors_as(LsResult, path, run)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Returns lines of a file."""

        def run() -> ReadResult:
            path = _in_space(file_path)
            info = self._files.info(path)
            data = self._file_data(info, self._files.bytes(path))
            if not info.text or info.size == 0:
                return ReadResult(file_data=data)
            sliced = slice_read_response(data, *normalize_read_bounds(offset, limit))
            return sliced if isinstance(sliced, ReadResult) else ReadResult(file_data=sliced)

        return _errors_as(ReadResult, file_path, run)

    def write(self, file_path: str, content: str) -> WriteResult:
        """Writes a file."""

        def run() -> WriteResult:
            self._files.put(_in_space(file_path), content, content_type="text/plain", ttl=self._ttl)
            self._pointers.keep(content.encode("utf-8", "replace"))
            return WriteResult(path=file_path)

        return _errors_as(WriteResult, file_path, run)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces a text in a file. Repeats the edit if another process wrote the file meanwhile."""

        def run() -> EditResult:
            path = _in_space(file_path)
            while True:
                info = self._files.info(path)
                text = self._files.text(path)
                changed = perform_string_replacement(text, old_string, new_string, replace_all)
                if isinstance(changed, str):
                    return EditResult(error=changed)
                content, occurrences = changed
                try:
                    self._files.put(
                        path, content, content_type=info.content_type, ttl=self._ttl, if_match=info.etag
                    )
                except ConflictError:
                    continue
                self._pointers.keep(content.encode("utf-8", "replace"))
                return EditResult(path=file_path, occurrences=int(occurrences))

        return _errors_as(EditResult, file_path, run)

    def delete(self, file_path: str) -> DeleteResult:
        """Deletes a file, or a folder with its content."""

        def run() -> DeleteResult:
            path = _in_space(file_path)
            if self._files.remove([path]) + self._files.remove(prefix=f"{path}/") == 0:
                return DeleteResult(error=_not_found(file_path))
            return DeleteResult(path=file_path)

        return _errors_as(DeleteResult, file_path, run)

    def grep(
        self,
        pattern: str,
        path: Optional[str] = None,
        glob: Optional[str] = None,
        *,
        max_count: Optional[int] = None,
    ) -> GrepResult:
        """Finds the lines that contain a text."""

        def run() -> GrepResult:
            matches: List[GrepMatch] = []
            names = [info.path for info in self._below(path or "/", glob) if info.text]
            for at in range(0, len(names), _PAGE):
                page = names[at : at + _PAGE]
                contents = self._files.read(page)
                for name in page:
                    text = contents[name].content.decode("utf-8") if name in contents else ""
                    for number, line in enumerate(text.split("\n"), 1):
                        if pattern not in line:
                            continue
                        if max_count is not None and len(matches) >= max_count:
                            return GrepResult(matches=matches, truncated=True)
                        matches.append({"path": f"/{name}", "line": number, "text": line})
            return GrepResult(matches=matches)

        return _errors_as(GrepResult, path or "/", run)

    def glob(self, pattern: str, path: Optional[str] = None) -> GlobResult:
        """Finds files by a pattern."""

        def run() -> GlobResult:
            return GlobResult(matches=[_agent_file(info) for info in self._below(path or "/", pattern)])

        return _errors_as(GlobResult, path or "/", run)

    def upload_files(self, files: List[Tuple[str, bytes]]) -> List[FileUploadResponse]:
        """Writes several files."""

        def put(path: str, content: bytes) -> None:
            self._files.put(_in_space(path), content, ttl=self._ttl)

        return [
            FileUploadResponse(path=path, error=_failure(lambda p=path, c=content: put(p, c)))  # type: ignore[misc]
            for path, content in files
        ]

    def download_files(self, paths: List[str]) -> List[FileDownloadResponse]:
        """Reads several files."""
        answers = []
        for path in paths:
            content: List[bytes] = []
            error = _failure(lambda p=path, c=content: c.append(self._files.bytes(_in_space(p))))  # type: ignore[misc]
            answers.append(
                FileDownloadResponse(path=path, content=content[0] if content else None, error=error)
            )
        return answers

    def _below(self, path: str, pattern: Optional[str]) -> List[FileInfo]:
        """Returns the files in a folder whose relative path matches the pattern.

        For the path of a file, returns this file.
        """
        prefix = _folder(path)
        matches = (lambda _: True) if pattern is None else compile_grep_include_glob(pattern)
        infos = list(self._files.all(prefix))
        if not infos and prefix:
            try:
                return [self._files.info(prefix[:-1])]
            except NotFoundError:
                return []
        return [info for info in infos if matches(info.path[len(prefix) :])]

    @staticmethod
    def _file_data(info: FileInfo, content: bytes) -> FileData:
        text = content.decode("utf-8") if info.text else base64.b64encode(content).decode("ascii")
        encoding = "utf-8" if info.text else "base64"
        return FileData(
            content=text, encoding=encoding, created_at=info.created_at, modified_at=info.modified_at
        )


def _folder(path: str) -> str:
    inner = path.strip("/")
    return f"{inner}/" if inner else ""


def _in_space(path: str) -> str:
    inner = path.strip("/")
    if not inner:
        raise ValueError(f"{path or 'The path'} is not a file name. Pass a name such as /notes.md")
    return inner


def _agent_file(info: FileInfo) -> AgentFile:
    return {"path": f"/{info.path}", "is_dir": False, "size": info.size, "modified_at": info.modified_at}


def _not_found(path: str) -> str:
    # The framework recognizes a missing file by these words.
    return f"Error: File '{path}' not found"


def _errors_as(result: Callable[..., R], path: str, run: Callable[[], R]) -> R:
    """Returns errors as values, because the model reads them."""
    try:
        return run()
    except NotFoundError:
        return result(error=_not_found(path))
    except (RelayError, ValueError) as error:
        return result(error=f"Error: {error}")


def _failure(run: Callable[[], Any]) -> Any:
    try:
        run()
    except NotFoundError:
        return "file_not_found"
    except (RelayError, ValueError):
        return "invalid_path"
    return None
