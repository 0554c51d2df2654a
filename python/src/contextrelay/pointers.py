"""Operations on pointers, such as push, pull and peek. Builds the requests, and encrypts and decrypts payloads."""

from __future__ import annotations

import base64
import binascii
import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Sequence, Union
from urllib.parse import quote, unquote
from uuid import uuid4

from .connection import Connection
from .encryption import (
    FERNET_CONTENT_TYPE,
    ChannelKeys,
    channel_key,
    decrypt,
    encrypt,
    generate_key,
    key_check,
    seal_key,
)
from .errors import BadInputError, DecryptError, RelayHTTPError
from .parts import Part, PartRequest, check_can_take, part_of, take_part
from .pointer_url import PointerRef, parse_pointer, pointer_url
from .types import Cost, ReceiptLadder, TokenCount
from .wire import (
    PAYLOAD_BYTES,
    STORED_BYTES,
    Answer,
    Call,
    Flow,
    JsonObject,
    ask,
    get,
    idempotency,
    json_object,
    not_a_relay,
    post,
    tell,
    to_json,
)

#: Maximum size of a payload inside JSON. Escaping makes a text longer, but prose and code stay below three
#: times their size.
_ENVELOPE_BYTES = 3 * STORED_BYTES
#: Maximum number of unfinished pulls whose idempotency keys are remembered.
_MAX_UNFINISHED = 100
#: Maximum number of pointers that one request renews.
_RENEW_BATCH = 100


@dataclass(frozen=True)
class Pushed:
    """A new pointer. The ``url`` of an encrypted payload ends with ``#key=…``."""

    url: str
    id: str
    channel: Optional[str] = None
    #: Time of expiry in ISO 8601, UTC. None if the server does not return it, as the original ContextRelay
    #: server.
    expires_at: Optional[str] = None
    size: Optional[int] = None
    #: ``{"tokens", "tokenizer", "estimated"}``, if the tokens were counted.
    tokens: Optional[TokenCount] = None
    #: Short name of the pointer within the tenant, such as ``relay:128``. None on a relay without handles.
    handle: Optional[str] = None
    #: The most important lines with their numbers, if an excerpt was requested and the relay could make it.
    excerpt: Optional[str] = None


@dataclass(frozen=True)
class Inspected:
    """Description of a pointer. A field is None if the server does not return it."""

    id: str
    metadata: JsonObject
    size: Optional[int] = None
    sha256: Optional[str] = None
    text: Optional[bool] = None
    content_type: Optional[str] = None
    channel: Optional[str] = None
    created_at: Optional[str] = None
    expires_at: Optional[str] = None
    max_pulls: Optional[int] = None
    visibility: Optional[str] = None
    sender: Optional[str] = None
    key_check: Optional[str] = None
    #: How often this client can still pull. All clients share ``max_pulls``. None if the pulls are not limited.
    pulls_left: Optional[int] = None
    #: On a relay with API keys: name of the agent, as its client states it. Nothing verifies it.
    agent: Optional[str] = None
    #: Short name of the pointer within the tenant, such as ``relay:128``.
    handle: Optional[str] = None


