"""Stores sessions as files of a relay. Several integrations use this module.

The module contains an append-only list of JSON entries, and the encoding of names as path segments.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote

from ..client import ContextRelay
from ..errors import ConflictError, NotFoundError
from ..files import FileInfo
from .kept_pointers import KeptPointers

#: Maximum length of an encoded name. A longer name becomes a hash, because the relay accepts segments of up
#: to 255 bytes.
_SEGMENT_CHARS = 200

_lock = threading.Lock()
_last = 0


def segment(name: str) -> str:
    """Encodes a name as one path segment. The segment is never empty and never too long."""
    text = "=" + quote(name, safe="")
    if len(text) <= _SEGMENT_CHARS:
        return text
    return "#" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


class SessionFiles:
    """Set-up of the classes that store sessions as files of a relay.

    ``space``: space of the sessions. ``ttl``: seconds until the files of a session expire. Default: never.
    """

    #: Space that is used if the caller names none.
    default_space: str

    def __init__(
        self,
        relay: Union[ContextRelay, str, None] = None,
        *,
        space: Optional[str] = None,
        ttl: Optional[int] = None,
    ) -> None:
        self._relay = relay if isinstance(relay, ContextRelay) else ContextRelay(relay)
        self._space = space or self.default_space
        self._files = self._relay.files.space(self._space)
        self._ttl = ttl
        self._pointers = KeptPointers(self._relay, ttl)


class EntryLog:
    """An append-only list of JSON entries.

    Each append writes one new file below ``prefix`` and reads nothing. The name of the file is the time of the append,
    so that appends of several processes are in order. Pointers in the entries live as long as the entries.
    """

    def __init__(
        self,
        relay: ContextRelay,
        space: str,
        prefix: str,
        *,
        ttl: Optional[int] = None,
        metadata: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._files = relay.files.space(space)
        self._prefix = prefix
        self._pointers = KeptPointers(relay, ttl)
        self._options: Dict[str, Any] = {
            "content_type": "application/jsonl",
            "keep": 0,
            "ttl": ttl,
            "metadata": metadata,
        }

    def append(self, entries: Sequence[Any]) -> None:
        """Adds entries at the end."""
        if entries:
            self._write(f"{self._prefix}{_next_name()}.jsonl", entries)

    def read(self, limit: Optional[int] = None) -> Optional[List[Any]]:
        """Returns all entries, or the last ``limit``. Returns None if none was ever appended."""
        paths = [info.path for info in self._infos()]
        if not paths:
            return None
        if limit is not None and limit <= 0:
            return []
        contents = self._files.read(paths if limit is None else paths[-limit:])
        entries = [entry for path in paths if path in contents for entry in _parsed(contents[path].content)]
        return entries if limit is None else entries[-limit:]

    def pop(self) -> Optional[Any]:
        """Removes and returns the last entry. Two concurrent calls get different entries."""
        while True:
            infos = self._infos()
            if not infos:
                return None
            end = infos[-1]
            try:
                entries = _parsed(self._files.bytes(end.path))
                entry = entries.pop() if entries else None
                if entries:
                    self._write(end.path, entries, if_match=end.etag)
                else:
                    self._files.delete(end.path, if_match=end.etag)
            except (ConflictError, NotFoundError):
                continue
            if entry is not None:
                return entry

    def clear(self) -> None:
        """Deletes all entries."""
        self._files.remove(prefix=self._prefix)

    def _infos(self) -> List[FileInfo]:
        return list(self._files.all(self._prefix))

    def _write(self, path: str, entries: Sequence[Any], if_match: Optional[str] = None) -> None:
        lines = [json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n" for entry in entries]
        content = "".join(lines).encode("utf-8", "surrogatepass")
        self._files.put(path, content, if_match=if_match, **self._options)
        self._pointers.keep(content)


def _next_name() -> str:
    """Returns a name that sorts after the earlier names of this process, even if the clock was set back."""
    global _last
    with _lock:
        _last = max(_last + 1, time.time_ns() // 1000)
        return f"{_last:017}-{secrets.token_hex(4)}"


def _parsed(content: bytes) -> List[Any]:
    return [json.loads(line) for line in content.decode("utf-8", "surrogatepass").split("\n") if line]
