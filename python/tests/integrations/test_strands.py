from __future__ import annotations

import json
from typing import Any, AsyncIterator, Callable, List

import pytest
from strands import Agent, tool
from strands.models import Model
from strands.session.repository_session_manager import RepositorySessionManager
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from contextrelay import ContextRelay
from contextrelay.integrations.strands import (
    ContextRelayHook,
    ContextRelaySessionRepository,
    get_strands_tools,
)

from .hand_over import QUESTION, offloading_tests, texts
from .million import NEEDLE, million, url_in


class ScriptedModel(Model):
    """A fake model. Each step of its script computes an answer from the last message."""

    def __init__(self, script: List[Callable[[str], Any]]) -> None:
        self.script = script
        self.seen: List[str] = []

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.seen.append(json.dumps(messages))
        block = messages[-1]["content"][0]
        last = block["toolResult"]["content"][0]["text"] if "toolResult" in block else block["text"]
        answer = self.script[len(self.seen) - 1](last)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(answer, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": answer}}}
        else:
            use = {"name": answer[0], "toolUseId": f"use-{len(self.seen)}"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(answer[1])}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(answer, str) else "tool_use"}}


@tool
def orders() -> str:
    """Returns all orders."""
    return million()


def test_a_tool_result_of_a_megabyte_becomes_a_pointer_and_the_agent_reads_one_line(
    relay: ContextRelay,
) -> None:
    model = ScriptedModel(
        [
            lambda _: ("orders", {}),
            lambda said: ("pull_context", {"url": url_in(said), "part": "grep=failed"}),
            lambda said: said,
        ]
    )
    tools = [orders, *get_strands_tools(relay)]
    agent = Agent(model=model, tools=tools, hooks=[ContextRelayHook(relay)], callback_handler=None)
    assert str(agent("which order failed?")).strip() == f"13378:{NEEDLE}"
    assert max(map(len, model.seen)) < 20_000, "the megabyte was never before the model"


def test_a_session_continues_in_another_process(relay: ContextRelay) -> None:
    def agent(script: List[Callable[[str], Any]]) -> Agent:
        manager = RepositorySessionManager("talk/1", ContextRelaySessionRepository(relay))
        return Agent(
            model=ScriptedModel(script), session_manager=manager, agent_id="support", callback_handler=None
        )

    agent([lambda _: "Hello, Ada."])("I am Ada.")
    second = agent([lambda _: "Ada."])
    second("Who am I?")
    assert "I am Ada." in second.model.seen[0] and "Hello, Ada." in second.model.seen[0]


def test_the_repository_follows_the_contract(relay: ContextRelay) -> None:
    repository = ContextRelaySessionRepository(relay, space="contract")
    session = Session(session_id="s", session_type=SessionType.AGENT)
    assert repository.read_session("s") is None
    repository.create_session(session)
    with pytest.raises(SessionException):
        repository.create_session(session)
    agent = SessionAgent(agent_id="a", state={"n": 1}, conversation_manager_state={})
    with pytest.raises(SessionException):
        repository.update_agent("s", agent)
    repository.create_agent("s", agent)
    found = repository.read_agent("s", "a")
    assert found is not None and found.state == {"n": 1}
    for n in range(12):
        message = SessionMessage(
            message={"role": "user", "content": [{"text": str(n)}]}, message_id=n, redact_message=None
        )
        repository.create_message("s", "a", message)
    listed = repository.list_messages("s", "a", limit=3, offset=9)
    assert [each.message["content"][0]["text"] for each in listed] == ["9", "10", "11"]
    assert repository.read_message("s", "a", 99) is None
    repository.delete_session("s")
    assert repository.read_session("s") is None and repository.list_messages("s", "a") == []


def test_large_json_becomes_a_pointer_and_an_image_stays(relay: ContextRelay) -> None:
    class Event:
        tool_use = {"name": "orders"}
        result: Any = {"content": [{"json": list(range(9000))}, {"image": "…"}], "toolUseId": "1"}

    ContextRelayHook(relay)._replace(Event)  # type: ignore[arg-type]
    short, image = Event.result["content"]
    assert image == {"image": "…"} and relay.pull(url_in(short["text"]), json="/8999") == "8999"


def prompt_with(relay: ContextRelay, result: str, **options: Any) -> str:
    @tool
    def log() -> str:
        """Returns the log of today."""
        return result

    model = ScriptedModel([lambda _: ("log", {}), lambda _: "done"])
    hooks = [ContextRelayHook(relay, **options)]
    Agent(model=model, tools=[log, *get_strands_tools(relay)], hooks=hooks, callback_handler=None)(QUESTION)
    return texts(json.loads(model.seen[-1]))


test_a_hand_over_costs_what_the_page_says, test_a_relay_that_hangs_is_asked_once = offloading_tests(
    "strands", prompt_with
)
