"""Fernet encryption, compatible with all other ContextRelay clients.

Encryption keys are never sent to the relay.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Callable, Mapping, Optional, Union

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .errors import BadInputError, DecryptError
from .pointer_url import with_key

#: Content type of a payload that a client encrypted. With it, a pull without the key can report the missing
#: key.
FERNET_CONTENT_TYPE = "application/vnd.contextrelay.fernet"

#: Encryption keys of channels. The senders and subscribers of a channel share one key. The value is a mapping from
#: channel name to key, or a function that returns the key of a channel.
ChannelKeys = Union[Mapping[str, str], Callable[[str], Optional[str]]]

_TOKEN = re.compile(rb"(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?")


def generate_key() -> str:
    """Generates a new encryption key: 32 random bytes in URL-safe base64."""
    return Fernet.generate_key().decode("ascii")


def encrypt(key: str, data: bytes) -> bytes:
    """Encrypts data into a Fernet token."""
    return Fernet(_checked(key)).encrypt(data)


#: Hint for a payload that cannot be decrypted.
_WHOLE_URL = "Use the whole URL as you received it, with everything after #key=."


def decrypt(key: str, token: bytes) -> bytes:
    """Decrypts a Fernet token. Does not check its age.

    Raises DecryptError if the token was changed, or if it was made with another key.
    """
    # Base64 of the standard library skips invalid characters. Reject them here, so that a token has only one
    # form.
    if not _TOKEN.fullmatch(token):
        raise DecryptError(hint=_WHOLE_URL)
    try:
        return Fernet(_checked(key)).decrypt(token)
    except InvalidToken:
        raise DecryptError(hint=_WHOLE_URL) from None


def key_check(key: str) -> str:
    """Returns a check value: eight bytes that are derived from an encryption key, as hex.

    It is stored unencrypted with the payload, so that a wrong key is detected before a pull.
    """
    hkdf = HKDF(algorithm=SHA256(), length=8, salt=None, info=b"contextrelay key check")
    return hkdf.derive(base64.urlsafe_b64decode(_checked(key))).hex()


def channel_key(keys: Optional[ChannelKeys], channel: str) -> Optional[str]:
    """Returns the shared encryption key of a channel, or None if there is none.

    Raises if the key is malformed.
    """
    key = keys(channel) if callable(keys) else (keys or {}).get(channel)
    if key is not None:
        _checked(key)
    return key


def seal_key(shared: str, payload_key: str) -> str:
    """Encrypts the encryption key of a payload with the encryption key of a channel."""
    return encrypt(shared, payload_key.encode("ascii")).decode("ascii")


def unsealed_url(url: str, sealed_key: Optional[str], shared: Optional[str]) -> str:
    """Decrypts the payload key and appends it to the URL.

    Without the right channel key, returns the URL unchanged.
    """
    if not sealed_key or not shared:
        return url
    try:
        return with_key(url, decrypt(shared, sealed_key.encode("ascii", "replace")).decode("ascii"))
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
        raise BadInputError("The key consists only of zero bytes, so it is not secret.", code="bad_key")
    return base64.urlsafe_b64encode(raw)
