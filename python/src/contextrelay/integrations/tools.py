"""What the tools of every framework do and say. No framework is needed here."""

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
    "Whoever has the URL can read it with contextrelay_pull."
)
PULL_NAME = "contextrelay_pull"
PULL_WORDS = (
    "Read the text behind a relay URL, or a part of it: part is outline, lines=10-40, grep=REGEX, json=/a/b, or all. "
    "Without part, a very large text answers with its outline."
)

#: About 5 000 tokens: more than that and a model is better off with a part.
OVER_CHARS = 20_000
_HEAD_CHARS = 500
_DAY_S = 24 * 3600


class RelayTools:
    """``relay``: a client, or the address of a relay. What is longer than ``over`` characters is not put before a model
    unasked. ``ttl``: seconds that its pointer lives; a day by default. What goes wrong is told to the model in a sentence and does
    not end the run."""

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
        try:
            return self.relay.push(data, self.channel, self.encrypted, metadata)
        except RelayError as error:
            return f"Error pushing context: {error}"

    def pull(self, url: str, part: Optional[str] = None) -> str:
        try:
            return self._pull(url, part)
        except RelayError as error:
            return f"Error pulling context: {error}"

    def shortened(self, text: str, source: str = "", *, forever: bool = False) -> str:
        """The text; or, where it is too long for a prompt, a pointer to it, and how to read a part. The same text of the same
        source has the same pointer, with a new expiry, so that caches of prompts hold. ``forever``: it is stored elsewhere, nobody
        knows for how long, so that without a ``ttl`` it lives as long as the relay allows. Where no relay answers, the text stays
        as it is."""
        if len(text) <= self.over:
            return text
        metadata = {"source": source, "characters": len(text)} if source else {"characters": len(text)}
        same = hashlib.sha256(f"{source}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
        # With another ttl it would be another request, and a key is for one.
        key = f"result:{same}" if self.ttl is None else f"result:{same}:{self.ttl}"
        try:
            pushed = self.relay.push_detailed(
                text,
                self.channel,
                self.encrypted,
                metadata,
                ttl=self.ttl,
                idempotency_key=None if self.encrypted else key,
            )
        except RelayError as error:
            log.warning("A large result of %s stays in the prompt: %s", source or "a tool", error)
            return text
        self._renew(pushed, forever)
        url = pushed.url
        head = text[:_HEAD_CHARS].rsplit("\n", 1)[0]
        lines = text.count("\n") + 1
        return f"The result has {len(text)} characters in {lines} lines and is at {url}\n{_PARTS}\nIt begins:\n{head}"

    def _renew(self, pushed: Pushed, forever: bool) -> None:
        """A pointer that is used again gets a new expiry. A relay that cannot renew it lets it expire as it was."""
        ttl = self.ttl if self.ttl is not None or forever else _DAY_S
        if pushed.expires_at is None:
            return
        if ttl is not None and seconds_of(pushed.expires_at) - time.time() >= ttl * 7 / 8:
            return
        try:
            self.relay.renew([pushed.url], ttl=ttl)
        except RelayError as error:
            log.warning("A pointer may expire before what names it: %s", error)

    def _pull(self, url: str, part: Optional[str]) -> str:
        if part == "all":
            return self.relay.pull(url)
        if part:
            return self.relay.pull_part(url, read_part(part)).text
        size = self.relay.inspect(url).size
        if size is None or size <= self.over:
            return self.relay.pull(url)
        if "#key=" in url:
            said = f"The text has about {size * 3 // 4} bytes. {_PARTS}"
        else:
            said = f"The text has {size} bytes. {_PARTS}\n{self.relay.pull(url, outline=True)[: self.over]}"
        return said


def shortened_message(tools: RelayTools, message: Any, *, forever: bool = False) -> Any:
    """A tool message of LangChain or LangGraph, with a pointer in the place of a content that is too long."""
    content, name = getattr(message, "content", None), getattr(message, "name", None)
    # The model asked for this content, so it is not replaced by a pointer again.
    if not isinstance(content, str) or name == PULL_NAME:
        return message
    short = tools.shortened(content, name or "", forever=forever)
    return message if short is content else message.model_copy(update={"content": short})


def stored_elsewhere(request: Any) -> bool:
    """Whether the messages of a tool call go to a checkpointer other than ours, which does not see to it that the pointers in them
    live as long."""
    config = getattr(getattr(request, "runtime", None), "config", None) or {}
    checkpointer = (config.get("configurable") or {}).get("__pregel_checkpointer")
    return bool(checkpointer) and not getattr(checkpointer, "keeps_pointers", False)


_PARTS = (
    "Read what you need of it with contextrelay_pull: part=outline, part=lines=10-40, part=grep=REGEX, "
    "part=json=/a/b, or part=all."
)
