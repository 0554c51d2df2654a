from __future__ import annotations

import time
from typing import Any, List
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from contextrelay import ContextRelay
from contextrelay.integrations import ContextRelayRetriever as Lazily
from contextrelay.integrations.kept_pointers import seconds_of
from contextrelay.integrations.langchain import (
    ContextRelayCallbackHandler,
    ContextRelayMiddleware,
    ContextRelayRetriever,
    get_langchain_tools,
)

from .hand_over import QUESTION, offloading_tests
from .million import NEEDLE, million, url_in


class ScriptedModel(GenericFakeChatModel):
    """A fake model. Each step of its script computes an answer from the messages so far."""

    messages: Any = iter(())
    script: List[Any]
    seen: List[Any] = []

    def bind_tools(self, tools: Any, **_: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: List[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.seen.append(list(messages))
        step = self.script[sum(isinstance(each, AIMessage) for each in messages)]
        answer = step(messages) if callable(step) else AIMessage(step)
        return ChatResult(generations=[ChatGeneration(message=answer)])


def call(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{name}"}])


def test_an_agent_pushes_and_another_pulls(relay: ContextRelay) -> None:
    tools = get_langchain_tools(relay)
    text = "the architecture\n" * 100
    first = ScriptedModel(
        script=[
            lambda _: call("push_context", data=text, summary="plan"),
            lambda m: AIMessage(m[-1].content),
        ],
        seen=[],
    )
    said = create_agent(first, tools).invoke({"messages": [HumanMessage("plan it")]})["messages"][-1].content
    url = url_in(said)
    assert relay.pull(url) == text and relay.peek(url) == {"summary": "plan"}
    second = ScriptedModel(
        script=[
            lambda _: call("pull_context", url=url, part="lines=1-1"),
            lambda m: AIMessage(m[-1].content),
        ],
        seen=[],
    )
    assert (
        create_agent(second, tools).invoke({"messages": [HumanMessage("build it")]})["messages"][-1].content
        == "the architecture"
    )


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tool_result_of_a_megabyte_becomes_a_pointer(relay: ContextRelay, asynchronous: bool) -> None:
    import asyncio

    @tool
    def orders() -> str:
        """Returns all orders."""
        return million()

    model = ScriptedModel(
        script=[
            lambda _: call("orders"),
            lambda m: call("pull_context", url=url_in(m[-1].content), part="grep=failed"),
            lambda m: AIMessage(m[-1].content),
        ],
        seen=[],
    )
    agent = create_agent(model, [orders], middleware=[ContextRelayMiddleware(relay)])
    question = {"messages": [HumanMessage("which order failed?")]}
    done = asyncio.run(agent.ainvoke(question)) if asynchronous else agent.invoke(question)
    assert done["messages"][-1].content == f"13378:{NEEDLE}"
    shown_chars = sum(len(str(each.content)) for each in model.seen[-1])
    assert shown_chars < 8000, "the megabyte was never before the model"
    pointer = next(each for each in done["messages"] if isinstance(each, ToolMessage))
    assert relay.pull(url_in(pointer.content)) == million()
    assert relay.peek(url_in(pointer.content))["tool"] == "orders"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_with_a_foreign_checkpointer_a_result_lives_for_ttl_or_as_long_as_the_relay_allows(
    relay: ContextRelay, asynchronous: bool
) -> None:
    import asyncio

    def days(**options: Any) -> float:
        text = f"{million()} {uuid4()}"

        @tool
        def orders() -> str:
            """Returns all orders."""
            return text

        model = ScriptedModel(script=[lambda _: call("orders"), "done"], seen=[])
        middleware = [ContextRelayMiddleware(relay, **options)]
        agent = create_agent(model, [orders], middleware=middleware, checkpointer=InMemorySaver())
        question: Any = {"messages": [HumanMessage("what was ordered?")]}
        place: Any = {"configurable": {"thread_id": "kept"}}
        done = asyncio.run(agent.ainvoke(question, place)) if asynchronous else agent.invoke(question, place)
        pointer = next(each for each in done["messages"] if isinstance(each, ToolMessage))
        expiry = relay.inspect(url_in(str(pointer.content))).expires_at
        return (seconds_of(str(expiry)) - time.time()) / (24 * 3600)

    assert days() > 3600
    assert 2.9 < days(ttl=3 * 24 * 3600) <= 3


def test_the_retriever_finds_passages_in_threads_and_pointers(relay: ContextRelay) -> None:
    assert issubclass(ContextRelayRetriever, BaseRetriever) and Lazily is ContextRelayRetriever
    thread = relay.threads.create("retrieval")["thread_id"]
    relay.threads.put_artifact(
        thread, "Ships sail.\n\nThe login form loses its focus.\n", name="notes.md", type="markdown"
    )
    found = ContextRelayRetriever(relay=relay, thread_id=thread).invoke("Why does the login form lose focus?")
    assert "login form" in found[0].page_content and found[0].metadata["name"] == "notes.md"
    for encrypted in (False, True):
        url = relay.push(million(), encrypted=encrypted)
        found = ContextRelayRetriever(relay=relay, urls=[url], k=1).invoke("card expired")
        assert NEEDLE in found[0].page_content
        assert found[0].metadata == {"url": url.partition("#")[0], "line": 13376}


def test_the_handler_pushes_each_answer_of_a_model(relay: ContextRelay) -> None:
    handler = ContextRelayCallbackHandler(relay, "llm-output")
    assert isinstance(handler, BaseCallbackHandler)
    with relay.messages("llm-output") as messages:
        GenericFakeChatModel(messages=iter([AIMessage("what it said")])).invoke(
            "x", config={"callbacks": [handler]}
        )
        assert relay.pull(next(iter(messages)).url) == "what it said"


def prompt_with(relay: ContextRelay, result: str, **options: Any) -> str:
    @tool
    def log() -> str:
        """Returns the log of today."""
        return result

    model = ScriptedModel(script=[lambda _: call("log"), "done"], seen=[])
    agent = create_agent(model, [log], middleware=[ContextRelayMiddleware(relay, **options)])
    agent.invoke({"messages": [HumanMessage(QUESTION)]})
    return "\n".join(str(each.content) for each in model.seen[-1])


test_a_hand_over_costs_what_the_page_says, test_a_relay_that_hangs_is_asked_once = offloading_tests(
    "langchain", prompt_with
)
