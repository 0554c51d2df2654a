"""Address and API key of a relay, and the rules for retries. This module does not use the network."""

from __future__ import annotations

import math
import os
import random
import re
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Callable, Dict, Iterator, Optional, Set, Tuple, Union
from urllib.parse import quote

from .errors import BadInputError, RelayError, RelayTimeoutError, RelayUnreachableError
from .pointer_url import origin_of, parse_pointer, plain_base, split_url
from .wire import Answer, Call, failure, redirected

LOCAL_RELAY = "http://127.0.0.1:7474"

_FIRST_WAIT = 0.2
#: Longest pause between retries, in seconds. If the relay asks for a longer pause (Retry-After), the call fails
#: without waiting.
_LONGEST_WAIT = 30.0
_PASSING = {408, 425, 429, 502, 503, 504}
_MOST_BASES = 16
#: Default of ``timeout``: maximum seconds that a call takes, including its retries.
TIMEOUT = 60.0
#: Slowest accepted speed of an upload, in bytes per second. The deadline of an upload is extended by the time
#: that it takes at this speed.
_SLOWEST_UPLOAD = 128 * 1000

_block_end: ContextVar[float] = ContextVar("contextrelay_block_end", default=math.inf)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limits the calls in the block to this many seconds, all together."""
    token = _block_end.set(min(_block_end.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _block_end.reset(token)


@dataclass(frozen=True)
class RequestReport:
    """Report of one HTTP request, for ``on_request``."""

    method: str
    #: Path without the query. Anyone who knows the id in the path of a pointer may be able to pull it.
    path: str
    #: 0 for the first request of a call, 1 for its first retry.
    attempt: int
    seconds: float
    #: HTTP status of the answer. None if no answer arrived.
    status: Optional[int] = None
    #: Why the request failed.
    error: Optional[RelayError] = None


class Deadline:
    """The time that a call may still take, with all its attempts and pauses."""

    def __init__(self, seconds: float, upload: int) -> None:
        self.seconds = seconds
        self._begin = time.monotonic()
        self._block_end = _block_end.get()
        self._end = self._begin + seconds + upload / _SLOWEST_UPLOAD

    def only_progress(self) -> None:
        """Removes the deadline of the whole call. From now on, only each wait for the next bytes is limited."""
        self._end = math.inf

    def left(self) -> float:
        """Returns how many seconds the next wait may take. It is 0 or less if the deadline has passed."""
        now = time.monotonic()
        end = now + self.seconds if self._end == math.inf else self._end
        return min(end, self._block_end) - now

    def late(self, base: str) -> RelayTimeoutError:
        """Returns the exception for a call that did not end in time."""
        if self._block_end <= time.monotonic():
            waited = max(0.0, self._block_end - self._begin)
            return RelayTimeoutError(f"No answer from {base} within {waited:.1f} s.")
        return RelayTimeoutError(f"No answer from {base} in time (timeout: {self.seconds:g} s).")


class Connection:
    """Settings for the calls to one relay: address, API key, timeout, retries and ``on_request``.

    Decides where a call is sent, whether an answer is an error, and whether a call is retried. Remembers the other base
    URLs that appear in the relay's pointers.
    """

    def __init__(
        self,
        base_url: Optional[str],
        api_key: Union[str, float, None],
        *,
        timeout: float,
        retries: int,
        agent: Optional[str] = None,
        on_request: Optional[Callable[[RequestReport], object]] = None,
    ) -> None:
        # In contextrelay 0.2.0 of PyPI, the second argument is the timeout. So a number in place of the API key is
        # the timeout.
        if isinstance(api_key, (int, float)):
            url, key, timeout = *_chosen(base_url, None), api_key
        else:
            url, key = _chosen(base_url, api_key)
        self.base = _checked_base(url)
        self.timeout = timeout
        self.retries = retries
        self.on_request = on_request
        self._key = _checked_key(key)
        self._agent = agent or os.environ.get("RELAY_AGENT") or None
        self._bases: Set[str] = {plain_base(self.base)}

    def base_for(self, base: Optional[str]) -> Optional[str]:
        """Returns the base URL at which a pointer is requested. Returns None for the client's own relay."""
        return None if base is None or plain_base(base) in self._bases else base

    def learn(self, url: str) -> None:
        """Remembers the base URL of a pointer that the client's own relay returned.

        This base URL can differ from the configured one. Pointers with this base URL are still requested
        at the configured base URL, so the API key is sent to no new host.
        """
        base = parse_pointer(url).base
        if base is not None and len(self._bases) < _MOST_BASES:
            self._bases.add(plain_base(base))

    def address(self, call: Call) -> Tuple[str, Dict[str, str], bool]:
        """Returns the URL and the headers of a call, and whether a redirect may be followed."""
        base = (call.base or self.base).rstrip("/")
        headers = dict(call.headers)
        own = call.base is None or origin_of(base) == origin_of(self.base)
        if own and self._agent is not None:
            headers["Relay-Agent"] = quote(self._agent, safe="")
        keyed = self._key is not None and own
        if keyed:
            headers["Authorization"] = f"Bearer {self._key}"
        # Follow redirects only for a GET without an API key. Otherwise a redirect could send the API key to
        # another host, or lose the body.
        return base + call.path, headers, not keyed and call.method == "GET"

    def socket(self, path: str) -> Tuple[str, Dict[str, str]]:
        """Returns the URL and the headers for opening a WebSocket."""
        url, headers, _ = self.address(Call("GET", path))
        if self._agent is not None:
            url += ("&" if "?" in url else "?") + "agent=" + quote(self._agent, safe="")
        return "ws" + url[len("http") :], headers

    def checked(self, answer: Answer) -> Answer:
        """Returns the answer if it is a success. Otherwise raises the matching exception."""
        if 200 <= answer.status < 300:
            return answer
        if 300 <= answer.status < 400:
            raise redirected(answer.base)
        raise failure(answer)

    def report(
        self,
        call: Call,
        attempt: int,
        begun: float,
        answer: Optional[Answer],
        error: Optional[RelayError] = None,
    ) -> None:
        """Calls ``on_request``. ``begun``: ``time.monotonic()`` at the start of the request."""
        if self.on_request is not None:
            status = answer.status if answer else error.status if error else None
            seconds = time.monotonic() - begun
            self.on_request(RequestReport(call.method, call.path, attempt, seconds, status, error))

    def deadline(self, call: Call) -> Deadline:
        """Returns the deadline of a call that starts now."""
        return Deadline(self.timeout, len(call.body or b""))

    def wait(self, call: Call, error: RelayError, attempt: int, deadline: Deadline) -> float:
        """Returns the seconds to wait before the next attempt. Raises the error if no further attempt is allowed."""
        retry_after = error.retry_after or 0.0
        if attempt >= self.retries or not call.again or not is_passing(error) or retry_after > _LONGEST_WAIT:
            raise error
        wait = max(retry_after, _FIRST_WAIT * (1 << attempt) * (0.5 + random.random()))
        if wait >= deadline.left():
            raise error
        return wait


