"""LangChain 1: tools, a retriever, a callback handler, and a middleware that replaces large tool results with pointers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Dict, List, Optional, Sequence, Union

from ..client import ContextRelay
from ..errors import BadInputError
from . import missing_extra
from .large_results import LargeResultOptions, LargeResults, Patience
from .tools import RelayToolOptions, RelayTools, stored_elsewhere

if TYPE_CHECKING:
    from typing_extensions import Unpack

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.outputs import LLMResult
    from langchain_core.retrievers import BaseRetriever
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
    relay: Union[ContextRelay, str, None] = None, **options: Unpack[RelayToolOptions]
) -> List[BaseTool]:
    """Returns the tools ``push_context``, ``peek_context`` and ``pull_context``."""
    return [
        StructuredTool.from_function(tool.run, tool.arun, name=tool.name, description=tool.description)
        for tool in RelayTools(relay, **options).all()
    ]


class ContextRelayRetriever(BaseRetriever):
    """Finds passages that match a question, in the artifacts of a thread (``thread_id``) or in pointers (``urls``).

    Without both, it pushes the question to ``channel`` and returns the pointer's URL, as the original package does.
    """

    hub_url: Optional[str] = None
    api_key: Optional[str] = None
    #: Client that is used instead of ``hub_url`` and ``api_key``.
    relay: Any = None
    thread_id: Optional[str] = None
    urls: Sequence[str] = ()
    #: Maximum number of documents that are returned.
    k: int = 4
    #: Channel to which the question is pushed if there is nothing to search.
    channel: Optional[str] = None
    #: True if the pushed question is encrypted.
    encrypted: bool = False

    def __init__(
        self,
        hub_url: Optional[str] = None,
        api_key: Optional[str] = None,
        channel: Optional[str] = None,
        encrypted: bool = False,
        *,
        relay: Optional[ContextRelay] = None,
        thread_id: Optional[str] = None,
        urls: Sequence[str] = (),
        k: int = 4,
        tags: Optional[List[str]] = None,
        metadata: Optional[Dict[str, Any]] = None,
    ) -> None:
        fields: Dict[str, Any] = {
            "hub_url": hub_url,
            "api_key": api_key,
            "channel": channel,
            "encrypted": encrypted,
            "relay": relay,
            "thread_id": thread_id,
            "urls": urls,
            "k": k,
        }
        super().__init__(tags=tags, metadata=metadata, **fields)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> List[Document]:
        relay = self.relay or ContextRelay(self.hub_url, self.api_key)
        documents: List[Document] = []
        if self.thread_id is None and not self.urls:
            if self.channel is None:
                raise BadInputError(
                    "The retriever has nothing to search.",
                    hint="Pass thread_id or urls to ContextRelayRetriever.",
                )
            url = relay.push(query, self.channel, self.encrypted)
            return [Document(page_content=url, metadata={"contextrelay_url": url})]
        if self.thread_id is not None:
            for hit in relay.threads.search(self.thread_id, query, limit=self.k):
                # The snippet contains marks around the matches. So read the original lines for the document.
                lines = f"{hit['line']}-{hit['line'] + hit['snippet'].count(NEWLINE)}"
                text = relay.threads.artifact_part(self.thread_id, hit["ref"], lines=lines).text
                documents.append(Document(page_content=text, metadata={**hit, "thread_id": self.thread_id}))
        pattern = _any_word(query)
        for url in self.urls if pattern else []:
            text = relay.pull(url, grep=pattern, ignore_case=True, context=_CONTEXT_LINES)
            if text:
                documents.extend(_passages(text, url))
        return _best(documents, query, self.k) if self.urls else documents[: self.k]


class ContextRelayCallbackHandler(BaseCallbackHandler):
    """Pushes each answer of a model to a channel, so that other agents receive it."""

    def __init__(self, hub: ContextRelay, channel: str, encrypted: bool = False) -> None:
        super().__init__()
        self._hub = hub
        self._channel = channel
        self._encrypted = encrypted
        self._patience = Patience()

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        text = "\n\n".join(each[0].text for each in response.generations if each and each[0].text)
        if text:
            self._patience.run(lambda: self._hub.push(text, self._channel, self._encrypted))


class ContextRelayMiddleware(AgentMiddleware):
    """Middleware for ``create_agent(middleware=[…])``.

    If a tool result is larger than ``max_bytes``, it is stored, and the model gets a pointer and a tool to read parts. The
    options are those of :class:`LargeResultOptions`.

    With :class:`ContextRelaySaver`, pointers live as long as the checkpoints. With another checkpointer and without
    ``ttl``, they live as long as the relay allows.
    """

    def __init__(
        self, relay: Union[ContextRelay, str, None] = None, **options: Unpack[LargeResultOptions]
    ) -> None:
        super().__init__()
        self._results = LargeResults(relay, **options)
        self.tools = get_langchain_tools(self._results.relay)[-1:]

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        name = request.tool_call["name"]
        return self._results.swap(handler(request), name, forever=stored_elsewhere(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        result, name = await handler(request), request.tool_call["name"]
        return await self._results.aswap(result, name, forever=stored_elsewhere(request))


def _any_word(query: str) -> str:
    words = sorted({word for word in re.findall(r"\w+", query.lower()) if len(word) > 2})
    return "|".join(re.escape(word) for word in words[:30])


def _passages(text: str, url: str) -> List[Document]:
    documents = []
    for passage in re.split(r"^--$\n", text, flags=re.MULTILINE):
        first = re.match(r"\d+", passage)
        lines = [re.sub(r"^\d+[:-]", "", line) for line in passage.rstrip("\n").split("\n")]
        metadata = {"url": url.partition("#")[0], "line": int(first[0]) if first else 1}
        documents.append(Document(page_content="\n".join(lines), metadata=metadata))
    return documents


def _best(documents: List[Document], query: str, k: int) -> List[Document]:
    words = {word for word in re.findall(r"\w+", query.lower()) if len(word) > 2}

    def worth(document: Document) -> int:
        return -len(words & set(re.findall(r"\w+", document.page_content.lower())))

    return sorted(documents, key=worth)[:k]
