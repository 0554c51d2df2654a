"""What the tools of every framework have in common."""

from __future__ import annotations

import subprocess
import sys

import pytest

import contextrelay.integrations as integrations
from contextrelay import ContextRelay
from contextrelay.integrations.tools import RelayTools

from .integrations.million import million, url_in


def test_a_large_result_has_the_same_pointer_each_time(relay: ContextRelay) -> None:
    tools = RelayTools(relay)
    first = tools.shortened(million(), "orders")
    assert tools.shortened(million(), "orders") == first and len(first) < 1000
    assert url_in(tools.shortened(million(), "invoices")) != url_in(first)
    assert tools.shortened("short") == "short"
    secret = RelayTools(relay, encrypted=True).shortened(million())
    assert relay.pull(url_in(secret)) == million()


def test_a_result_stays_whole_where_no_relay_answers() -> None:
    tools = RelayTools(ContextRelay("http://127.0.0.1:9", retries=0))
    assert tools.shortened(million()) == million()
    assert tools.push("x").startswith("Error pushing context: The relay at")
    assert tools.pull("nonsense").startswith("Error pulling context: Not a ContextRelay pointer")


def test_a_pull_of_a_large_text_answers_with_its_outline(relay: ContextRelay) -> None:
    tools = RelayTools(relay)
    url = relay.push("# Head\n" + million())
    assert "# Head" in tools.pull(url) and len(tools.pull(url)) < 25_000
    assert tools.pull(url, "lines=1-1") == "# Head"
    assert tools.pull(url, "all") == "# Head\n" + million()
    assert tools.pull(relay.push(million(), encrypted=True)).startswith("The text has about")


def test_importing_the_integrations_loads_no_framework() -> None:
    script = (
        "import sys, contextrelay.integrations, contextrelay.integrations.tools\n"
        "print([m for m in ('langchain_core', 'langgraph', 'crewai', 'autogen_core', 'agent_framework', 'fsspec', 'aiohttp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_what_is_missing_says_what_to_install() -> None:
    with pytest.raises(AttributeError):
        integrations.nonsense  # noqa: B018
    for name, extra in (("ContextRelayPushTool", "crewai"), ("RelayFileSystem", "fsspec")):
        try:
            getattr(integrations, name)
        except ImportError as error:
            assert f"contextrelay[{extra}]" in str(error)
