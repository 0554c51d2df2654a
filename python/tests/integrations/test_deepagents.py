from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, List

from deepagents import create_deep_agent
from deepagents.backends import StateBackend
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from contextrelay import ContextRelay
from contextrelay.integrations.deepagents import (
    ContextRelayBackend,
    ContextRelayMiddleware,
    get_langchain_tools,
)

from .hand_over import QUESTION, offloading_tests
from .million import NEEDLE, million


class ScriptedModel(GenericFakeChatModel):
    """The framework's fake model. It also accepts tools."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


class Recording(ScriptedModel):
    prompts: List[str]

    def _generate(self, messages: List[Any], *args: Any, **more: Any) -> Any:
        self.prompts.append("\n".join(str(each.content) for each in messages))
        return super()._generate(messages, *args, **more)


def scripted(*steps: Any) -> ScriptedModel:
    answers = [
        AIMessage(step)
        if isinstance(step, str)
        else AIMessage("", tool_calls=[{"name": step[0], "args": step[1], "id": f"call-{at}"}])
        for at, step in enumerate(steps)
    ]
    return ScriptedModel(messages=iter(answers))


def ask(agent: Any, text: str) -> List[Any]:
    return list(agent.invoke({"messages": [{"role": "user", "content": text}]})["messages"])


def test_another_agent_reads_the_files_that_an_agent_writes_and_edits(relay: ContextRelay) -> None:
    plan = {"file_path": "/plans/plan.md", "content": "# Plan\n\nShip on Monday.\n"}
    edit = {"file_path": "/plans/plan.md", "old_string": "Monday", "new_string": "Friday"}
    writer = scripted(("write_file", plan), ("edit_file", edit), "done")
    ask(create_deep_agent(model=writer, backend=ContextRelayBackend(relay)), "plan it")
    reader = scripted(("read_file", {"file_path": "/plans/plan.md"}), "done")
    messages = ask(create_deep_agent(model=reader, backend=ContextRelayBackend(relay)), "what is the plan?")
    assert any("Ship on Friday." in str(message.content) for message in messages)
    space = relay.files.space("deepagents")
    assert space.text("plans/plan.md") == "# Plan\n\nShip on Friday.\n"
    assert space.text("plans/plan.md", version=1) == "# Plan\n\nShip on Monday.\n"


def test_a_tool_result_of_a_megabyte_becomes_a_file_in_the_relay(relay: ContextRelay) -> None:
    @tool
    def orders() -> str:
        """Returns all orders."""
        return million()

    model = scripted(("orders", {}), ("grep", {"pattern": "failed", "output_mode": "content"}), "done")
    backend = ContextRelayBackend(relay, space="large")
    messages = ask(create_deep_agent(model=model, tools=[orders], backend=backend), "which order failed?")
    assert any(NEEDLE in str(message.content) for message in messages)
    assert sum(len(str(message.content)) for message in messages) < 100_000
    assert [info.size for info in relay.files.space("large").all()] == [len(million())]


def test_the_backend_follows_the_protocol(relay: ContextRelay) -> None:
    backend = ContextRelayBackend(relay, space="tree")
    backend.write("/a.md", "one fig\ntwo")
    backend.write("/docs/b.md", "three fig.*s")
    backend.write("/docs/deep/c.txt", "four")
    backend.upload_files([("/docs/d.bin", b"\xff\x00\xfe")])
    entries = backend.ls("/docs").entries or []
    assert [each["path"] for each in entries] == ["/docs/b.md", "/docs/d.bin", "/docs/deep/"]
    assert [each["path"] for each in backend.glob("**/*.md").matches or []] == ["/a.md", "/docs/b.md"]
    assert backend.grep("fig.*", None, "*.md").matches == [
        {"path": "/docs/b.md", "line": 1, "text": "three fig.*s"}
    ]
    assert backend.grep("fig", "/", None, max_count=1).truncated is True
    read = backend.read("/a.md", 1, 1)
    assert read.file_data is not None and read.file_data["content"].strip() == "two" and read.start_line == 2
    assert "not found" in str(backend.read("/absent.txt").error)
    found, absent = backend.download_files(["/docs/d.bin", "/nothing"])
    assert found.content == b"\xff\x00\xfe" and absent.error == "file_not_found"
    assert backend.edit("/a.md", "o", "0").error and backend.edit("/a.md", "o", "0", True).occurrences == 2
    assert backend.delete("/docs").path == "/docs" and backend.delete("/docs").error
    assert "Error" in str(backend.write("/", "x").error)


def test_agents_that_edit_one_file_at_the_same_time_lose_nothing(relay: ContextRelay) -> None:
    backend = ContextRelayBackend(relay, space="edits")
    backend.write("/list.md", "\n".join(f"- [ ] item {n};" for n in range(8)))
    with ThreadPoolExecutor(8) as pool:
        edits = [pool.submit(backend.edit, "/list.md", f"[ ] item {n};", f"[x] item {n};") for n in range(8)]
        assert all(edit.result().error is None for edit in edits)
    assert relay.files.space("edits").text("list.md").count("[x]") == 8


def test_a_pointer_in_a_file_lives_as_long_as_the_file(relay: ContextRelay) -> None:
    url = relay.push("the report", ttl=3600)
    ContextRelayBackend(relay, space="kept", ttl=30 * 86400).write("/notes.md", f"The report is at {url}")
    assert str(relay.inspect(url).expires_at) >= str(relay.files.space("kept").info("notes.md").expires_at)


def prompt_with(relay: ContextRelay, result: str, **options: Any) -> str:
    @tool
    def log() -> str:
        """Returns the log of today."""
        return result

    model = Recording(messages=scripted(("log", {}), "done").messages, prompts=[])
    agent = create_deep_agent(
        model=model,
        tools=[log, *get_langchain_tools(relay)[:2]],
        backend=StateBackend(),
        middleware=[ContextRelayMiddleware(relay, **options)],
    )
    ask(agent, QUESTION)
    return model.prompts[-1]


test_a_hand_over_costs_what_the_page_says, test_a_relay_that_hangs_is_asked_once = offloading_tests(
    "deepagents", prompt_with
)
