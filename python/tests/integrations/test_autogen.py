from __future__ import annotations

import asyncio
from typing import Any, Callable, List

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import ChatCompletionClient, CreateResult, ModelInfo, RequestUsage
from autogen_core.tools import FunctionTool, StaticWorkbench

from contextrelay import ContextRelay
from contextrelay.integrations.autogen import (
    ContextRelayWorkbench,
    contextrelay_pull,
    contextrelay_push,
    get_autogen_tools,
)

from ..conftest import RelayProcess
from .hand_over import QUESTION, offloading_tests
from .million import NEEDLE, million, url_in


class ScriptedClient(ChatCompletionClient):
    """A fake model. Each step of its script computes an answer from the last message."""

    def __init__(self, script: List[Callable[[str], Any]]) -> None:
        self._script = script
        self.seen: List[str] = []
        self.texts: List[str] = []

    async def create(self, messages: Any, **_: Any) -> CreateResult:
        self.seen.append("\n".join(str(each.content) for each in messages))
        contents = [each.content for each in messages]
        self.texts = [
            each if isinstance(each, str) else "\n".join(getattr(part, "content", part.name) for part in each)
            for each in contents
        ]
        content = messages[-1].content
        last = content if isinstance(content, str) else content[0].content
        answer = self._script[len(self.seen) - 1](last)
        reason = "stop" if isinstance(answer, str) else "function_calls"
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        return CreateResult(finish_reason=reason, content=answer, usage=usage, cached=False)

    async def create_stream(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError
        yield

    async def close(self) -> None:
        pass

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    total_usage = actual_usage

    def count_tokens(self, *_: Any, **__: Any) -> int:
        return 0

    def remaining_tokens(self, *_: Any, **__: Any) -> int:
        return 1000

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False
        )


def call(name: str, arguments: str) -> List[FunctionCall]:
    return [FunctionCall(id=f"call-{name}", name=name, arguments=arguments)]


def test_an_agent_pushes_and_another_pulls(relay: ContextRelay, server: RelayProcess) -> None:
    tools = get_autogen_tools(server.url)
    assert [each.name for each in tools] == ["push_context", "pull_context"]
    assert all(isinstance(each, FunctionTool) for each in tools)

    async def run(script: List[Any]) -> str:
        agent = AssistantAgent("worker", ScriptedClient(script), tools=tools, max_tool_iterations=5)
        return str((await agent.run(task="do it")).messages[-1].content)

    url = asyncio.run(run([lambda _: call("push_context", '{"data": "one\\ntwo"}'), lambda said: said]))
    assert relay.pull(url) == "one\ntwo"
    pulling = call("pull_context", f'{{"url": "{url}", "part": "lines=2"}}')
    assert asyncio.run(run([lambda _: pulling, lambda said: said])) == "two"


def test_a_tool_result_of_a_megabyte_becomes_a_pointer(relay: ContextRelay) -> None:
    def orders() -> str:
        return million()

    workbench = ContextRelayWorkbench([FunctionTool(orders, description="All orders.")], relay)
    assert isinstance(workbench, StaticWorkbench)
    client = ScriptedClient(
        [
            lambda _: call("orders", "{}"),
            lambda said: call("pull_context", f'{{"url": "{url_in(said)}", "part": "grep=failed"}}'),
            lambda said: said,
        ]
    )
    agent = AssistantAgent("worker", client, workbench=workbench, max_tool_iterations=5)
    done = asyncio.run(agent.run(task="which order failed?"))
    assert done.messages[-1].content == f"13378:{NEEDLE}"
    assert max(map(len, client.seen)) < 8000, "the megabyte was never before the model"


def test_encrypted_tools_and_plain_functions(
    relay: ContextRelay, server: RelayProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXTRELAY_URL", server.url)
    assert contextrelay_pull(contextrelay_push("x", {"a": 1})) == "x"
    push = get_autogen_tools(relay, encrypted=True)[0]

    async def run() -> Any:
        from autogen_core import CancellationToken

        return await push.run_json({"data": "secret"}, CancellationToken())

    assert "#key=" in asyncio.run(run())


def prompt_with(relay: ContextRelay, result: str, **options: Any) -> str:
    def log() -> str:
        return result

    workbench = ContextRelayWorkbench([FunctionTool(log, description="The log of today.")], relay, **options)
    client = ScriptedClient([lambda _: call("log", "{}"), lambda _: "done"])
    agent = AssistantAgent("b", client, workbench=workbench, max_tool_iterations=5)
    asyncio.run(agent.run(task=QUESTION))
    return "\n".join(client.texts)


test_a_hand_over_costs_what_the_page_says, test_a_relay_that_hangs_is_asked_once = offloading_tests(
    "autogen", prompt_with
)
