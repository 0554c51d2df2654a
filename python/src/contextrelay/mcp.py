"""``contextrelay-mcp``: an MCP server with the tools of the relay, over standard input and output.

It implements JSON-RPC itself, so it needs no MCP package. ``relay mcp`` has more tools: threads, artifacts, channels.
"""

from __future__ import annotations

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Optional, TextIO

from .agent_bridge import DEFAULT_DONE_CHANNEL, DEFAULT_TASK_CHANNEL, AgentBridge
from .client import ContextRelay
from .errors import RelayError
from .parts import PartRequest
from .wire import JsonObject

#: Supported protocol revisions, newest first. The tools behave the same in all of them.
_REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
#: Maximum number of calls that run concurrently. A bridged task can occupy one call for minutes.
_MAX_CONCURRENT = 16

_TEXT = {"type": "string"}
TOOLS: List[JsonObject] = [
    {
        "name": "push_context",
        "description": "Store a large text and get a short URL to hand to another agent instead of the text. "
        "Valid for 24 hours by default. Anyone with the URL can read it; on a relay with API keys, only your tenant.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "data": {**_TEXT, "description": "up to 25 MB"},
                "channel": {**_TEXT, "description": "channel to announce it on"},
                "encrypted": {
                    "type": "boolean",
                    "default": False,
                    "description": "for secrets; keep the #key= part of the URL",
                },
                "summary": {**_TEXT, "description": "one line for peek_context"},
            },
            "required": ["data"],
        },
    },
    {
        "name": "peek_context",
        "description": "Read what a relay URL or handle (relay:128) is about without pulling it. Use this first.",
        "inputSchema": {"type": "object", "properties": {"url": _TEXT}, "required": ["url"]},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "pull_context",
        "description": "Read the text behind a relay URL or handle, or a part of it.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "url": _TEXT,
                "part": {
                    **_TEXT,
                    "description": "outline, lines=10-40, grep=REGEX, json=/a/b, question=TEXT, or all",
                },
            },
            "required": ["url"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "bridge_task",
        "description": "Send a task to an agent (contextrelay-bridge start) on a channel, wait, and return its result.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "task": {**_TEXT, "description": "everything the agent needs to know"},
                "task_channel": {**_TEXT, "default": DEFAULT_TASK_CHANNEL},
                "done_channel": {**_TEXT, "default": DEFAULT_DONE_CHANNEL},
                "timeout": {"type": "number", "minimum": 1, "default": 600, "description": "seconds"},
            },
            "required": ["task"],
        },
    },
]


def push_context(
    data: str, channel: Optional[str] = None, encrypted: bool = False, summary: Optional[str] = None
) -> str:
    """Stores a text and returns its URL, or a sentence that starts with ``Error``."""
    return call_tool("push_context", locals())


def peek_context(url: str) -> str:
    """Returns the metadata of a pointer as JSON, or a sentence that starts with ``Error``."""
    return call_tool("peek_context", locals())


def pull_context(url: str, part: Optional[str] = None) -> str:
    """Returns the text of a pointer, or a sentence that starts with ``Error``."""
    return call_tool("pull_context", locals())


def bridge_task(
    task: str,
    task_channel: str = DEFAULT_TASK_CHANNEL,
    done_channel: str = DEFAULT_DONE_CHANNEL,
    timeout: float = 600,
) -> str:
    """Sends a task to an agent and returns its result, or a sentence that starts with ``Error``."""
    return call_tool("bridge_task", locals())


def call_tool(name: str, args: JsonObject) -> str:
    """Runs a tool and returns its text. An error becomes a sentence."""
    return str(Tools(_own("hub")).call(name, args)["content"][0]["text"])


