"""Fernet, as every other client of the relay has it. Keys never leave this side."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Callable, Mapping, Optional, Union

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .errors import BadInputError, DecryptError

#: What a payload that was encrypted by a client is stored as, so that a pull without its key can say what is missing.
FERNET_CONTENT_TYPE = "application/vnd.contextrelay.fernet"

#: Keys that sender and subscribers of a channel share, by channel, or a function that finds them.
ChannelKeys = Union[Mapping[str, str], Callable[[str], Optional[str]]]

_TOKEN = re.compile(rb"(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?")


def generate_key() -> str:
    return Fernet.generate_key().decode("ascii")


def encrypt(key: str, data: bytes) -> bytes:
    return Fernet(_checked(key)).encrypt(data)


def decrypt(key: str, token: bytes) -> bytes:
    """Refuses whatever was not made, whole and unchanged, with this key. The age of a token does not count."""
    # Only one spelling of a token is one; base64 of the standard library would skip what is no part of the alphabet.
    if not _TOKEN.fullmatch(token):
        raise DecryptError()
    try:
        return Fernet(_checked(key)).decrypt(token)
    except InvalidToken:
        raise DecryptError() from None


def key_check(key: str) -> str:
    """Eight bytes derived from a key, stored in the open: they tell a wrong key before anything is pulled."""
    hkdf = HKDF(algorithm=SHA256(), length=8, salt=None, info=b"contextrelay key check")
    return hkdf.derive(base64.urlsafe_b64decode(_checked(key))).hex()


def channel_key(keys: Optional[ChannelKeys], channel: str) -> Optional[str]:
    """The key shared on this channel, None where there is none."""
    found = keys(channel) if callable(keys) else (keys or {}).get(channel)
    if found is not None:
        _checked(found)
    return found


def seal_key(shared: str, payload_key: str) -> str:
    """The key of a payload, readable only for who has the channel's key."""
    return encrypt(shared, payload_key.encode("ascii")).decode("ascii")


def unsealed_url(url: str, sealed_key: Optional[str], shared: Optional[str]) -> str:
    """The URL with the payload's key behind it, where we share the key it was sealed with; else as it is."""
    if not sealed_key or not shared:
        return url
    try:
        return f"{url}#key={decrypt(shared, sealed_key.encode('ascii', 'replace')).decode('ascii')}"
    except DecryptError:
        return url


def _checked(key: str) -> bytes:
    try:
        raw = base64.urlsafe_b64decode(key.rstrip("=") + "=" * (-len(key.rstrip("=")) % 4))
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 32:
        raise DecryptError(code="bad_key", hint="A key has 44 characters of URL-safe base64.")
    if not any(raw):
        raise BadInputError("The key is nothing but zeros, which everybody knows.", code="bad_key")
    return base64.urlsafe_b64encode(raw)
