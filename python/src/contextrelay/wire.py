"""Requests and answers as plain values. This module does not use the network.

Each operation of the client is written once, as a generator (a *flow*) that yields a :class:`Call` and receives an
:class:`Answer`. The blocking and the asynchronous client run the flows with their own HTTP library. :func:`blocking` and
:func:`awaited` turn a flow into a method.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Dict, Generator, Mapping, Optional, TypeVar
from urllib.parse import quote
from uuid import uuid4

import requests

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

#: Maximum size of a payload.
PAYLOAD_BYTES = 25 * 1024 * 1024
#: Maximum size of an encrypted payload: base64 adds a third.
STORED_BYTES = PAYLOAD_BYTES * 4 // 3 + 1024
#: Default maximum size of an answer. A page of a list fits. Calls that return artifacts or files set a higher
#: maximum.
ANSWER_BYTES = 16 * 1024 * 1024
#: Maximum size of an artifact or a file.
BODY_BYTES = 50 * 1024 * 1024
#: Size in bytes above which an answer may take longer than the timeout, as long as bytes arrive.
_LARGE_BYTES = 1024 * 1024
_ERROR_CHARS = 500


@dataclass(frozen=True)
class Call:
    """A request to a relay."""

    method: str
    #: Path below the base URL, with a leading slash.
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Optional[bytes] = None
    #: True if the call may be sent again after a failure. GET calls and calls with an Idempotency-Key always
    #: may.
    repeatable: bool = False
    #: Base URL of another relay. That relay receives the API key only if it has the same origin as the
    #: client's own relay.
    base: Optional[str] = None
    #: Maximum size of the answer in bytes.
    most: int = ANSWER_BYTES
    #: Seconds to wait before the call is sent.
    delay: float = 0.0

    @property
    def again(self) -> bool:
        """True if the call may be sent again after a failure."""
        return self.repeatable or self.method in ("GET", "HEAD") or "Idempotency-Key" in self.headers

    def is_large(self, length: Optional[str]) -> bool:
        """Returns whether the answer is large. ``length`` is its Content-Length."""
        if length is not None and length.isdigit():
            return int(length) > _LARGE_BYTES
        return self.most > ANSWER_BYTES

    @property
    def parameters(self) -> Dict[str, str]:
        """The query parameters. None and False are left out. True becomes 1."""
        present = {
            name: value for name, value in self.query.items() if value is not None and value is not False
        }
        return {name: "1" if value is True else str(value) for name, value in present.items()}


@dataclass(frozen=True)
class Answer:
    """The answer to a call."""

    status: int
    #: Headers with names in lower case.
    headers: Mapping[str, str]
    body: bytes
    #: Base URL of the server that answered. It is used in error messages.
    base: str


Flow = Generator[Call, Answer, T]


def blocking(flow: Callable[Concatenate[Any, P], Flow[T]]) -> Callable[Concatenate[Any, P], T]:
    """Returns a method that runs a flow of ``self._flows`` and returns the result of the flow."""

    @functools.wraps(flow)
    def method(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
        return self._transport.run(flow(self._flows, *args, **options))  # type: ignore[no-any-return]

    return method


def awaited(
    flow: Callable[Concatenate[Any, P], Flow[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Returns the asynchronous form of the method that :func:`blocking` returns."""

    @functools.wraps(flow)
    async def method(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
        return await self._transport.run(flow(self._flows, *args, **options))  # type: ignore[no-any-return]

    return method


class Operations:
    """Base of the groups of methods that a client has, such as ``relay.threads``."""

    _flows: Any

    def __init__(self, transport: Any) -> None:
        self._transport = transport


def ask(call: Call) -> Flow[Any]:
    """Sends a call and returns the JSON object in the answer. The caller declares the type of the object."""
    answer = yield call
    return json_object(answer)


def tell(call: Call) -> Flow[None]:
    """Sends a call and ignores the body of the answer."""
    yield call


def get(path: str, **query: object) -> Call:
    """Builds a GET call."""
    return Call("GET", path, query)


def post(path: str, value: object, *, key: Optional[str] = None, **more: Any) -> Call:
    """Builds a POST call with a JSON body.

    ``key`` is sent as the Idempotency-Key header. With ``key=""``, an idempotency key is generated.
    """
    headers = {"Content-Type": "application/json; charset=utf-8", **more.pop("headers", {})}
    if key is not None:
        headers.update(idempotency(key))
    return Call("POST", path, headers=headers, body=to_json(value), **more)


def idempotency(key: Optional[str] = None) -> Dict[str, str]:
    """Returns the Idempotency-Key header. Generates an idempotency key if there is none."""
    if key and not re.fullmatch(r"[\x21-\x7e]+", key):
        raise BadInputError("An idempotency key must be printable ASCII without spaces.")
    return {"Idempotency-Key": key or str(uuid4())}


def segment(name: str) -> str:
    """Encodes a name as one segment of a path."""
    return quote(name, safe="")


def to_json(value: object) -> bytes:
    """Encodes a value as JSON. Raises BadInputError if JSON cannot represent it."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise BadInputError(f"The value cannot be sent as JSON: {error}.") from error


def json_object(answer: Answer) -> JsonObject:
    """Returns the JSON object of an answer."""
    try:
        value = json.loads(answer.body)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    raise not_a_relay(answer.base, "it did not answer in JSON")


def not_a_relay(base: str, what: str) -> RelayUnreachableError:
    """Returns the exception for a server that answers but is not a relay.

    The exception is marked as final, because a retry cannot help.
    """
    error = RelayUnreachableError(
        f"The server at {base} is not a relay: {what}.",
        hint="Check the address: CONTEXTRELAY_URL, or the host in the pointer.",
    )
    error.final = True
    return error


def failure(answer: Answer) -> RelayError:
    """Converts an error answer to an exception. The HTTP status determines the class of the exception.

    If the answer is not from a relay, the HTTP status also determines the error code and the message.
    """
    try:
        body = json.loads(answer.body)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {}
    message = _plain(body.get("error")) or f"{answer.base} answered with HTTP status {answer.status}."
    kind = {404: NotFoundError, 409: ConflictError, 412: ConflictError}.get(answer.status, RelayHTTPError)
    code = body.get("code")
    error = kind(
        message,
        code=code if isinstance(code, str) else {404: "not_found", 409: "conflict"}.get(answer.status),
        hint=_plain(body.get("hint")),
        status=answer.status,
    )
    wait = answer.headers.get("retry-after", "")
    error.retry_after = float(wait) if re.fullmatch(r"\d{1,9}", wait) else None
    error.response = _response(answer)
    return error


def _response(answer: Answer) -> requests.Response:
    """Converts the answer to a response of ``requests``, for programs that read ``error.response.status_code``."""
    response = requests.Response()
    response.status_code = answer.status
    response.headers.update(answer.headers)
    response._content = answer.body
    response.url = answer.base
    return response


def redirected(base: str) -> BadInputError:
    """Returns the exception for a redirect that was not followed."""
    return BadInputError(
        f"{base} redirects. The redirect was not followed, because it could send the key or the payload to another host.",
        hint="If you trust the new address, use it as the base URL.",
    )


def _plain(text: object) -> str:
    """Removes control characters and limits the length.

    The text may come from an untrusted server and may be printed in a terminal.
    """
    if not isinstance(text, str):
        return ""
    clean = re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text)
    return clean if len(clean) <= _ERROR_CHARS else clean[:_ERROR_CHARS] + "…"
