"""Parses and formats pointers: ``https://host/pull/<uuid>#key=…``, only the id, or a handle such as ``relay:128``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional
from urllib.parse import SplitResult, unquote, urlsplit

from .errors import BadInputError

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HANDLE = re.compile(r"relay:[1-9][0-9]{0,13}")
_PULL = re.compile(r"(.*)/pull/([^/]+)/?")


@dataclass(frozen=True)
class PointerRef:
    """A parsed pointer."""

    #: Id of the pointer, or its handle.
    id: str
    #: Base URL: ``https://host`` with the path before ``/pull/``. None if the pointer is an id or a handle.
    base: Optional[str]
    #: The Fernet key from the URL fragment. It is never sent to a server.
    key: Optional[str]


def pointer_url(base: str, pointer_id: str, key: Optional[str] = None) -> str:
    """Formats a pointer as a URL."""
    return with_key(f"{base.rstrip('/')}/pull/{pointer_id}", key)


def with_key(url: str, key: Optional[str]) -> str:
    """Appends the encryption key of a payload to its URL."""
    return f"{url}#key={key}" if key else url


def parse_pointer(text: str) -> PointerRef:
    """Parses a pointer. Raises BadInputError if the text is not a pointer URL, an id or a handle."""
    trimmed = text.strip()
    if _UUID.fullmatch(trimmed):
        return PointerRef(trimmed.lower(), None, None)
    if trimmed.startswith("relay:"):
        handle, _, fragment = trimmed.partition("#")
        if not _HANDLE.fullmatch(handle):
            raise _bad_url(f'"{handle[:40]}" is not a handle such as relay:128')
        return PointerRef(handle, None, fragment[len("key=") :] if fragment.startswith("key=") else None)
    url = split_url(trimmed)
    if url is None:
        raise _bad_url("it is neither a URL nor an id nor a handle")
    if url.scheme not in ("http", "https"):
        raise _bad_url(f"{url.scheme}: is not http: or https:")
    match = _PULL.fullmatch(url.path)
    if not match or not _UUID.fullmatch(match[2]):
        raise _bad_url("its path does not end in /pull/<uuid>")
    key = unquote(url.fragment[len("key=") :]) if url.fragment.startswith("key=") else None
    return PointerRef(match[2].lower(), origin_of(trimmed) + match[1], key)


def split_url(text: str) -> Optional[SplitResult]:
    """Splits a URL. Returns None if the text is not an absolute URL."""
    try:
        url = urlsplit(text)
        url.port  # noqa: B018  raises ValueError if the port is not a number
    except ValueError:
        return None
    return url if url.scheme and url.hostname else None


def origin_of(text: str) -> str:
    """Returns scheme, host and port of a URL.

    A standard port is left out. Returns "" if the text is not a URL.
    """
    url = split_url(text)
    if url is None or url.hostname is None:
        return ""
    standard = {"http": 80, "https": 443}.get(url.scheme)
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    port = f":{url.port}" if url.port is not None and url.port != standard else ""
    return f"{url.scheme}://{host}{port}"


def plain_base(base: str) -> str:
    """Normalizes a base URL for comparison: no query, no trailing slash, no ``/v1``."""
    url = split_url(base)
    text = (origin_of(base) + url.path if url else base).rstrip("/")
    return text[: -len("/v1")] if text.endswith("/v1") else text


def _bad_url(what: str) -> BadInputError:
    return BadInputError(
        f"Not a ContextRelay pointer URL: {what}.",
        code="bad_url",
        hint="A pointer looks like https://relay.example/pull/0b54a5c3-6a8f-4a63-9d5f-0e6a1c9f8a11.",
    )
