"""Pointers as text: ``https://host/pull/<uuid>#key=…``, or a bare id."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional
from urllib.parse import SplitResult, unquote, urlsplit

from .errors import BadInputError

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PULL = re.compile(r"(.*)/pull/([^/]+)/?")


@dataclass(frozen=True)
class PointerRef:
    id: str
    #: ``https://host`` with any path in front of ``/pull/``; None where only an id was given.
    base: Optional[str]
    #: The Fernet key from the fragment. It never travels to a server.
    key: Optional[str]


def pointer_url(base: str, pointer_id: str, key: Optional[str] = None) -> str:
    return f"{base.rstrip('/')}/pull/{pointer_id}" + (f"#key={key}" if key else "")


def parse_pointer(text: str) -> PointerRef:
    trimmed = text.strip()
    if _UUID.fullmatch(trimmed):
        return PointerRef(trimmed.lower(), None, None)
    url = split_url(trimmed)
    if url is None:
        raise _bad_url("it is neither a URL nor an id")
    if url.scheme not in ("http", "https"):
        raise _bad_url(f"{url.scheme}: is not http: or https:")
    match = _PULL.fullmatch(url.path)
    if not match or not _UUID.fullmatch(match[2]):
        raise _bad_url("its path does not end in /pull/<uuid>")
    key = unquote(url.fragment[len("key=") :]) if url.fragment.startswith("key=") else None
    return PointerRef(match[2].lower(), origin_of(trimmed) + match[1], key)


def split_url(text: str) -> Optional[SplitResult]:
    """None where it is no absolute URL."""
    try:
        url = urlsplit(text)
        url.port  # noqa: B018  raises where it is no number
    except ValueError:
        return None
    return url if url.scheme and url.hostname else None


def origin_of(text: str) -> str:
    """Scheme, host and port, the standard port left out. Empty where it is no URL, so that nothing equals it."""
    url = split_url(text)
    if url is None or url.hostname is None:
        return ""
    standard = {"http": 80, "https": 443}.get(url.scheme)
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    port = f":{url.port}" if url.port is not None and url.port != standard else ""
    return f"{url.scheme}://{host}{port}"


def plain_base(base: str) -> str:
    """As it stands in a pointer; the routes under ``/v1`` are the same ones."""
    url = split_url(base)
    text = (origin_of(base) + url.path if url else base).rstrip("/")
    return text[: -len("/v1")] if text.endswith("/v1") else text


def _bad_url(what: str) -> BadInputError:
    return BadInputError(
        f"Not a ContextRelay pointer URL: {what}.",
        code="bad_url",
        hint="It looks like https://relay.example/pull/0b54a5c3-6a8f-4a63-9d5f-0e6a1c9f8a11.",
    )