class PointerFlows:
    """Operations on pointers."""

    def __init__(self, connection: Connection, channel_keys: Optional[ChannelKeys]) -> None:
        self._connection = connection
        self._channel_keys = channel_keys
        # Maps a pointer id to the idempotency key of its last pull, if that pull has not succeeded yet. The
        # next pull sends the same idempotency key, so the relay does not count it again.
        self._unfinished: OrderedDict[str, str] = OrderedDict()

    def push(
        self,
        data: Union[str, bytes],
        channel: Optional[str] = None,
        encrypted: bool = False,
        metadata: Optional[Mapping[str, Any]] = None,
        *,
        ttl: Optional[int] = None,
        max_pulls: Optional[int] = None,
        visibility: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        content_type: Optional[str] = None,
        count: bool = False,
        excerpt: Optional[int] = None,
    ) -> Flow[str]:
        """Stores a payload of up to 25 MB and returns its URL. The URL of an encrypted payload ends with ``#key=…``.

        ``channel``: channel on which the relay announces the pointer.
        ``encrypted``: encrypt the payload in this client. Only the URL contains the key.
        ``metadata``: dict that :meth:`peek` returns. It is never encrypted.
        The other options are those of :meth:`push_detailed`.
        """
        pushed = yield from self.push_detailed(
            data,
            channel,
            encrypted,
            metadata,
            ttl=ttl,
            max_pulls=max_pulls,
            visibility=visibility,
            idempotency_key=idempotency_key,
            content_type=content_type,
            count=count,
            excerpt=excerpt,
        )
        return pushed.url

    def push_detailed(
        self,
        data: Union[str, bytes],
        channel: Optional[str] = None,
        encrypted: bool = False,
        metadata: Optional[Mapping[str, Any]] = None,
        *,
        ttl: Optional[int] = None,
        max_pulls: Optional[int] = None,
        visibility: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        content_type: Optional[str] = None,
        count: bool = False,
        excerpt: Optional[int] = None,
    ) -> Flow[Pushed]:
        """Stores a payload like :meth:`push` and returns everything the relay answers: id, size, expiry, tokens.

        ``ttl``: seconds until the pointer expires. Default: one day.
        ``max_pulls``: how many times the payload can be pulled.
        ``visibility``: ``link`` (anyone with the URL can pull it) or ``tenant`` (an API key of the tenant is required).
        ``idempotency_key``: repeated pushes with the same key and the same content create one pointer.
        ``content_type``: media type of the payload.
        ``count``: count the tokens of the payload.
        ``excerpt``: also return an excerpt of at most this many tokens: the most important lines with their numbers.
        The relay makes it, so an encrypted payload gets none.
        """
        if metadata is not None and not isinstance(metadata, Mapping):
            raise TypeError("metadata must be a dict")
        body = _bytes_of(data)
        if len(body) > PAYLOAD_BYTES:
            raise BadInputError(
                f"The payload has {len(body)} bytes; the limit is {PAYLOAD_BYTES}.",
                code="too_large",
                hint="Split it, or compress it.",
            )
        options: Dict[str, object] = {
            "channel": channel,
            "metadata": None if metadata is None else dict(metadata),
            "ttl": ttl,
            "max_pulls": max_pulls,
            "visibility": visibility,
            "content_type": content_type,
        }
        key = generate_key() if encrypted else None
        text: Optional[str] = data if isinstance(data, str) else None
        if key is not None:
            text = encrypt(key, body).decode("ascii")
            shared = channel_key(self._channel_keys, channel) if channel else None
            options["content_type"] = FERNET_CONTENT_TYPE
            options["key_check"] = key_check(key)
            options["sealed_key"] = seal_key(shared, key) if shared else None
        # The relay sees only the ciphertext, so its count and its excerpt would be wrong.
        query = {"count": count and not encrypted, "excerpt": None if encrypted else excerpt}
        answer = yield from ask(_push_call(text, body, options, query, idempotency(idempotency_key)))
        url, pointer_id = answer.get("url"), answer.get("id")
        if not isinstance(url, str) or not isinstance(pointer_id, str):
            raise not_a_relay(self._connection.base, "it returned no pointer")
        self._connection.learn(url)
        if key is not None:
            url = pointer_url(parse_pointer(url).base or self._connection.base, pointer_id, key)
        names = ("channel", "expires_at", "size", "tokens", "handle", "excerpt")
        details = {name: answer.get(name) for name in names}
        return Pushed(url, pointer_id, **details)

    def pull_bytes(self, url: str) -> Flow[bytes]:
        """Returns the payload as bytes. It is decrypted if the URL contains an encryption key."""
        ref = parse_pointer(url)
        yield from self._check_key(ref, url)
        idempotency_key = self._unfinished.pop(ref.id, None) or str(uuid4())
        self._unfinished[ref.id] = idempotency_key
        if len(self._unfinished) > _MAX_UNFINISHED:
            self._unfinished.popitem(last=False)
        headers = {"Accept": "application/octet-stream", **idempotency(idempotency_key)}
        if ref.key is None:
            headers["Relay-Keyless"] = "1"
        base = self._connection.base_for(ref.base)
        answer = yield Call("GET", f"/pull/{ref.id}", headers=headers, base=base, most=_ENVELOPE_BYTES)
        stored = answer.body if _is_ours(answer) else _envelope(answer)
        if ref.key is None and _decoded(answer, "relay-content-type") == FERNET_CONTENT_TYPE:
            raise DecryptError(
                code="key_missing", hint="Ask the sender for the whole URL. It ends with #key=…."
            )
        body = stored if ref.key is None else decrypt(ref.key, stored)
        self._unfinished.pop(ref.id, None)
        return body

    def pull(
        self,
        url: str,
        *,
        lines: Optional[str] = None,
        grep: Optional[str] = None,
        json: Optional[str] = None,
        outline: bool = False,
        context: Optional[int] = None,
        ignore_case: bool = False,
        question: Optional[str] = None,
    ) -> Flow[str]:
        """Returns the payload as text, decrypted if the URL contains a key.

        To get only a part, pass one of ``lines="10-40"``, ``grep="error"``, ``json="/users/0"``, ``outline=True`` and
        ``question="which test failed?"``. With ``grep``, ``context`` is the number of lines around each match.
        """
        part = part_of(lines, grep, json, outline, context, ignore_case, question)
        if part is not None:
            return (yield from self.pull_part(url, part)).text
        body = yield from self.pull_bytes(url)
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            hint = "Use pull_bytes."
            raise BadInputError("The payload is not text.", code="not_text", hint=hint) from None

    def pull_part(self, url: str, part: PartRequest) -> Flow[Part]:
        """Returns a part of a payload, with the position of the part.

        An outline, or a search without a match, does not count as a pull. An encrypted payload differs: the client
        pulls all of it and cuts the part itself. If its pointer has ``max_pulls``, a search without a match uses one
        pull, and the next pull is free. Raises BadInputError for an outline or a question about an encrypted payload.
        """
        ref = parse_pointer(url)
        base = self._connection.base_for(ref.base)
        if ref.key is not None:
            # The relay cannot read an encrypted payload, so pull all of it and cut the part here.
            check_can_take(part)
            info = yield from self._check_key(ref, url)
            if info is None or info.pulls_left is None:
                return take_part((yield from self.pull(url)), part)
            headers = {"Accept": "application/octet-stream", "Relay-Look": "1"}
            answer = yield Call("GET", f"/pull/{ref.id}", headers=headers, base=base, most=_ENVELOPE_BYTES)
            cut_part = take_part(decrypt(ref.key, answer.body).decode("utf-8", "replace"), part)
            if not part.outline and not (part.grep is not None and cut_part.text == ""):
                # ``Relay-Look`` above has only reserved a pull. Pull one byte to use it up.
                headers = {"Accept": "application/octet-stream", "Range": "bytes=0-0", **idempotency()}
                yield Call("GET", f"/pull/{ref.id}", headers=headers, base=base)
            return cut_part
        headers = {**idempotency(), "Relay-Keyless": "1"}
        answer = yield Call("GET", f"/pull/{ref.id}", part.query(), headers, base=base, most=_ENVELOPE_BYTES)
        about = _decoded(answer, "relay-part")
        if about is None:
            # The original ContextRelay server ignores the part request and returns the whole payload. So cut
            # the part here.
            return take_part(_envelope(answer).decode("utf-8", "replace"), part)
        text = answer.body.decode("utf-8")
        return Part(text, about, answer.headers.get("relay-truncated") == "1")

    def cost(self, url: str, part: Optional[PartRequest] = None) -> Flow[Cost]:
        """Returns how many tokens a payload, or a part of it, would cost a model.

        The result is ``{"tokens", "tokenizer", "estimated", "bytes"}``. Raises BadInputError for an encrypted payload.
        """
        ref = parse_pointer(url)
        if ref.key is not None:
            raise BadInputError(
                "The relay cannot read an encrypted payload, and this client has no tokenizer to count it.",
                hint="Run: relay pull <url> --cost",
            )
        query = {**(part.query() if part else {}), "cost": True}
        base = self._connection.base_for(ref.base)
        cost: Cost = yield from ask(Call("GET", f"/pull/{ref.id}", query, base=base))
        return cost

    def peek(self, url: str) -> Flow[JsonObject]:
        """Returns the metadata of a pointer.

        A peek does not read the payload and does not count as a pull.
        """
        return (yield from self.inspect(url)).metadata

    def inspect(self, url: str) -> Flow[Inspected]:
        """Returns metadata, size, expiry and sender of a pointer without pulling the payload."""
        ref = parse_pointer(url)
        answer = yield Call("GET", f"/peek/{ref.id}", base=self._connection.base_for(ref.base))
        return _described(answer, ref.id)

    def delete(self, url: str) -> Flow[None]:
        """Deletes a pointer and its payload immediately."""
        ref = parse_pointer(url)
        base = self._connection.base_for(ref.base)
        return tell(Call("DELETE", f"/pull/{ref.id}", repeatable=True, base=base))

    def renew(self, urls: Sequence[str], *, ttl: Optional[float] = None) -> Flow[Dict[str, str]]:
        """Extends the expiry of pointers of this relay to at least ``ttl`` seconds from now.

        Without ``ttl``, extends it to the maximum of the relay. Returns the new expiry by pointer id, for
        the pointers that exist.
        """
        ids = [parse_pointer(url).id for url in urls]
        expiries: Dict[str, str] = {}
        for at in range(0, len(ids), _RENEW_BATCH):
            value: JsonObject = {"ids": ids[at : at + _RENEW_BATCH], **({} if ttl is None else {"ttl": ttl})}
            answer = yield from ask(post("/pointers/renew", value, repeatable=True))
            expiries.update((each["id"], each["expires_at"]) for each in answer["pointers"])
        return expiries

    def receipts(self, url: str) -> Flow[ReceiptLadder]:
        """Returns the receipts of a pointer: who was notified, and who pulled, acknowledged or answered it."""
        ref = parse_pointer(url)
        call = get(f"/pull/{ref.id}/receipts")
        return ask(Call(call.method, call.path, base=self._connection.base_for(ref.base)))

    def _check_key(self, ref: PointerRef, url: str) -> Flow[Optional[Inspected]]:
        """Checks the encryption key before the pull, so that a wrong key does not use up a pull.

        Raises DecryptError if the key does not match the key check of the sender. Returns the result of the
        peek, or None if there was none.
        """
        if ref.key is None:
            return None
        check = key_check(ref.key)
        try:
            info = yield from self.inspect(url)
        except RelayHTTPError as error:
            # The server may not support peek. Then the pull reports what is wrong.
            if error.status in (404, 405):
                return None
            raise
        if info.key_check is not None and info.key_check != check:
            raise DecryptError()
        return info


