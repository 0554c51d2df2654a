"""What the tools of every framework do and say. No framework is needed here."""

from __future__ import annotations

import hashlib
import logging
from typing import Any, Optional, Union

from ..client import ContextRelay
from ..errors import RelayError
from ..mcp import read_part
from ..wire import JsonObject

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


class RelayTools:
    """``relay``: a client, or the address of a relay. What is longer than ``over`` characters is not put before a model
    unasked. What goes wrong is told to the model in a sentence and does not end the run."""

    def __init__(
        self,
        relay: Union[ContextRelay, str, None] = None,
        api_key: Optional[str] = None,
        *,
        encrypted: bool = False,
        channel: Optional[str] = None,
        over: int = OVER_CHARS,
    ) -> None:
        self.relay = relay if isinstance(relay, ContextRelay) else ContextRelay(relay, api_key)
        self.encrypted = encrypted
        self.channel = channel
        self.over = over

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

    def shortened(self, text: str, source: str = "") -> str:
        """The text; or, where it is too long for a prompt, a pointer to it, and how to read a part. The same text of the same
        source has the same pointer, so that caches of prompts hold. Where no relay answers, the text stays as it is."""
        if len(text) <= self.over:
            return text
        metadata = {"source": source, "characters": len(text)} if source else {"characters": len(text)}
        same = hashlib.sha256(f"{source}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
        key = None if self.encrypted else f"result:{same}"
        try:
            url = self.relay.push(text, self.channel, self.encrypted, metadata, idempotency_key=key)
        except RelayError as error:
            log.warning("A large result of %s stays in the prompt: %s", source or "a tool", error)
            return text
        head = text[:_HEAD_CHARS].rsplit("\n", 1)[0]
        lines = text.count("\n") + 1
        return f"The result has {len(text)} characters in {lines} lines and is at {url}\n{_PARTS}\nIt begins:\n{head}"

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


def shortened_message(tools: RelayTools, message: Any) -> Any:
    """A tool message of LangChain or LangGraph, with a pointer in the place of a content that is too long."""
    content, name = getattr(message, "content", None), getattr(message, "name", None)
    # What a model has asked to read it gets to see.
    if not isinstance(content, str) or name == PULL_NAME:
        return message
    short = tools.shortened(content, name or "")
    return message if short is content else message.model_copy(update={"content": short})


_PARTS = (
    "Read what you need of it with contextrelay_pull: part=outline, part=lines=10-40, part=grep=REGEX, "
    "part=json=/a/b, or part=all."
)
