"""Runs the code blocks of documentation pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import List

from .conftest import ROOT


def blocks(page: str, kind: str = "python") -> List[str]:
    text = (ROOT / page).read_text("utf-8")
    found = re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found, f"{page} has no block of {kind}"
    return found


def run_page(page: str, kind: str = "python") -> None:
    """Runs all blocks of a page in order, as one program. Later blocks use names of earlier blocks."""
    names = {"__name__": Path(page).stem}
    for number, code in enumerate(blocks(page, kind), 1):
        exec(compile(code, f"{page} block {number}", "exec"), names)
