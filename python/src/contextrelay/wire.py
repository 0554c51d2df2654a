"""A request and its answer as plain values, without a network.

What the client does is written once, as generators that yield a :class:`Call` and are sent an :class:`Answer`. The
blocking client and the asynchronous one drive them over their own HTTP library: :func:`blocking` and :func:`awaited`
make their methods.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Dict, Generator, Mapping, Optional, TypeVar
from urllib.parse import quote
from uuid import uuid4

from .errors import (
    BadInputError,
    ConflictError,
    NotFoundError,
    RelayError,
    RelayHTTPError,
    RelayUnreachableError,
)

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")
JsonObject = Dict[str, Any]

#: The largest payload, before it is encrypted, and what is stored of it then: base64 adds a third.
PAYLOAD_BYTES = 25 * 1024 * 1024
STORED_BYTES = PAYLOAD_BYTES * 4 // 3 + 1024
#: A page of a list with all it says; artifacts and files are larger and say so.
ANSWER_BYTES = 16 * 1024 * 1024
#: The largest artifact and the largest file.
BODY_BYTES = 50 * 1024 * 1024
_ERROR_CHARS = 500


@dataclass(frozen=True)
class Call:
    method: str
    #: Begins with a slash; goes behind the base URL.
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Optional[bytes] = None
    #: May be sent again after a failure. What has an Idempotency-Key always may.
    repeatable: bool = False
    #: Another relay than our own: it is not given our API key, unless it has the same origin.
    base: Optional[str] = None
    #: The most bytes that an answer may have.
    most: int = ANSWER_BYTES

    @property
    def again(self) -> bool:
        return self.repeatable or self.method in ("GET", "HEAD") or "Idempotency-Key" in self.headers

    @property
    def parameters(self) -> Dict[str, str]:
        """The query without what was left out; what is true is 1."""
        said = {name: value for name, value in self.query.items() if value is not None and value is not False}
        return {name: "1" if value is True else str(value) for name, value in said.items()}


@dataclass(frozen=True)
class Answer:
    status: int
    #: Names in lower case.
    headers: Mapping[str, str]
    body: bytes
    #: Who answered, for messages.
    base: str


Flow = Generator[Call, Answer, T]


def blocking(flow: Callable[Concatenate[Any, P], Flow[T]]) -> Callable[Concatenate[Any, P], T]:
    """Makes a method that runs a method of ``self._flows`` and returns its result."""

    @functools.wraps(flow)
    def method(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
        return self._transport.run(flow(self._flows, *args, **options))  # type: ignore[no-any-return]

    return method


def awaited(
    flow: Callable[Concatenate[Any, P], Flow[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Makes the same method as :func:`blocking`, to be awaited."""

    @functools.wraps(flow)
    async def method(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
        return await self._transport.run(flow(self._flows, *args, **options))  # type: ignore[no-any-return]

    return method


def ask(call: Call) -> Flow[JsonObject]:
    """A call that answers a JSON object."""
    answer = yield call
    return json_object(answer)


def tell(call: Call) -> Flow[None]:
    """A call that answers nothing."""
    yield call


def get(path: str, **query: object) -> Call:
    return Call("GET", path, query)


def post(path: str, value: object, *, key: Optional[str] = None, **more: Any) -> Call:
    """JSON, under an Idempotency-Key where the route takes one: ``key=""`` makes one up."""
    headers = {"Content-Type": "application/json; charset=utf-8", **more.pop("headers", {})}
    if key is not None:
        headers.update(idempotency(key))
    return Call("POST", path, headers=headers, body=to_json(value), **more)


def idempotency(key: Optional[str] = None) -> Dict[str, str]:
    if key and not re.fullmatch(r"[\x21-\x7e]+", key):
        raise BadInputError("An idempotency key has printable ASCII characters and no spaces.")
    return {"Idempotency-Key": key or str(uuid4())}


def segment(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")


def to_json(value: object) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise BadInputError(f"It cannot be sent as JSON: {error}.") from error


def json_object(answer: Answer) -> JsonObject:
    try:
        found = json.loads(answer.body)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    raise not_a_relay(answer.base, "it did not answer in JSON")


def not_a_relay(base: str, what: str) -> RelayUnreachableError:
    error = RelayUnreachableError(
        f"What answers at {base} is not a relay: {what}.",
        hint="Check the address: CONTEXTRELAY_URL, or the host in the pointer.",
    )
    error.final = True
    return error


def failure(answer: Answer) -> RelayError:
    """What a relay answered with, as an exception; what something else answered, by its status."""
    try:
        told = json.loads(answer.body)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        told = {}
    message = _plain(told.get("error")) or f"{answer.base} answered with HTTP status {answer.status}."
    kind = {404: NotFoundError, 409: ConflictError, 412: ConflictError}.get(answer.status, RelayHTTPError)
    code = told.get("code")
    error = kind(
        message,
        code=code if isinstance(code, str) else {404: "not_found", 409: "conflict"}.get(answer.status),
        hint=_plain(told.get("hint")),
        status=answer.status,
    )
    wait = answer.headers.get("retry-after", "")
    error.retry_after = float(wait) if re.fullmatch(r"\d{1,9}", wait) else None
    return error


def redirected(base: str) -> BadInputError:
    return BadInputError(
        f"{base} redirects, which was not followed: the key and the payload go to no other place.",
        hint="Use the address it redirects to as the base URL, if it is yours.",
    )


def _plain(text: object) -> str:
    """It may be shown in a terminal, and whoever wrote it may be a stranger."""
    if not isinstance(text, str):
        return ""
    clean = re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text)
    return clean if len(clean) <= _ERROR_CHARS else clean[:_ERROR_CHARS] + "…"