def untrusted(base: str) -> RelayUnreachableError:
    """Returns the exception for a certificate that is not trusted."""
    error = RelayUnreachableError(
        f"The certificate of {base} is not trusted.",
        code="untrusted_certificate",
        hint="If you trust it, set the certificate of its issuer: REQUESTS_CA_BUNDLE=/path/to/ca.pem",
    )
    error.final = True
    return error


def no_answer(base: str) -> RelayUnreachableError:
    """Returns the exception for a server that does not answer."""
    hint = "Check the address. To start a relay on this machine: relay up"
    return RelayUnreachableError(f"The relay at {base} does not answer.", hint=hint)


def is_passing(error: BaseException) -> bool:
    """Returns whether a retry may succeed."""
    if isinstance(error, RelayTimeoutError):
        return True
    if isinstance(error, RelayUnreachableError):
        return not error.final
    return isinstance(error, RelayError) and error.status in _PASSING


def _chosen(base_url: Optional[str], api_key: Optional[str]) -> Tuple[str, Optional[str]]:
    """Returns the base URL and the API key. Missing values come from the environment.

    ``CONTEXTRELAY_API_KEY`` belongs to ``CONTEXTRELAY_URL``. If the caller passes a base URL with another
    origin, the API key from the environment is not used.
    """
    env_url = os.environ.get("CONTEXTRELAY_URL") or None
    base = base_url or env_url or LOCAL_RELAY
    if api_key is not None:
        return base, api_key
    elsewhere = env_url is not None and origin_of(env_url) != origin_of(base)
    return base, None if elsewhere else os.environ.get("CONTEXTRELAY_API_KEY")


def _checked_key(key: Optional[str]) -> Optional[str]:
    trimmed = (key or "").strip()
    if trimmed and not re.fullmatch(r"[\x21-\x7e]+", trimmed):
        raise BadInputError(
            "The API key contains characters that are not allowed in a key.",
            hint="A key looks like cr_live_…; check CONTEXTRELAY_API_KEY.",
        )
    return trimmed or None


def _checked_base(text: str) -> str:
    hint = "A base URL looks like https://relay.example.com."
    url = split_url(text.strip())
    if url is None or url.scheme not in ("http", "https"):
        raise BadInputError("The base URL must start with http:// or https://.", hint=hint)
    if url.username or url.password:
        raise BadInputError("The base URL must not contain a user name or password.", hint=hint)
    return origin_of(text.strip()) + url.path.rstrip("/")
