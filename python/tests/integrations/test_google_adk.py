from __future__ import annotations

import asyncio
from typing import Any, AsyncGenerator, Callable, List

import pytest
from google.adk.agents import LlmAgent
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from contextrelay import ContextRelay
from contextrelay.integrations.google_adk import (
    ContextRelayArtifactService,
    ContextRelayPlugin,
    ContextRelaySessionService,
    get_google_adk_tools,
)

from .hand_over import QUESTION, offloading_tests, texts
from .million import NEEDLE, million, url_in


class ScriptedModel(BaseLlm):
    """A fake model. Each step of its script computes an answer from the last part of the request."""

    model: str = "scripted"
    script: List[Callable[[str], Any]]
    seen: List[str] = []

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.seen.append(str(llm_request.contents))
        part = llm_request.contents[-1].parts[-1]
        last = str(part.function_response.response["result"]) if part.function_response else part.text
        answer = self.script[len(self.seen) - 1](last)
        found = types.Part(text=answer) if isinstance(answer, str) else types.Part(function_call=answer)
        yield LlmResponse(content=types.Content(role="model", parts=[found]))


def call(name: str, **arguments: Any) -> types.FunctionCall:
    return types.FunctionCall(name=name, args=arguments)


def orders() -> str:
    """Returns all orders."""
    return million()


async def ask(runner: Runner, session: str, text: str) -> str:
    message = types.Content(role="user", parts=[types.Part(text=text)])
    answer = ""
    async for event in runner.run_async(user_id="ada", session_id=session, new_message=message):
        if event.content and event.content.parts and event.content.parts[-1].text:
            answer = event.content.parts[-1].text
    return answer


def test_a_tool_result_of_a_megabyte_becomes_a_pointer_and_a_second_process_continues(
    relay: ContextRelay,
) -> None:
    def runner(script: List[Callable[[str], Any]]) -> Any:
        model = ScriptedModel(script=script, seen=[])
        agent = LlmAgent(name="support", model=model, tools=[orders, *get_google_adk_tools(relay)])
        service = ContextRelaySessionService(relay)
        return Runner(
            app_name="shop", agent=agent, session_service=service, plugins=[ContextRelayPlugin(relay)]
        ), model

    async def check() -> None:
        first, model = runner(
            [
                lambda _: call("orders"),
                lambda said: call("pull_context", url=url_in(said), part="grep=failed"),
                lambda said: said,
            ]
        )
        await first.session_service.create_session(app_name="shop", user_id="ada", session_id="s")
        assert await ask(first, "s", "which order failed?") == f"13378:{NEEDLE}"
        assert max(map(len, model.seen)) < 60_000, "the megabyte was never before the model"
        second, later = runner([lambda _: "It was 13377."])
        await ask(second, "s", "which one was it?")
        assert "which order failed?" in later.seen[0] and NEEDLE in later.seen[0]

    asyncio.run(check())


def test_sessions_keep_events_and_state_by_scope(relay: ContextRelay) -> None:
    async def check() -> None:
        service = ContextRelaySessionService(relay, space="adk-contract")
        at = {"app_name": "app", "user_id": "u"}
        state = {"own": 1, "user:name": "Ada", "app:version": 7, "temp:x": 1}
        session = await service.create_session(**at, session_id="one", state=state)
        assert session.state == {"own": 1, "user:name": "Ada", "app:version": 7}
        with pytest.raises(AlreadyExistsError):
            await service.create_session(**at, session_id="one")
        for n in range(3):
            delta = {"own": n, "user:seen": n, "temp:y": n}
            event = Event(author="u", timestamp=100.0 + n, actions=EventActions(state_delta=delta))
            await service.append_event(session, event)
        found = await service.get_session(**at, session_id="one")
        assert found is not None and len(found.events) == 3
        assert found.state == {"own": 2, "user:name": "Ada", "user:seen": 2, "app:version": 7}
        recent = await service.get_session(
            **at, session_id="one", config=GetSessionConfig(num_recent_events=1)
        )
        assert recent is not None and [event.timestamp for event in recent.events] == [102.0]
        assert recent.state["own"] == 2
        other = await service.create_session(**at, session_id="two")
        assert other.state == {"user:name": "Ada", "user:seen": 2, "app:version": 7}
        assert await service.get_user_state(**at) == {"name": "Ada", "seen": 2}
        listed = await service.list_sessions(app_name="app")
        assert {each.id for each in listed.sessions} == {"one", "two"}
        await service.delete_session(**at, session_id="one")
        assert await service.get_session(**at, session_id="one") is None

    asyncio.run(check())