def __getattr__(name: str) -> Any:
    # `hub` and `mcp` are created on first use, because creating them reads the environment.
    if name not in ("hub", "mcp"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _own(name)


def _own(name: str) -> Any:
    if name not in globals():
        globals()[name] = ContextRelay() if name == "hub" else _fast_mcp()
    return globals()[name]


def _fast_mcp() -> Any:
    """Returns a server of the package ``mcp`` with our tools, to which a program can add its own tools.

    Without that package, returns an object that has only ``run``.
    """
    for module, name in (("mcp.server.mcpserver", "MCPServer"), ("mcp.server.fastmcp", "FastMCP")):
        try:
            server = getattr(import_module(module), name)("ContextRelay")
        except ImportError:
            continue
        for tool in (push_context, peek_context, pull_context, bridge_task):
            server.tool()(tool)
        return server
    return SimpleNamespace(run=lambda transport="stdio": main())


class Tools:
    """Runs the tools by name."""

    def __init__(self, hub: ContextRelay) -> None:
        self._hub = hub

    def call(self, name: str, args: JsonObject) -> JsonObject:
        """Runs a tool. An error becomes a tool result with ``isError``."""
        doing, tool = _TOOLS[name]
        try:
            return _text(tool(self._hub, **args))
        except (RelayError, TypeError) as error:
            return {**_text(f"Error {doing}: {error}"), "isError": True}


def _push(
    hub: ContextRelay,
    data: str,
    channel: Optional[str] = None,
    encrypted: bool = False,
    summary: Optional[str] = None,
) -> str:
    return hub.push(data, channel or None, encrypted, {"summary": summary} if summary else None)


def _peek(hub: ContextRelay, url: str) -> str:
    metadata = hub.peek(url)
    return json.dumps(metadata, indent=2, ensure_ascii=False) if metadata else "(no metadata available)"


def _pull(hub: ContextRelay, url: str, part: Optional[str] = None) -> str:
    if not part or part == "all":
        return hub.pull(url)
    return hub.pull_part(url, read_part(part)).text


def _bridge(
    hub: ContextRelay,
    task: str,
    task_channel: str = DEFAULT_TASK_CHANNEL,
    done_channel: str = DEFAULT_DONE_CHANNEL,
    timeout: float = 600,
) -> str:
    return AgentBridge(hub, task_channel, done_channel).push_and_wait(task, timeout)


_TOOLS: Dict[str, "tuple[str, Callable[..., str]]"] = {
    "push_context": ("pushing context", _push),
    "peek_context": ("peeking context", _peek),
    "pull_context": ("pulling context", _pull),
    "bridge_task": ("bridging the task", _bridge),
}


def read_part(text: str) -> PartRequest:
    """Parses the part argument of a tool, such as ``outline``, ``lines=10-40`` or ``question=TEXT``."""
    name, _, value = text.strip().partition("=")
    if name == "outline":
        return PartRequest(outline=True)
    if name not in ("lines", "grep", "json", "question"):
        return PartRequest()
    return PartRequest(**{name: value})  # type: ignore[arg-type]


class Server:
    """Serves one client, with one JSON message per line.

    Calls run concurrently, so answers can come in another order than the calls.
    """

    def __init__(self, tools: Tools, out: TextIO) -> None:
        self._tools = tools
        self._out = out
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(_MAX_CONCURRENT, thread_name_prefix="contextrelay-mcp")

    def serve(self, lines: TextIO) -> None:
        """Serves until the input ends. Then it stops, because the client has gone."""
        for line in lines:
            if line.strip():
                self._read(line)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _read(self, line: str) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            self._send({"id": None, "error": {"code": -32700, "message": "The line is not valid JSON."}})
            return
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            # Ignore a response. This server sends no requests.
            if not (isinstance(message, dict) and ("result" in message or "error" in message)):
                self._send(
                    {
                        "id": None,
                        "error": {"code": -32600, "message": "The message is not a JSON-RPC request."},
                    }
                )
        elif message.get("id") is not None:
            self._pool.submit(self._answer, message)

    def _answer(self, message: JsonObject) -> None:
        params = message.get("params")
        try:
            answer = self._result(message["method"], params if isinstance(params, dict) else {})
        except Exception as error:
            print(f"contextrelay-mcp: {type(error).__name__}: {error}", file=sys.stderr)
            answer = {
                "error": {
                    "code": -32603,
                    "message": "Internal error in contextrelay-mcp; see its standard error.",
                }
            }
        self._send({"id": message["id"], **answer})

    def _result(self, method: str, params: JsonObject) -> JsonObject:
        if method == "initialize":
            return {"result": _introduction(params.get("protocolVersion"))}
        if method == "ping":
            return {"result": {}}
        if method == "tools/list":
            return {"result": {"tools": TOOLS}}
        if method == "tools/call":
            name, args = params.get("name"), params.get("arguments") or {}
            if name not in _TOOLS or not isinstance(args, dict):
                return {"error": {"code": -32602, "message": f"There is no tool {name!r}."}}
            return {"result": self._tools.call(name, args)}
        return {"error": {"code": -32601, "message": f"There is no method {method!r}."}}

    def _send(self, message: JsonObject) -> None:
        # JSON escapes the line breaks in payloads, so each message stays on one line.
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=True)
        with self._lock:
            self._out.write(text + "\n")
            self._out.flush()


def _introduction(requested: Any) -> JsonObject:
    return {
        "protocolVersion": requested if requested in _REVISIONS else _REVISIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "ContextRelay", "version": _version()},
    }


def _version() -> str:
    try:
        return version("contextrelay")
    except PackageNotFoundError:
        return "0"


def _text(text: str) -> JsonObject:
    return {"content": [{"type": "text", "text": text}]}


def main() -> None:
    """Runs the MCP server."""
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    try:
        hub = ContextRelay()
    except RelayError as error:
        sys.exit(f"contextrelay-mcp: {error}")
    # Libraries may print to stdout. Redirect this output to stderr, so that it does not mix with the
    # messages.
    out, sys.stdout = sys.stdout, sys.stderr
    try:
        Server(Tools(hub), out).serve(sys.stdin)
    except (KeyboardInterrupt, BrokenPipeError):
        pass


if __name__ == "__main__":
    main()
