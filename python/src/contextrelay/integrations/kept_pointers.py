"""Renews the pointers in a stored conversation, so that they do not expire before the conversation."""

from __future__ import annotations

import logging
import re
import threading
import time
from typing import Dict, Optional

from ..client import ContextRelay
from ..errors import RelayError
from .large_results import Patience, seconds_of

log = logging.getLogger("contextrelay")

_POINTER = re.compile(rb"/pull/([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\b")
#: Maximum number of pointers whose expiry is remembered. A conversation contains fewer.
_MOST_KNOWN = 10_000


class KeptPointers:
    """Renews the pointers in stored contents to ``ttl`` seconds from now, or to the maximum of the relay."""

    def __init__(self, relay: ContextRelay, ttl: Optional[int] = None) -> None:
        self._relay = relay
        self._ttl = ttl
        #: Maps a pointer id to the time after which the pointer must be renewed.
        self._renew_at: Dict[str, float] = {}
        self._lock = threading.Lock()
        self._warned = False
        self._patience = Patience()

    def keep(self, *contents: bytes) -> None:
        """Renews the pointers in contents that were just stored.

        Call it after storing the contents. A failure is only logged, because the contents are already
        stored.
        """
        # Most contents have no pointer. Searching for these bytes is much faster than matching the regular
        # expression.
        likely = [content for content in contents if b"/pull/" in content]
        ids = {id.decode().lower() for content in likely for id in _POINTER.findall(content)}
        now = time.time()
        due = [id for id in ids if self._renew_at.get(id, 0) <= now]
        if not due:
            return
        try:
            renewed = self._patience.run(lambda: self._relay.renew(due, ttl=self._ttl))
        except RelayError as error:
            if not self._warned:
                log.warning("Pointers may expire before the conversation that contains them: %s", error)
            self._warned = True
            return
        if renewed is None:
            return
        with self._lock:
            for id in due:
                self._renew_at[id] = self._renewal_time(now, renewed.get(id))
            while len(self._renew_at) > _MOST_KNOWN:
                del self._renew_at[next(iter(self._renew_at))]

    def _renewal_time(self, now: float, expires_at: Optional[str]) -> float:
        """Returns the time at which a pointer must be renewed again.

        A pointer that the relay did not find belongs to another relay or tenant, so it is never renewed again. A
        pointer with more than ``ttl`` seconds left is renewed when it has only ``ttl`` left. Any other pointer is
        renewed after an eighth of its remaining time.
        """
        if expires_at is None:
            return float("inf")
        expires = seconds_of(expires_at)
        last = 0 if self._ttl is None else expires - self._ttl
        return last if last > now else now + (expires - now) / 8