def _push_call(
    text: Optional[str],
    body: bytes,
    options: Mapping[str, object],
    query: Mapping[str, object],
    headers: Mapping[str, str],
) -> Call:
    """Builds the push call.

    Text is sent inside JSON, which every version of the relay accepts. Bytes are the raw body.
    """
    present = {name: value for name, value in options.items() if value is not None}
    if text is not None:
        json_type = {"Content-Type": "application/json; charset=utf-8"}
        return Call("POST", "/push", query, {**headers, **json_type}, to_json({"data": text, **present}))
    options_in_query: Dict[str, object] = {
        name: present[name] for name in ("channel", "ttl", "max_pulls", "visibility") if name in present
    }
    raw = {**headers, "Content-Type": "application/octet-stream"}
    raw["Relay-Content-Type"] = quote(str(present.get("content_type", "")), safe="")
    if "metadata" in present:
        raw["Relay-Metadata"] = base64.urlsafe_b64encode(to_json(present["metadata"])).decode().rstrip("=")
    return Call("POST", "/push", {**query, **options_in_query}, raw, body)


def _bytes_of(data: Union[str, bytes, bytearray, memoryview]) -> bytes:
    if isinstance(data, str):
        try:
            return data.encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadInputError(f"The text cannot be encoded as UTF-8: {error.reason}.") from error
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    raise TypeError("data must be a str or bytes")


