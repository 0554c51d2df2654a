"""Tests the MCP server with JSON lines, and with the official client if it is installed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest

from contextrelay import AgentBridge, ContextRelay

from .conftest import RelayProcess, plain_environment

COMMAND = [sys.executable, "-m", "contextrelay.mcp"]


class ByHand:
    def __init__(self, url: str) -> None:
        self._process = subprocess.Popen(
            COMMAND,
            env=plain_environment(CONTEXTRELAY_URL=url),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._id = 0

    def __enter__(self) -> "ByHand":
        return self

    def __exit__(self, *_) -> None:
        self._process.stdin.close()
        assert self._process.wait(30) == 0, "it ends when its input does"

    def ask(self, method: str, **params):
        self._id += 1
        self.say(json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}))
        return self.hear()

    def say(self, line: str) -> None:
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def hear(self):
        return json.loads(self._process.stdout.readline())

    def tool(self, name: str, **arguments) -> str:
        return self.ask("tools/call", name=name, arguments=arguments)["result"]["content"][0]["text"]


def test_the_four_tools_of_the_original(server: RelayProcess, relay: ContextRelay) -> None:
    with ByHand(server.url) as mcp:
        assert (
            mcp.ask("initialize", protocolVersion="2025-06-18")["result"]["protocolVersion"] == "2025-06-18"
        )
        mcp.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        tools = mcp.ask("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools] == [
            "push_context",
            "peek_context",
            "pull_context",
            "bridge_task",
        ]
        url = mcp.tool("push_context", data="one\ntwo\nthree", summary="numbers")
        assert relay.pull(url) == "one\ntwo\nthree"
        assert json.loads(mcp.tool("peek_context", url=url)) == {"summary": "numbers"}
        assert mcp.tool("pull_context", url=url) == "one\ntwo\nthree"
        assert mcp.tool("pull_context", url=url, part="lines=2-2") == "two"
        assert mcp.tool("pull_context", url=url, part="all") == "one\ntwo\nthree"
        secret = mcp.tool("push_context", data="ü\u2028", encrypted=True)
        assert "#key=" in secret and mcp.tool("pull_context", url=secret) == "ü\u2028"
        assert mcp.tool("peek_context", url=secret) == "(no metadata available)"


def test_errors_are_returned_as_sentences(server: RelayProcess) -> None:
    missing = f"{server.url}/pull/00000000-0000-4000-8000-000000000000"
    with ByHand(server.url) as mcp:
        assert mcp.tool("pull_context", url=missing).startswith("Error pulling context: ")
        assert mcp.tool("peek_context", url="nonsense").startswith("Error peeking context: ")
        assert mcp.tool("push_context", data="").startswith("Error pushing context: ")
        assert mcp.tool("pull_context", url=missing, part="nonsense").startswith("Error pulling context: ")
        assert mcp.tool("pull_context", nonsense=1).startswith("Error pulling context: ")
        assert mcp.ask("tools/call", name="nonsense")["error"]["code"] == -32602
        assert mcp.ask("server/discover")["error"]["code"] == -32601
        assert mcp.ask("ping")["result"] == {}
        mcp.say("no json")
        assert mcp.hear()["error"]["code"] == -32700
        mcp.say("[]")
        assert mcp.hear()["error"]["code"] == -32600


def test_the_bridge_task_tool_returns_the_result(server: RelayProcess, relay: ContextRelay) -> None:
    bridge = AgentBridge(relay, "mcp-tasks", "mcp-done", lambda task: "bridged")
    thread = threading.Thread(target=bridge.start, daemon=True)
    thread.start()
    with ByHand(server.url) as mcp:
        arguments = {"task": "x", "task_channel": "mcp-tasks", "done_channel": "mcp-done", "timeout": 60}
        assert mcp.tool("bridge_task", **arguments) == "bridged"
        answer = mcp.ask(
            "tools/call", name="bridge_task", arguments={"task": "x", "task_channel": "nobody", "timeout": 1}
        )
        assert answer["result"]["isError"] is True
    bridge.stop()
    thread.join(30)


def test_the_official_mcp_client_can_use_the_server(server: RelayProcess) -> None:
    mcp = pytest.importorskip("mcp", reason="the official MCP package is not installed")
    import asyncio

    from mcp.client.stdio import stdio_client

    async def session() -> str:
        environment = plain_environment(CONTEXTRELAY_URL=server.url)
        parameters = mcp.StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=environment)
        async with stdio_client(parameters) as streams, mcp.ClientSession(*streams) as client:
            await client.initialize()
            assert len((await client.list_tools()).tools) == 4
            pushed = await client.call_tool("push_context", {"data": "by the official client"})
            pulled = await client.call_tool("pull_context", {"url": pushed.content[0].text})
            return pulled.content[0].text

    assert asyncio.run(session()) == "by the official client"
