from __future__ import annotations

import asyncio
import json
from typing import Any, Callable, List

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    FunctionMiddleware,
    FunctionTool,
    Message,
    tool,
)

from contextrelay import ContextRelay
from contextrelay.integrations.agent_framework import (
    ContextRelayFunctionMiddleware,
    get_agent_framework_tools,
)

from .hand_over import QUESTION, offloading_tests
from .million import NEEDLE, million, url_in


class ScriptedClient(FunctionInvocationLayer, BaseChatClient):
    """A fake model. Each step of its script computes an answer from the last tool result."""

    def __init__(self, script: List[Callable[[str], Any]]) -> None:
        super().__init__()
        self.script = script
        self.seen: List[str] = []

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        texts = [text_of(content) for message in messages for content in message.contents]
        self.seen.append("\n".join(texts))
        answer = self.script[len(self.seen) - 1](texts[-1])
        content = answer if isinstance(answer, Content) else Content.from_text(answer)

        async def respond() -> ChatResponse:
            return ChatResponse(messages=[Message(role="assistant", contents=[content])])

        return respond()


def text_of(content: Any) -> str:
    if content.type == "function_result":
        return str(content.result)
    return str(content.text or content.arguments or "")


def call(name: str, **arguments: Any) -> Content:
    return Content.from_function_call(f"call-{name}", name, arguments=json.dumps(arguments))


def test_an_agent_pushes_and_another_pulls(relay: ContextRelay) -> None:
    tools = get_agent_framework_tools(relay)
    assert all(isinstance(each, FunctionTool) for each in tools)

    async def run(script: List[Any]) -> str:
        return (await Agent(client=ScriptedClient(script), tools=tools).run("do it")).text

    url = asyncio.run(
        run([lambda _: call("push_context", data="one\ntwo", summary="numbers"), lambda said: said])
    )
    assert relay.pull(url_in(url)) == "one\ntwo" and relay.peek(url_in(url)) == {"summary": "numbers"}
    pulling = call("pull_context", url=url_in(url), part="lines=2")
    assert asyncio.run(run([lambda _: pulling, lambda said: said])) == "two"


def test_a_tool_result_of_a_megabyte_becomes_a_pointer(relay: ContextRelay) -> None:
    @tool(approval_mode="never_require")
    def orders() -> str:
        """Returns all orders."""
        return million()

    middleware = ContextRelayFunctionMiddleware(relay)
    assert isinstance(middleware, FunctionMiddleware)
    client = ScriptedClient(
        [
            lambda _: call("orders"),
            lambda said: call("pull_context", url=url_in(said), part="grep=failed"),
            lambda said: said,
        ]
    )
    agent = Agent(client=client, tools=[orders, *get_agent_framework_tools(relay)], middleware=[middleware])
    assert asyncio.run(agent.run("which order failed?")).text == f"13378:{NEEDLE}"
    assert max(map(len, client.seen)) < 5000, "the megabyte was never before the model"


def prompt_with(relay: ContextRelay, result: str, **options: Any) -> str:
    @tool(approval_mode="never_require")
    def log() -> str:
        """Returns the log of today."""
        return result

    client = ScriptedClient([lambda _: call("log"), lambda _: "done"])
    middleware = [ContextRelayFunctionMiddleware(relay, **options)]
    agent = Agent(client=client, tools=[log, *get_agent_framework_tools(relay)], middleware=middleware)
    asyncio.run(agent.run(QUESTION))
    return client.seen[-1]


test_a_hand_over_costs_what_the_page_says, test_a_relay_that_hangs_is_asked_once = offloading_tests(
    "agent-framework", prompt_with
)
