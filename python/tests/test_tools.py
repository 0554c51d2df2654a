"""Tests the behaviour that the tools of all frameworks share."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

import contextrelay.integrations as integrations
from contextrelay import ContextRelay
from contextrelay.integrations.kept_pointers import KeptPointers
from contextrelay.integrations.large_results import LargeResults, seconds_of
from contextrelay.integrations.tools import RelayTools

from .integrations.million import million, url_in

DAY = 24 * 3600


def test_the_same_large_result_gets_the_same_pointer(relay: ContextRelay) -> None:
    first = LargeResults(relay).shown(million(), "orders")
    assert LargeResults(relay).shown(million(), "orders") == first and len(first) < 5000
    assert url_in(LargeResults(relay).shown(million(), "invoices")) != url_in(first)


def test_a_large_result_is_replaced_by_its_most_important_lines(relay: ContextRelay) -> None:
    lines = [f"2026-11-01 INFO request {n} done, no error" for n in range(2000)]
    lines[1200] = "2026-11-01 ERROR payment 88213 failed"
    replacement = LargeResults(relay).shown("\n".join(lines), "logs")
    assert "\n1201 2026-11-01 ERROR payment 88213 failed\n" in replacement


def lifetime(relay: ContextRelay, text: str) -> float:
    """Returns the seconds until the pointer in a text expires."""
    return seconds_of(relay.inspect(url_in(text)).expires_at) - time.time()


def test_a_pointer_that_is_used_again_gets_a_new_expiry(
    relay: ContextRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{million()} once more"
    first = LargeResults(relay).shown(text, "orders")
    assert lifetime(relay, first) <= DAY
    now = time.time()
    monkeypatch.setattr("contextrelay.integrations.large_results.time.time", lambda: now + 20 * 3600)
    assert LargeResults(relay).shown(text, "orders") == first
    monkeypatch.undo()
    assert lifetime(relay, first) > DAY


def test_ttl_sets_the_expiry_of_a_result(relay: ContextRelay) -> None:
    assert 6.9 * DAY < lifetime(relay, LargeResults(relay, ttl=7 * DAY).shown(million(), "ttl")) <= 7 * DAY
    assert lifetime(relay, LargeResults(relay).shown(million(), "ttl")) <= DAY
    assert lifetime(relay, LargeResults(relay).shown(million(), "ttl", forever=True)) > 3600 * DAY


def test_pointers_in_a_stored_content_live_as_long_as_the_content(relay: ContextRelay) -> None:
    urls = [relay.push("one"), relay.push("two", encrypted=True)]
    unknown = b"http://127.0.0.1:9/pull/00000000-0000-4000-8000-000000000000"
    pointers = KeptPointers(relay, 30 * DAY)
    pointers.keep(b"see %s" % urls[0].encode(), b"\xff%s\x00" % urls[1].encode(), unknown)
    assert all(lifetime(relay, url) >= 30 * DAY for url in urls)
    KeptPointers(relay).keep(urls[0].encode())
    assert lifetime(relay, urls[0]) > 3600 * DAY


def test_a_pointer_is_renewed_only_now_and_then_and_a_failure_is_logged(
    relay: ContextRelay, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    content = relay.push("one").encode()
    renew_calls = []
    renew = relay.renew
    monkeypatch.setattr(
        relay, "renew", lambda *args, **options: renew_calls.append(args) or renew(*args, **options)
    )
    pointers = KeptPointers(relay, 30 * DAY)
    for _ in range(3):
        pointers.keep(content)
    assert len(renew_calls) == 1
    unreachable = KeptPointers(ContextRelay("http://127.0.0.1:9", retries=0), DAY)
    for _ in range(2):
        unreachable.keep(content)
    assert len(caplog.messages) == 1 and "may expire" in caplog.messages[0]


def test_a_result_stays_unchanged_if_the_relay_does_not_answer() -> None:
    tools = RelayTools(ContextRelay("http://127.0.0.1:9", retries=0))
    assert LargeResults(tools.relay).shown(million()) == million()
    assert tools.push("x").startswith("Error pushing context: The relay at")
    assert tools.pull("nonsense").startswith("Error pulling context: Not a ContextRelay pointer")


def test_a_pull_of_a_large_text_returns_its_outline(relay: ContextRelay) -> None:
    tools = RelayTools(relay)
    url = relay.push("# Head\n" + million())
    assert "# Head" in tools.pull(url) and len(tools.pull(url)) < 70_000
    assert tools.pull(url, "lines=1-1") == "# Head"
    assert tools.pull(url, "all") == "# Head\n" + million()
    encrypted = tools.pull(relay.push(million(), encrypted=True))
    assert encrypted.startswith("Not pulled: ") and "outline of" not in encrypted


def test_importing_the_integrations_loads_no_framework() -> None:
    script = (
        "import sys, contextrelay.integrations, contextrelay.integrations.tools\n"
        "print([m for m in ('langchain_core', 'langgraph', 'crewai', 'autogen_core', 'agent_framework', 'fsspec', 'aiohttp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_missing_extra_says_what_to_install() -> None:
    with pytest.raises(AttributeError):
        integrations.nonsense  # noqa: B018
    for name, extra in (("ContextRelayPushTool", "crewai"), ("RelayFileSystem", "fsspec")):
        try:
            getattr(integrations, name)
        except ImportError as error:
            assert f"contextrelay[{extra}]" in str(error)
