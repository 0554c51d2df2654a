"""Address and API key of a relay, and the rules for retries. This module does not use the network."""

from __future__ import annotations

import os
import random
import re
from typing import Dict, Optional, Set, Tuple
from urllib.parse import quote

from .errors import BadInputError, RelayError, RelayTimeoutError, RelayUnreachableError
from .pointer_url import origin_of, parse_pointer, plain_base, split_url
from .wire import Answer, Call, failure, redirected

LOCAL_RELAY = "http://127.0.0.1:7474"

_FIRST_WAIT = 0.2
#: Longest pause between retries, in seconds. If the relay asks for a longer one (Retry-After), the call fails
#: at once.
_LONGEST_WAIT = 30.0
_PASSING = {408, 425, 429, 502, 503, 504}
_MOST_BASES = 16


class Connection:
    """Address and API key of one relay, with the other base URLs that appear in its pointers."""

    def __init__(
        self,
        base_url: Optional[str],
        api_key: Optional[str],
        *,
        timeout: float,
        retries: int,
        agent: Optional[str] = None,
    ) -> None:
        url, key = _chosen(base_url, api_key)
        self.base = _checked_base(url)
        self.timeout = timeout
        self.retries = retries
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
        own = origin_of(base) == origin_of(self.base)
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

    def wait(self, call: Call, error: RelayError, attempt: int) -> float:
        """Returns the seconds to wait before the next attempt. Raises the error if no further attempt is allowed."""
        retry_after = error.retry_after or 0.0
        if attempt >= self.retries or not call.again or not is_passing(error) or retry_after > _LONGEST_WAIT:
            raise error
        return max(retry_after, _FIRST_WAIT * (1 << attempt) * (0.5 + random.random()))


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
    named = os.environ.get("CONTEXTRELAY_URL") or None
    base = base_url or named or LOCAL_RELAY
    if api_key is not None:
        return base, api_key
    elsewhere = named is not None and origin_of(named) != origin_of(base)
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
