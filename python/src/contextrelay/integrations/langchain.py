"""LangChain 1: tools, a retriever, a callback handler, and a middleware that replaces large tool results with pointers."""

from __future__ import annotations

import re
from typing import Any, Awaitable, Callable, List, Optional, Sequence, Union

from ..client import ContextRelay
from . import missing_extra
from .tools import (
    OVER_CHARS,
    PULL_NAME,
    PULL_WORDS,
    PUSH_NAME,
    PUSH_WORDS,
    RelayTools,
    shortened_message,
    stored_elsewhere,
)

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.outputs import LLMResult
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import run_in_executor
    from langchain_core.tools import BaseTool, StructuredTool
    from langgraph.prebuilt.tool_node import ToolCallRequest
except ImportError as error:
    raise missing_extra("langchain", error) from error

__all__ = [
    "ContextRelayCallbackHandler",
    "ContextRelayMiddleware",
    "ContextRelayRetriever",
    "get_langchain_tools",
]

_CONTEXT_LINES = 2
NEWLINE = "\n"


def get_langchain_tools(
    relay: Union[ContextRelay, str, None] = None, *, encrypted: bool = False
) -> List[BaseTool]:
    """Returns the tools ``contextrelay_push`` and ``contextrelay_pull``."""
    tools = RelayTools(relay, encrypted=encrypted)

    def push(data: str, summary: str = "") -> str:
        return tools.push(data, {"summary": summary} if summary else None)

    def pull(url: str, part: str = "") -> str:
        return tools.pull(url, part or None)

    return [
        StructuredTool.from_function(push, name=PUSH_NAME, description=PUSH_WORDS),
        StructuredTool.from_function(pull, name=PULL_NAME, description=PULL_WORDS),
    ]


class ContextRelayRetriever(BaseRetriever):
    """Finds passages that match a question, in the artifacts of a thread (``thread_id``) or in pointers (``urls``)."""

    hub_url: Optional[str] = None
    api_key: Optional[str] = None
    #: Client that is used instead of ``hub_url`` and ``api_key``.
    relay: Any = None
    thread_id: Optional[str] = None
    urls: Sequence[str] = ()
    #: Maximum number of documents that are returned.
    k: int = 4

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> List[Document]:
        relay = self.relay or ContextRelay(self.hub_url, self.api_key)
        found: List[Document] = []
        if self.thread_id is not None:
            for hit in relay.threads.search(self.thread_id, query, limit=self.k):
                # The snippet contains marks around the matches. So read the original lines for the document.
                lines = f"{hit['line']}-{hit['line'] + hit['snippet'].count(NEWLINE)}"
                text = relay.threads.artifact_part(self.thread_id, hit["ref"], lines=lines).text
                found.append(Document(page_content=text, metadata={**hit, "thread_id": self.thread_id}))
        pattern = _any_word(query)
        for url in self.urls if pattern else []:
            text = relay.pull(url, grep=pattern, ignore_case=True, context=_CONTEXT_LINES)
            if text:
                found.extend(_passages(text, url))
        return _best(found, query, self.k) if self.urls else found[: self.k]


class ContextRelayCallbackHandler(BaseCallbackHandler):
    """Pushes each answer of a model to a channel, so that other agents receive it."""

    def __init__(self, hub: ContextRelay, channel: str, encrypted: bool = False) -> None:
        super().__init__()
        self._hub = hub
        self._channel = channel
        self._encrypted = encrypted

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        text = "\n\n".join(each[0].text for each in response.generations if each and each[0].text)
        if text:
            self._hub.push(text, self._channel, self._encrypted)


class ContextRelayMiddleware(AgentMiddleware):
    """Middleware for ``create_agent(middleware=[…])``.

    If a tool result has more than ``over`` characters, it is stored, and the model gets a pointer and a tool to read parts.

    ``ttl``: seconds until the pointer expires. Default: one day. With :class:`ContextRelaySaver`, pointers live as long as
    the checkpoints; with another checkpointer, as long as the relay allows.
    """

    def __init__(
        self,
        relay: Union[ContextRelay, str, None] = None,
        *,
        over: int = OVER_CHARS,
        ttl: Optional[int] = None,
    ) -> None:
        super().__init__()
        self._tools = RelayTools(relay, over=over, ttl=ttl)
        self.tools = get_langchain_tools(self._tools.relay)[1:]

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return shortened_message(self._tools, handler(request), forever=stored_elsewhere(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        message = await handler(request)
        forever = stored_elsewhere(request)
        return await run_in_executor(None, shortened_message, self._tools, message, forever=forever)


def _any_word(query: str) -> str:
    words = sorted({word for word in re.findall(r"\w+", query.lower()) if len(word) > 2})
    return "|".join(re.escape(word) for word in words[:30])


def _passages(text: str, url: str) -> List[Document]:
    found = []
    for passage in re.split(r"^--$\n", text, flags=re.MULTILINE):
        first = re.match(r"\d+", passage)
        lines = [re.sub(r"^\d+[:-]", "", line) for line in passage.rstrip("\n").split("\n")]
        metadata = {"url": url.partition("#")[0], "line": int(first[0]) if first else 1}
        found.append(Document(page_content="\n".join(lines), metadata=metadata))
    return found


def _best(found: List[Document], query: str, k: int) -> List[Document]:
    words = {word for word in re.findall(r"\w+", query.lower()) if len(word) > 2}

    def worth(document: Document) -> int:
        return -len(words & set(re.findall(r"\w+", document.page_content.lower())))

    return sorted(found, key=worth)[:k]
