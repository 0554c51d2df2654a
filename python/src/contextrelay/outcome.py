"""The block at the end of an agent's output that contains its result."""

from __future__ import annotations

import re
from typing import NamedTuple

OUTCOME_START = "=== CC_OUTCOME_START ==="
OUTCOME_END = "=== CC_OUTCOME_END ==="

#: Placeholders in the instruction. A block that contains one of them is an echo of the instruction, not an
#: answer.
_PLACEHOLDERS = ("(what you did)", "(what is left, or nothing)", "(what the sender should know)")

#: Text that is appended to every task.
OUTCOME_INSTRUCTION = f"""

---
When you have finished, end with this block, each marker alone on its line:
{OUTCOME_START}
COMPLETED: {_PLACEHOLDERS[0]}
NOT_DONE: {_PLACEHOLDERS[1]}
NOTES: {_PLACEHOLDERS[2]}
{OUTCOME_END}
"""

_SUMMARY_CHARS = 280


class Outcome(NamedTuple):
    """The result in an agent's output."""

    text: str
    #: True if a result block was found. If not, ``text`` is the whole output.
    found: bool


def read_outcome(output: str) -> Outcome:
    """Returns the last result block, because agents correct themselves.

    Ignores an echo of the instruction. Without a block, the whole output is the result.
    """
    lines = output.split("\n")
    end = -1
    for at in range(len(lines) - 1, -1, -1):
        line = _bare(lines[at])
        if line == OUTCOME_END:
            end = at
        elif line == OUTCOME_START and end >= 0:
            text = _undented(lines[at + 1 : end])
            if not any(each in re.sub(r"\s+", " ", text) for each in _PLACEHOLDERS):
                return Outcome(text, True)
            end = -1
    return Outcome(output.strip(), False)


def summary_of(text: str) -> str:
    """Returns the text after COMPLETED. If there is none, returns the first line."""
    labels = r"(?:COMPLETED|NOT_DONE|NOTES):"
    match = re.search(rf"(?:^|\n)[ \t]*COMPLETED:(.*?)(?=\n[ \t]*{labels}|$)", text, re.DOTALL)
    return first_line(match[1] if match else text, _SUMMARY_CHARS) or "no output"


def first_line(text: str, chars: int) -> str:
    """Returns the first line that is not empty, cut to ``chars`` characters."""
    line = next((each.strip() for each in text.split("\n") if each.strip()), "")
    return line if len(line) <= chars else line[: chars - 1] + "…"


def _bare(line: str) -> str:
    """Removes decoration that agents and terminals add: bullets, quotes, frames and emphasis."""
    return re.sub(r"^[\s>*•●⏺⎿│┃|`]+|[\s*│┃|`]+$", "", line)


def _undented(lines: "list[str]") -> str:
    filled = [line for line in lines if line.strip()]
    if filled and all(re.match(r"\s*[│┃]", line) for line in filled):
        lines = [re.sub(r"^\s*[│┃]|[│┃]\s*$", "", line) for line in lines]
    plain = [line.rstrip() for line in lines]
    depth = min((len(line) - len(line.lstrip()) for line in plain if line), default=0)
    return "\n".join(line[depth:] for line in plain).strip()
