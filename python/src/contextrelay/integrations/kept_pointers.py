"""Has what a stored conversation names live as long as the conversation."""

from __future__ import annotations

import logging
import re
import threading
import time
from datetime import datetime
from typing import Dict, Optional

from ..client import ContextRelay
from ..errors import RelayError

log = logging.getLogger("contextrelay")

_POINTER = re.compile(rb"/pull/([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\b")
#: Pointers whose expiry is remembered: more than one conversation has.
_MOST_KNOWN = 10_000


class KeptPointers:
    """Has the pointers that stored contents name live at least ``ttl`` seconds, or as long as the relay allows."""

    def __init__(self, relay: ContextRelay, ttl: Optional[int] = None) -> None:
        self._relay = relay
        self._ttl = ttl
        #: When a pointer has to be renewed, at the latest.
        self._renew_at: Dict[str, float] = {}
        self._lock = threading.Lock()
        self._warned = False

    def keep(self, *contents: bytes) -> None:
        """To be called once the contents are stored, so that their own life has begun. A failure is logged; they are stored all
        the same."""
        named = {id.decode().lower() for content in contents for id in _POINTER.findall(content)}
        now = time.time()
        due = [id for id in named if self._renew_at.get(id, 0) <= now]
        if not due:
            return
        try:
            renewed = self._relay.renew(due, ttl=self._ttl)
        except RelayError as error:
            if not self._warned:
                log.warning("Pointers may expire before a conversation that names them: %s", error)
            self._warned = True
            return
        with self._lock:
            for id in due:
                self._renew_at[id] = self._renewal_time(now, renewed.get(id))
            while len(self._renew_at) > _MOST_KNOWN:
                del self._renew_at[next(iter(self._renew_at))]

    def _renewal_time(self, now: float, expires_at: Optional[str]) -> float:
        """A pointer of somebody else is never asked for again. One that the relay does not let live so long is, after an eighth of
        its life."""
        if expires_at is None:
            return float("inf")
        expires = seconds_of(expires_at)
        last = 0 if self._ttl is None else expires - self._ttl
        return last if last > now else now + (expires - now) / 8


def seconds_of(moment: str) -> float:
    """Seconds since 1970 of an ISO 8601 moment."""
    return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()
