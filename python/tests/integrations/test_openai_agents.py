from __future__ import annotations

import asyncio
import json
from typing import Any, Callable, List

from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.memory import Session
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from contextrelay import ContextRelay
from contextrelay.integrations.openai_agents import (
    ContextRelaySession,
    get_openai_agents_tools,
    large_result_filter,
)

from .hand_over import QUESTION, offloading_tests, texts
from .million import NEEDLE, million, url_in


class ScriptedModel(Model):
    """A fake model. Each step of its script computes an answer from the last item of the input."""

    def __init__(self, script: List[Callable[[str], Any]]) -> None:
        self.script = script
        self.seen: List[str] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **_: Any) -> ModelResponse:
        items = [{"content": input}] if isinstance(input, str) else input
        self.seen.append(json.dumps(items))
        last = items[-1]
        answer = self.script[len(self.seen) - 1](str(last.get("output") or last.get("content")))
        if isinstance(answer, str):
            text = ResponseOutputText(type="output_text", text=answer, annotations=[])
            answer = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[answer], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def call(name: str, **arguments: Any) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", call_id=f"call-{name}", name=name, arguments=json.dumps(arguments)
    )


@function_tool
def orders() -> str:
    """Returns all orders."""
    return million()


def test_a_tool_result_of_a_megabyte_becomes_a_pointer_and_the_agent_reads_one_line(
    relay: ContextRelay,
) -> None:
    model = ScriptedModel(
        [
            lambda _: call("orders"),
            lambda said: call("pull_context", url=url_in(said), part="grep=failed"),
            lambda said: said,
        ]
    )
    agent = Agent(name="a", model=model, tools=[orders, *get_openai_agents_tools(relay)])
    config = RunConfig(call_model_input_filter=large_result_filter(relay), tracing_disabled=True)
    result = asyncio.run(Runner.run(agent, "which order failed?", run_config=config))
    assert result.final_output == f"13378:{NEEDLE}"
    assert max(map(len, model.seen)) < 20_000, "the megabyte was never before the model"


def test_a_session_continues_in_another_process(relay: ContextRelay) -> None:
    session = ContextRelaySession(relay, "talk/1")
    assert isinstance(session, Session)

    async def talk() -> List[str]:
        config = RunConfig(tracing_disabled=True)
        first = ScriptedModel([lambda _: "Hello, Ada."])
        await Runner.run(Agent(name="a", model=first), "I am Ada.", session=session, run_config=config)
        again = ContextRelaySession(relay, "talk/1")
        second = ScriptedModel([lambda _: "Ada."])
        await Runner.run(Agent(name="a", model=second), "Who am I?", session=again, run_config=config)
        return second.seen

    seen = asyncio.run(talk())
    assert "I am Ada." in seen[0] and "Hello, Ada." in seen[0]


def test_a_session_returns_and_removes_its_last_items(relay: ContextRelay) -> None:
    async def check() -> None:
        session = ContextRelaySession(relay)
        assert await session.get_items() == [] and await session.pop_item() is None
        items: List[Any] = [{"role": "user", "content": str(n)} for n in range(5)]
        await session.add_items(items[:3])
        await session.add_items(items[3:])
        assert await session.get_items() == items
        assert await session.get_items(2) == items[3:]
        assert await session.pop_item() == items[4] and await session.pop_item() == items[3]
        assert await session.get_items() == items[:3]
        await session.clear_session()
        assert await session.get_items() == []

    asyncio.run(check())


def test_two_that_pop_at_the_same_time_get_different_items(relay: ContextRelay) -> None:
    async def check() -> None:
        session = ContextRelaySession(relay)
        await session.add_items([{"role": "user", "content": str(n)} for n in range(8)])
        popped = await asyncio.gather(*(session.pop_item() for _ in range(8)))
        assert sorted(item["content"] for item in popped if item) == [str(n) for n in range(8)]

    asyncio.run(check())


def prompt_with(relay: ContextRelay, result: str, **options: Any) -> str:
    @function_tool
    def log() -> str:
        """Returns the log of today."""
        return result

    model = ScriptedModel([lambda _: call("log"), lambda _: "done"])
    agent = Agent(name="b", model=model, tools=[log, *get_openai_agents_tools(relay)])
    config = RunConfig(call_model_input_filter=large_result_filter(relay, **options), tracing_disabled=True)
    asyncio.run(Runner.run(agent, QUESTION, run_config=config))
    return texts(json.loads(model.seen[-1]))


test_a_hand_over_costs_what_the_page_says, test_a_relay_that_hangs_is_asked_once = offloading_tests(
    "openai-agents", prompt_with
)