def _is_ours(answer: Answer) -> bool:
    return "relay-size" in answer.headers and "relay-expires-at" in answer.headers


def _envelope(answer: Answer) -> bytes:
    """Reads a payload from ``{data, metadata}``, the answer of the original ContextRelay server.

    An even older server answers with the payload itself.
    """
    try:
        envelope = json.loads(answer.body)
    except ValueError:
        return answer.body
    if not isinstance(envelope, dict) or not isinstance(envelope.get("data"), str):
        return answer.body
    if envelope.get("encoding") != "base64":
        return str(envelope["data"]).encode("utf-8")
    try:
        return base64.b64decode(envelope["data"], validate=True)
    except binascii.Error:
        raise not_a_relay(answer.base, "its payload is not valid base64") from None


def _described(answer: Answer, pointer_id: str) -> Inspected:
    metadata = json_object(answer)
    if not _is_ours(answer):
        return Inspected(pointer_id, metadata)
    text = answer.headers
    return Inspected(
        id=text.get("relay-id", pointer_id),
        metadata=metadata,
        size=_whole(text.get("relay-size")),
        sha256=text.get("relay-sha256"),
        text=text.get("relay-text") == "1",
        content_type=_decoded(answer, "relay-content-type"),
        channel=_decoded(answer, "relay-channel"),
        created_at=text.get("relay-created-at"),
        expires_at=text.get("relay-expires-at"),
        max_pulls=_whole(text.get("relay-max-pulls")),
        visibility=text.get("relay-visibility"),
        sender=_decoded(answer, "relay-from"),
        key_check=text.get("relay-key-check"),
        pulls_left=_whole(text.get("relay-pulls-left")),
        agent=_decoded(answer, "relay-agent"),
        handle=text.get("relay-handle"),
    )


def _decoded(answer: Answer, name: str) -> Optional[str]:
    value = answer.headers.get(name)
    return unquote(value) if value else None


def _whole(text: Optional[str]) -> Optional[int]:
    return int(text) if text is not None and text.isdigit() else None
