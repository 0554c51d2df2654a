"""Where the relay is, who may know the API key, and when to ask again. No network."""

from __future__ import annotations

import os
import random
import re
from typing import Dict, Optional, Set, Tuple

from .errors import BadInputError, RelayError, RelayTimeoutError, RelayUnreachableError
from .pointer_url import origin_of, parse_pointer, plain_base, split_url
from .wire import Answer, Call, failure, redirected

LOCAL_RELAY = "http://127.0.0.1:7474"

_FIRST_WAIT = 0.2
#: Told to wait longer, it is better to say so at once.
_LONGEST_WAIT = 30.0
_PASSING = {408, 425, 429, 502, 503, 504}
_MOST_BASES = 16


class Connection:
    """One relay: its address, its key, and the other names under which its pointers are known."""

    def __init__(
        self, base_url: Optional[str], api_key: Optional[str], *, timeout: float, retries: int
    ) -> None:
        url, key = _chosen(base_url, api_key)
        self.base = _checked_base(url)
        self.timeout = timeout
        self.retries = retries
        self._key = _checked_key(key)
        self._bases: Set[str] = {plain_base(self.base)}

    def base_for(self, base: Optional[str]) -> Optional[str]:
        """None where our own relay is to be asked; else whom."""
        return None if base is None or plain_base(base) in self._bases else base

    def learn(self, url: str) -> None:
        """Our relay may give out pointers under a public address. They are still asked for at the base URL, so that what is
        learnt here sends the key nowhere new."""
        base = parse_pointer(url).base
        if base is not None and len(self._bases) < _MOST_BASES:
            self._bases.add(plain_base(base))

    def address(self, call: Call) -> Tuple[str, Dict[str, str], bool]:
        """URL, headers, and whether a redirect may be followed."""
        base = (call.base or self.base).rstrip("/")
        headers = dict(call.headers)
        keyed = self._key is not None and origin_of(base) == origin_of(self.base)
        if keyed:
            headers["Authorization"] = f"Bearer {self._key}"
        # A redirect could lead the key to another host, and a body into the void.
        return base + call.path, headers, not keyed and call.method == "GET"

    def socket(self, path: str) -> Tuple[str, Dict[str, str]]:
        """Where a WebSocket is opened, and with which headers."""
        url, headers, _ = self.address(Call("GET", path))
        return "ws" + url[len("http") :], headers

    def checked(self, answer: Answer) -> Answer:
        if 200 <= answer.status < 300:
            return answer
        if 300 <= answer.status < 400:
            raise redirected(answer.base)
        raise failure(answer)

    def wait(self, call: Call, error: RelayError, attempt: int) -> float:
        """Seconds before the next try; raises where there is none."""
        told = error.retry_after or 0.0
        if attempt >= self.retries or not call.again or not is_passing(error) or told > _LONGEST_WAIT:
            raise error
        return max(told, _FIRST_WAIT * (1 << attempt) * (0.5 + random.random()))


def is_passing(error: BaseException) -> bool:
    """Whether asking again in a moment may help."""
    if isinstance(error, RelayTimeoutError):
        return True
    if isinstance(error, RelayUnreachableError):
        return not error.final
    return isinstance(error, RelayError) and error.status in _PASSING


def _chosen(base_url: Optional[str], api_key: Optional[str]) -> Tuple[str, Optional[str]]:
    """A key in the environment belongs to the address in it: another address in the code is not given that key."""
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
            "The API key has characters in it that no key has.",
            hint="It looks like cr_live_…; check CONTEXTRELAY_API_KEY.",
        )
    return trimmed or None


def _checked_base(text: str) -> str:
    hint = "It looks like https://relay.example.com."
    url = split_url(text.strip())
    if url is None or url.scheme not in ("http", "https"):
        raise BadInputError("The base URL does not begin with http:// or https://.", hint=hint)
    if url.username or url.password:
        raise BadInputError("The base URL has a user name or password in it.", hint=hint)
    return origin_of(text.strip()) + url.path.rstrip("/")
