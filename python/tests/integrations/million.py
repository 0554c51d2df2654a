"""A tool result of one megabyte that contains one important line. The tests of all frameworks use it."""

from __future__ import annotations

import re

LINES = 20_000
NEEDLE = "order 13377 failed: card expired"


def million() -> str:
    rows = [f"order {n} shipped, nothing of note, all is well here" for n in range(LINES)]
    rows[13377] = NEEDLE
    text = "\n".join(rows)
    assert len(text) > 1_000_000
    return text


def url_in(text: str) -> str:
    match = re.search(r"https?://\S+/pull/[0-9a-f-]{36}(?:#key=\S+)?", text)
    assert match, text[:300]
    return match[0]
