from __future__ import annotations

import asyncio
from typing import Any, Dict

from claude_agent_sdk import ClaudeAgentOptions
from claude_agent_sdk.testing import run_session_store_conformance

from contextrelay import ContextRelay
from contextrelay.integrations.claude_agent import (
    ContextRelaySessionStore,
    context_relay_server,
    large_result_hooks,
)

from .hand_over import QUESTION, offloading_tests, texts
from .million import NEEDLE, million, url_in

try:
    from mcp import Client as connected
except ImportError:  # Before version 2 of mcp.
    from mcp.shared.memory import create_connected_server_and_client_session as connected


def test_the_store_passes_the_conformance_suite_of_the_framework(relay: ContextRelay) -> None:
    stores = iter(range(1000))
    asyncio.run(
        run_session_store_conformance(
            lambda: ContextRelaySessionStore(relay, space=f"conformance-{next(stores)}")
        )
    )


def test_a_repeated_append_adds_no_entry_twice(relay: ContextRelay) -> None:
    async def check() -> None:
        key: Any = {"project_key": "p", "session_id": "s"}
        store = ContextRelaySessionStore(relay)
        entries: Any = [{"uuid": "1", "type": "user"}, {"type": "title"}]
        await store.append(key, entries)
        await store.append(key, entries)
        assert await store.load(key) == [*entries, entries[1]]

    asyncio.run(check())


def test_the_hook_replaces_only_the_large_texts_of_a_result(relay: ContextRelay) -> None:
    async def check() -> None:
        hook: Any = large_result_hooks(relay)["PostToolUse"][0].hooks[0]

        async def after(response: Any, name: str = "Bash") -> Dict[str, Any]:
            return dict(await hook({"tool_name": name, "tool_response": response}, "id", {}))

        response = {"stdout": million(), "stderr": "", "interrupted": False}
        output = (await after(response))["hookSpecificOutput"]["updatedToolOutput"]
        assert output["stderr"] == "" and output["interrupted"] is False
        assert relay.pull(url_in(output["stdout"]), grep="failed") == f"13378:{NEEDLE}"
        assert await after({"stdout": "small", "stderr": ""}) == {}
        assert await after(response, "mcp__contextrelay__pull_context") == {}

    asyncio.run(check())


def test_the_server_offers_the_tools(relay: ContextRelay) -> None:
    server = context_relay_server(relay)
    assert ClaudeAgentOptions(mcp_servers={"contextrelay": server}).mcp_servers

    async def use() -> Any:
        async with connected(server["instance"]) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            pushed = await client.call_tool("push_context", {"data": "one\ntwo"})
            return names, pushed.content[0].text

    names, url = asyncio.run(use())
    assert names == ["push_context", "peek_context", "pull_context"]
    assert relay.pull(url) == "one\ntwo"


def prompt_with(relay: ContextRelay, result: str, **options: Any) -> str:
    """Returns the question and the tool result, because the full prompt is in another program and cannot be read."""
    hook: Any = large_result_hooks(relay, **options)["PostToolUse"][0].hooks[0]
    before = {"stdout": result, "stderr": ""}
    output = asyncio.run(hook({"tool_name": "Bash", "tool_response": before}, "id", {}))
    return texts([QUESTION, output.get("hookSpecificOutput", {}).get("updatedToolOutput", before)])


test_a_hand_over_costs_what_the_page_says, test_a_relay_that_hangs_is_asked_once = offloading_tests(
    "claude-agent", prompt_with
)
