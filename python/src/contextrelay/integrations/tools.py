"""The tools with which a model pushes, peeks and pulls. All framework integrations use them.

This module needs no framework. A framework wraps each :class:`RelayTool`::

    [FunctionTool(tool.run, name=tool.name, description=tool.description) for tool in RelayTools(relay).all()]
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Callable, Coroutine, List, NamedTuple, Optional, TypedDict, Union

from ..client import ContextRelay
from ..errors import RelayError
from ..mcp import TOOLS, read_part
from ..wire import JsonObject
from .large_results import describe, exact_bytes

#: Maximum size of the answer of a pull, about 16,000 tokens.
PULL_BYTES = 64 * 1024


class RelayTool(NamedTuple):
    """A tool before a framework wraps it. It answers with text for a model, also for errors."""

    name: str
    description: str
    #: JSON Schema of the arguments.
    schema: JsonObject
    run: Callable[..., str]
    #: Asynchronous form of ``run``. It runs in a thread.
    arun: Callable[..., Coroutine[Any, Any, str]]


class RelayToolOptions(TypedDict, total=False):
    """Options of the tools in every integration."""

    #: True to encrypt each push in the client.
    encrypted: bool
    #: Channel for pushes, if the model names none.
    channel: Optional[str]
    #: Seconds until a push expires. Default: one day.
    ttl: Optional[int]
    #: Maximum size of the answer of a pull, in bytes. Default: 64 KiB.
    max_bytes: int


class RelayTools:
    """The tools ``push_context``, ``peek_context`` and ``pull_context``.

    An error is returned to the model as a sentence. It does not end the run. ``relay``: a client, or the address of a
    relay. The other options are those of :class:`RelayToolOptions`.
    """

    def __init__(
        self,
        relay: Union[ContextRelay, str, None] = None,
        api_key: Optional[str] = None,
        *,
        encrypted: bool = False,
        channel: Optional[str] = None,
        ttl: Optional[int] = None,
        max_bytes: int = PULL_BYTES,
    ) -> None:
        self.relay = relay if isinstance(relay, ContextRelay) else ContextRelay(relay, api_key)
        self._encrypted = encrypted
        self._channel = channel
        self._ttl = ttl
        self._max_bytes = max_bytes

    def all(self) -> List[RelayTool]:
        """Returns the tools, in the order push, peek, pull."""
        runs: List[Callable[..., str]] = [self.push, self.peek, self.pull]
        aruns: List[Callable[..., Coroutine[Any, Any, str]]] = [self.apush, self.apeek, self.apull]
        return [
            RelayTool(about["name"], about["description"], about["inputSchema"], run, arun)
            for about, run, arun in zip(TOOLS, runs, aruns)
        ]

    def push(self, data: str, channel: str = "", encrypted: bool = False, summary: str = "") -> str:
        """Stores a text and returns its URL."""
        return self.push_with(data, {"summary": summary} if summary else None, channel, encrypted)

    def push_with(
        self, data: str, metadata: Optional[JsonObject], channel: str = "", encrypted: bool = False
    ) -> str:
        """Stores a text with metadata and returns its URL."""
        try:
            where = channel or self._channel
            return self.relay.push(data, where, encrypted or self._encrypted, metadata, ttl=self._ttl)
        except RelayError as error:
            return f"Error pushing context: {error}"

    def peek(self, url: str) -> str:
        """Returns the metadata of a pointer."""
        try:
            metadata = self.relay.peek(url)
        except RelayError as error:
            return f"Error peeking context: {error}"
        return json.dumps(metadata, indent=2, ensure_ascii=False) if metadata else "(no metadata available)"

    def pull(self, url: str, part: str = "") -> str:
        """Returns the text of a pointer, or a part of it. For a very large text, returns its outline."""
        try:
            return self._pull(url, part)
        except RelayError as error:
            return f"Error pulling context: {error}"

    async def apush(self, data: str, channel: str = "", encrypted: bool = False, summary: str = "") -> str:
        """Asynchronous form of :meth:`push`."""
        return await asyncio.to_thread(self.push, data, channel, encrypted, summary)

    async def apeek(self, url: str) -> str:
        """Asynchronous form of :meth:`peek`."""
        return await asyncio.to_thread(self.peek, url)

    async def apull(self, url: str, part: str = "") -> str:
        """Asynchronous form of :meth:`pull`."""
        return await asyncio.to_thread(self.pull, url, part)

    def _pull(self, url: str, part: str) -> str:
        if part == "all":
            return self.relay.pull(url)
        if part:
            selected = self.relay.pull_part(url, read_part(part))
            return self._cut(f"{selected.text}\n[{selected.about}]" if selected.truncated else selected.text)
        info = self.relay.inspect(url)
        encrypted = "#key=" in url
        # Fernet turns three bytes into four.
        size = 0 if info.size is None else info.size * 3 // 4 if encrypted else info.size
        if size <= self._max_bytes:
            return self.relay.pull(url)
        # An encrypted payload has no readable outline. A request for an outline could use up one of the limited
        # pulls.
        outline = None
        if not encrypted and info.max_pulls is None and info.text:
            outline = ("an outline of the payload", self._cut(self.relay.pull(url, outline=True)))
        by, at = info.sender or "", info.created_at
        description = describe(url, info.id, "the payload", size, None, outline, by=by, at=at)
        return f"Not pulled: the limit for one result is {exact_bytes(self._max_bytes)}. {description}"

    def _cut(self, text: str) -> str:
        content = text.encode("utf-8", "replace")
        if len(content) <= self._max_bytes:
            return text
        beginning = content[: self._max_bytes].decode("utf-8", "ignore")
        return f"{beginning}\n[cut at {self._max_bytes} bytes; request a smaller part]"


def stored_elsewhere(request: Any) -> bool:
    """Returns whether a checkpointer other than ContextRelaySaver stores the messages.

    Such a checkpointer does not renew the pointers in the messages.
    """
    config = getattr(getattr(request, "runtime", None), "config", None) or {}
    checkpointer = (config.get("configurable") or {}).get("__pregel_checkpointer")
    return bool(checkpointer) and not getattr(checkpointer, "keeps_pointers", False)
