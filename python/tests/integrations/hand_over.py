"""Tests that all integrations share: the token cost of a hand-over, and the cost of a relay that hangs."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Callable, List, Tuple

import pytest

from contextrelay import ContextRelay, RelayError, RelayTimeoutError
from contextrelay.integrations import large_results

from ..conftest import ROOT
from ..test_large_results import Hanging

NEEDLE = "ERROR payment 4711 refused: the card has expired"
#: The answer of agent A: 60 KB with one line that matters. test/integrations/hand-over.ts uses the same text.
RESULT = "\n".join(f"2026-11-17 INFO request {n} was answered in {n % 97} ms" for n in range(2000))[:59_000]
RESULT += f"\n{NEEDLE}"

QUESTION = "Why was payment 4711 refused?"

#: Runs agent B with a tool that returns a text. Returns the texts of agent B's next prompt.
PromptWith = Callable[..., str]


def offloading_tests(framework: str, prompt_with: PromptWith) -> Tuple[Any, Any]:
    """Returns tests for a framework. ``prompt_with(relay, result, **options)`` passes the options to the integration."""

    def costs_what_the_page_says(relay: ContextRelay) -> None:
        pasted = _tokens(relay, prompt_with(relay, RESULT, max_bytes=10**9))
        prompt = prompt_with(relay, RESULT)
        assert NEEDLE in prompt and "/pull/" in prompt
        passed = _tokens(relay, prompt)
        record = os.environ.get("HAND_OVER_FILE")
        if record:
            with open(record, "a") as file:
                print(
                    json.dumps({"page": f"python-{framework}", "pasted": pasted, "passed": passed}), file=file
                )
            return
        page = (ROOT / "docs" / "integrations" / "README.md").read_text("utf-8")
        row = re.search(rf"^\| \[[^|]*\]\(python-{framework}\.md\).*$", page, re.MULTILINE)
        assert row, f"{framework} is not in the table"
        if "→" not in row[0]:
            pytest.skip("the table has no figure yet")
        documented = [int(number.replace(" ", "")) for number in row[0].split("|")[-2].split("→")]
        assert documented == [pytest.approx(pasted, rel=0.1), pytest.approx(passed, rel=0.1)], (
            pasted,
            passed,
        )

    def hangs_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(large_results, "_OFFLOAD_S", 0.2)
        errors: List[RelayError] = []
        hanging = Hanging()
        try:
            prompt = prompt_with(ContextRelay(hanging.url), RESULT, on_error=errors.append)
        finally:
            hanging.close()
        assert prompt.count(NEEDLE) == 1 and "/pull/" not in prompt, "the model gets the whole result"
        assert [type(error) for error in errors] == [RelayTimeoutError]

    return costs_what_the_page_says, hangs_only_once


def texts(value: Any) -> str:
    """Returns all texts in a JSON value: a prompt without the punctuation of its format."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return "\n".join(text for text in map(texts, value) if text)
    return value if isinstance(value, str) else ""


def _tokens(relay: ContextRelay, prompt: str) -> int:
    counted = relay.push_detailed(prompt, count=True).tokens
    assert counted is not None and counted["tokenizer"] == "o200k_base" and not counted["estimated"]
    return counted["tokens"]
