from __future__ import annotations

import asyncio
from typing import Any, List

from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from contextrelay import ContextRelay
from contextrelay.integrations.pydantic_ai import ContextRelayToolset, get_pydantic_ai_toolset

from .hand_over import QUESTION, offloading_tests, texts
from .million import NEEDLE, million, url_in


def scripted(script: List[Any], seen: List[str]) -> FunctionModel:
    """A fake model. Each step of its script computes an answer from the last message."""

    def answer(messages: List[ModelMessage], _: AgentInfo) -> ModelResponse:
        seen.append("".join(str(message) for message in messages))
        step = script[len(seen) - 1](str(messages[-1].parts[-1].content))
        return ModelResponse(parts=[TextPart(step) if isinstance(step, str) else step])

    return FunctionModel(answer)


def call(name: str, **arguments: Any) -> ToolCallPart:
    return ToolCallPart(name, arguments)


def orders() -> str:
    """Returns all orders."""
    return million()


def test_a_tool_result_of_a_megabyte_becomes_a_pointer_and_the_agent_reads_one_line(
    relay: ContextRelay,
) -> None:
    seen: List[str] = []
    model = scripted(
        [
            lambda _: call("orders"),
            lambda said: call("pull_context", url=url_in(said), part="grep=failed"),
            lambda said: said,
        ],
        seen,
    )
    wrapped = ContextRelayToolset(FunctionToolset([orders]), relay)
    agent = Agent(model, toolsets=[wrapped, get_pydantic_ai_toolset(relay)])
    result = asyncio.run(agent.run("which order failed?"))
    assert result.output == f"13378:{NEEDLE}"
    assert max(map(len, seen)) < 20_000, "the megabyte was never before the model"


def test_an_agent_pushes_and_another_pulls(relay: ContextRelay) -> None:
    tools = get_pydantic_ai_toolset(relay)
    push = scripted([lambda _: call("push_context", data="one\ntwo"), lambda said: said], [])
    url = asyncio.run(Agent(push, toolsets=[tools]).run("push it")).output
    pull = scripted([lambda _: call("pull_context", url=url, part="lines=2"), lambda said: said], [])
    assert asyncio.run(Agent(pull, toolsets=[tools]).run("pull it")).output == "two"


def test_a_large_structured_result_becomes_one_pointer_and_an_image_stays(relay: ContextRelay) -> None:
    class Order(BaseModel):
        number: int
        note: str = "shipped"

    image = BinaryContent(b"x" * 100_000, media_type="image/png")
    toolset = ContextRelayToolset(FunctionToolset(), relay)
    short = toolset._shorten([Order(number=n) for n in range(5000)], "orders")
    assert relay.pull(url_in(short), json="/4999/number") == "4999"
    assert toolset._shorten(image, "chart") is image
    assert toolset._shorten([million(), image], "chart")[1] is image


def test_small_and_structured_results_stay(relay: ContextRelay) -> None:
    def numbers() -> List[int]:
        return [1, 2, 3]

    seen: List[str] = []
    model = scripted([lambda _: call("numbers"), lambda said: said], seen)
    toolset = ContextRelayToolset(FunctionToolset([numbers]), relay)
    assert asyncio.run(Agent(model, toolsets=[toolset]).run("go")).output == "[1, 2, 3]"


def prompt_with(relay: ContextRelay, result: str, **options: Any) -> str:
    def log() -> str:
        """Returns the log of today."""
        return result

    prompts: List[str] = []

    def answer(messages: List[ModelMessage], _: AgentInfo) -> ModelResponse:
        prompts.append(texts(ModelMessagesTypeAdapter.dump_python(messages, mode="json")))
        return ModelResponse(parts=[call("log") if len(prompts) == 1 else TextPart("done")])

    wrapped = ContextRelayToolset(FunctionToolset([log]), relay, **options)
    agent = Agent(FunctionModel(answer), toolsets=[wrapped, get_pydantic_ai_toolset(relay)])
    asyncio.run(agent.run(QUESTION))
    return prompts[-1]


test_a_hand_over_costs_what_the_page_says, test_a_relay_that_hangs_is_asked_once = offloading_tests(
    "pydantic-ai", prompt_with
)
