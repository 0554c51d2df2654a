"""Behaviour and descriptions of the tools that all framework integrations share.

This module needs no framework.
"""

from __future__ import annotations

import hashlib
import logging
import time
from typing import Any, Optional, Union

from ..client import ContextRelay
from ..errors import RelayError
from ..mcp import read_part
from ..pointers import Pushed
from ..wire import JsonObject
from .kept_pointers import seconds_of

log = logging.getLogger("contextrelay")

PUSH_NAME = "contextrelay_push"
PUSH_WORDS = (
    "Store a large text and get a short URL to hand to another agent instead of the text. "
    "Anyone with the URL can read it with contextrelay_pull."
)
PULL_NAME = "contextrelay_pull"
PULL_WORDS = (
    "Read the text behind a relay URL or handle, or a part of it: part is outline, lines=10-40, grep=REGEX, json=/a/b, or all. "
    "Without part, a very large text returns its outline."
)

#: Number of characters above which a model gets a pointer or a part instead of the text. About 5,000 tokens.
OVER_CHARS = 20_000
_HEAD_CHARS = 500
#: Maximum size of the excerpt that replaces a long text, in tokens.
EXCERPT_TOKENS = 1_200
_DAY_S = 24 * 3600


class RelayTools:
    """The push and pull tools. An error is returned to the model as a sentence. It does not end the run.

    ``relay``: a client, or the address of a relay. ``over``: number of characters above which a text is
    replaced with a pointer or its outline. ``ttl``: seconds until a pointer expires. Default: one day.
    """

    def __init__(
        self,
        relay: Union[ContextRelay, str, None] = None,
        api_key: Optional[str] = None,
        *,
        encrypted: bool = False,
        channel: Optional[str] = None,
        over: int = OVER_CHARS,
        ttl: Optional[int] = None,
    ) -> None:
        self.relay = relay if isinstance(relay, ContextRelay) else ContextRelay(relay, api_key)
        self.encrypted = encrypted
        self.channel = channel
        self.over = over
        self.ttl = ttl

    def push(self, data: str, metadata: Optional[JsonObject] = None) -> str:
        """Stores a text and returns its URL."""
        try:
            return self.relay.push(data, self.channel, self.encrypted, metadata)
        except RelayError as error:
            return f"Error pushing context: {error}"

    def pull(self, url: str, part: Optional[str] = None) -> str:
        """Returns the text of a pointer, or a part of the text.

        For a very large text without ``part``, returns an outline of the text.
        """
        try:
            return self._pull(url, part)
        except RelayError as error:
            return f"Error pulling context: {error}"

    def shortened(self, text: str, source: str = "", *, forever: bool = False) -> str:
        """Returns a short text unchanged.

        Stores a long text, and returns its URL, its most important lines and how to read parts.

        The same text from the same source keeps its pointer, so that prompt caches stay valid. Only the
        expiry of the pointer is renewed. ``forever``: nobody knows how long the message is stored. Without
        ``ttl``, the pointer then gets the longest lifetime that the relay allows. If the relay does not
        answer, the text is returned unchanged.
        """
        if len(text) <= self.over:
            return text
        metadata = {"source": source, "characters": len(text)} if source else {"characters": len(text)}
        same = hashlib.sha256(f"{source}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
        # The relay rejects an idempotency key that was used with another ttl. So the ttl is part of the key.
        key = f"result:{same}" if self.ttl is None else f"result:{same}:{self.ttl}"
        try:
            pushed = self.relay.push_detailed(
                text,
                self.channel,
                self.encrypted,
                metadata,
                ttl=self.ttl,
                idempotency_key=None if self.encrypted else key,
                excerpt=EXCERPT_TOKENS,
            )
        except RelayError as error:
            log.warning(
                "A large result of %s could not be stored and stays in the prompt: %s",
                source or "a tool",
                error,
            )
            return text
        self._renew(pushed, forever)
        url = pushed.url
        lines = text.count("\n") + 1
        about = f"The result has {len(text)} characters in {lines} lines and is at {url}\n{_PARTS}"
        if pushed.excerpt:
            return f"{about}\nIts most important lines, with line numbers:\n{pushed.excerpt}"
        head = text[:_HEAD_CHARS].rsplit("\n", 1)[0]
        return f"{about}\nIt begins:\n{head}"

    def _renew(self, pushed: Pushed, forever: bool) -> None:
        """Renews a pointer that is used again. If the relay cannot renew it, the pointer keeps its expiry."""
        ttl = self.ttl if self.ttl is not None or forever else _DAY_S
        if pushed.expires_at is None:
            return
        if ttl is not None and seconds_of(pushed.expires_at) - time.time() >= ttl * 7 / 8:
            return
        try:
            self.relay.renew([pushed.url], ttl=ttl)
        except RelayError as error:
            log.warning("A pointer may expire before the message that contains it: %s", error)

    def _pull(self, url: str, part: Optional[str]) -> str:
        if part == "all":
            return self.relay.pull(url)
        if part:
            return self.relay.pull_part(url, read_part(part)).text
        size = self.relay.inspect(url).size
        if size is None or size <= self.over:
            return self.relay.pull(url)
        if "#key=" in url:
            return f"The text has about {size * 3 // 4} bytes. {_PARTS}"
        return f"The text has {size} bytes. {_PARTS}\n{self.relay.pull(url, outline=True)[: self.over]}"


def shortened_message(tools: RelayTools, message: Any, *, forever: bool = False) -> Any:
    """Replaces a long content of a LangChain or LangGraph tool message with a pointer."""
    content, name = getattr(message, "content", None), getattr(message, "name", None)
    # The model has just pulled this content, so do not replace it with a pointer again.
    if not isinstance(content, str) or name == PULL_NAME:
        return message
    short = tools.shortened(content, name or "", forever=forever)
    return message if short is content else message.model_copy(update={"content": short})


def stored_elsewhere(request: Any) -> bool:
    """Returns whether a checkpointer other than ContextRelaySaver stores the messages.

    Such a checkpointer does not renew the pointers in the messages.
    """
    config = getattr(getattr(request, "runtime", None), "config", None) or {}
    checkpointer = (config.get("configurable") or {}).get("__pregel_checkpointer")
    return bool(checkpointer) and not getattr(checkpointer, "keeps_pointers", False)


_PARTS = (
    "Read the parts that you need with contextrelay_pull: part=outline, part=lines=10-40, part=grep=REGEX, "
    "part=json=/a/b, or part=all."
)