def test_artifacts_keep_all_versions_and_the_scope_of_the_user(relay: ContextRelay) -> None:
    async def check() -> None:
        service = ContextRelayArtifactService(relay)
        at = {"app_name": "app", "user_id": "u", "session_id": "s"}
        text, image = types.Part(text="one"), types.Part.from_bytes(data=b"\xff\x00", mime_type="image/png")
        assert await service.save_artifact(**at, filename="a.txt", artifact=text) == 0
        assert await service.save_artifact(**at, filename="a.txt", artifact=types.Part(text="two")) == 1
        assert (
            await service.save_artifact(
                **at, filename="user:logo.png", artifact=image, custom_metadata={"by": "x"}
            )
            == 0
        )
        newest = await service.load_artifact(**at, filename="a.txt")
        first = await service.load_artifact(**at, filename="a.txt", version=0)
        assert newest is not None and newest.text == "two" and first is not None and first.text == "one"
        logo = await service.load_artifact(app_name="app", user_id="u", filename="user:logo.png")
        assert logo is not None and logo.inline_data is not None and logo.inline_data.data == b"\xff\x00"
        assert await service.list_artifact_keys(**at) == ["a.txt", "user:logo.png"]
        assert await service.list_artifact_keys(app_name="app", user_id="u") == ["user:logo.png"]
        assert await service.list_versions(**at, filename="a.txt") == [0, 1]
        about = await service.get_artifact_version(**at, filename="user:logo.png")
        assert about is not None and about.custom_metadata == {"by": "x"} and about.mime_type == "image/png"
        saves = [
            service.save_artifact(**at, filename="race", artifact=types.Part(text=str(n))) for n in range(6)
        ]
        assert sorted(await asyncio.gather(*saves)) == list(range(6))
        # Even if an old version is removed or has expired, the next version gets the next number.
        relay.files.space("adk-artifacts").remove([f"=app/=u/=s/=a.txt/{0:09}"])
        assert await service.save_artifact(**at, filename="a.txt", artifact=text) == 2
        await service.delete_artifact(**at, filename="a.txt")
        assert await service.load_artifact(**at, filename="a.txt") is None

    asyncio.run(check())


def test_a_large_structured_result_becomes_one_pointer(relay: ContextRelay) -> None:
    async def check() -> None:
        plugin = ContextRelayPlugin(relay)

        class Tool:
            name = "orders"

        async def after(result: Any) -> Any:
            return await plugin.after_tool_callback(
                tool=Tool(),  # type: ignore[arg-type]
                tool_args={},
                tool_context=None,
                result=result,
            )

        rows = [{"order": n, "state": "shipped"} for n in range(5000)]
        short = await after({"rows": rows})
        assert (
            set(short) == {"result"}
            and relay.pull(url_in(short["result"]), json="/rows/4999/order") == "4999"
        )
        assert await after({"rows": rows[:3]}) is None

    asyncio.run(check())


def prompt_with(relay: ContextRelay, result: str, **options: Any) -> str:
    def log() -> str:
        """Returns the log of today."""
        return result

    prompts: List[str] = []

    class Recording(ScriptedModel):
        async def generate_content_async(
            self, llm_request: Any, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            instruction = llm_request.config.system_instruction
            contents = [each.model_dump(mode="json") for each in llm_request.contents]
            prompts.append(texts([instruction, contents]))
            async for each in super().generate_content_async(llm_request, stream):
                yield each

    async def run() -> None:
        model = Recording(script=[lambda _: call("log"), lambda _: "done"], seen=[])
        agent = LlmAgent(name="b", model=model, tools=[log, *get_google_adk_tools(relay)])
        service = InMemorySessionService()
        runner = Runner(
            app_name="shop",
            agent=agent,
            session_service=service,
            plugins=[ContextRelayPlugin(relay, **options)],
        )
        await service.create_session(app_name="shop", user_id="ada", session_id="b")
        await ask(runner, "b", QUESTION)

    asyncio.run(run())
    return prompts[-1]


test_a_hand_over_costs_what_the_page_says, test_a_relay_that_hangs_is_asked_once = offloading_tests(
    "google-adk", prompt_with
)
