from __future__ import annotations

import json
import os
from typing import Any, Callable, List

os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_DISABLE_TRACKING="true",
    OTEL_SDK_DISABLED="true",
    CREWAI_TRACING_ENABLED="false",
)

from crewai import Agent, BaseLLM, Crew, Task
from crewai.hooks import register_after_tool_call_hook, unregister_after_tool_call_hook
from crewai.tools import BaseTool, tool

from contextrelay import ContextRelay
from contextrelay.integrations.crewai import ContextRelayPullTool, ContextRelayPushTool, pointer_hook

from ..conftest import RelayProcess
from .hand_over import QUESTION, offloading_tests
from .million import NEEDLE, million, url_in


class ScriptedLLM(BaseLLM):
    """A fake model. Each step of its script computes an answer from the messages so far."""

    script: List[Any] = []
    seen: List[Any] = []

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        texts = [str(each.get("content")) for each in messages] if isinstance(messages, list) else [messages]
        self.seen.append(texts)
        step: Callable[[str], str] = self.script[len(self.seen) - 1]
        return step("\n".join(texts))

    def supports_function_calling(self) -> bool:
        return False


def act(name: str, **args: Any) -> str:
    return f"Thought: I use a tool\nAction: {name}\nAction Input: {json.dumps(args)}"


def answer(text: str) -> str:
    return f"Thought: I know\nFinal Answer: {text}"


def kick_off(llm: ScriptedLLM, tools: List[BaseTool], question: str = "do it") -> str:
    agent = Agent(role="worker", goal="work", backstory="it works", llm=llm, tools=tools, verbose=False)
    task = Task(description=question, expected_output="the result", agent=agent)
    return str(Crew(agents=[agent], tasks=[task], verbose=False).kickoff())


def observed(said: str) -> str:
    return said.rsplit("Observation:", 1)[-1]


def test_an_agent_pushes_and_another_pulls(relay: ContextRelay, server: RelayProcess) -> None:
    push, pull = ContextRelayPushTool(server.url), ContextRelayPullTool(server.url)
    assert isinstance(push, BaseTool) and (push.name, pull.name) == ("push_context", "pull_context")
    text = "the architecture\n" * 100
    first = ScriptedLLM(
        model="fake",
        script=[
            lambda _: act("push_context", data=text, metadata={"a": 1}),
            lambda said: answer(url_in(observed(said))),
        ],
        seen=[],
    )
    url = kick_off(first, [push, pull])
    assert relay.pull(url) == text and relay.peek(url) == {"a": 1}
    second = ScriptedLLM(
        model="fake",
        script=[
            lambda _: act("pull_context", url=url, part="lines=1-1"),
            lambda said: answer(observed(said).strip().split("\n")[0]),
        ],
        seen=[],
    )
    assert kick_off(second, [push, pull]) == "the architecture"


def test_a_tool_result_of_a_megabyte_becomes_a_pointer(relay: ContextRelay) -> None:
    @tool("orders")
    def orders() -> str:
        """Returns all orders."""
        return million()

    hook = pointer_hook(relay)
    register_after_tool_call_hook(hook)
    llm = ScriptedLLM(
        model="fake",
        script=[
            lambda _: act("orders"),
            lambda said: act("pull_context", url=url_in(observed(said)), part="grep=failed"),
            lambda said: answer(observed(said).strip().split("\n")[0]),
        ],
        seen=[],
    )
    try:
        assert kick_off(llm, [orders, ContextRelayPullTool(relay=relay)]) == f"13378:{NEEDLE}"
    finally:
        unregister_after_tool_call_hook(hook)
    assert max(sum(map(len, texts)) for texts in llm.seen) < 10_000, "the megabyte was never before the model"


def prompt_with(relay: ContextRelay, result: str, **options: Any) -> str:
    @tool("log")
    def log() -> str:
        """Returns the log of today."""
        return result

    hook = pointer_hook(relay, **options)
    register_after_tool_call_hook(hook)
    llm = ScriptedLLM(model="fake", script=[lambda _: act("log"), lambda _: answer("done")], seen=[])
    try:
        kick_off(llm, [log, ContextRelayPullTool(relay=relay)], QUESTION)
    finally:
        unregister_after_tool_call_hook(hook)
    return "\n".join(llm.seen[-1])


test_a_hand_over_costs_what_the_page_says, test_a_relay_that_hangs_is_asked_once = offloading_tests(
    "crewai", prompt_with
)
