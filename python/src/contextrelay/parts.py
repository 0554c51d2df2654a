"""Parts of a text payload. The relay cuts a part. If the payload is encrypted, the client cuts it."""

from __future__ import annotations

import json as _json
import re
from dataclasses import dataclass
from typing import Dict, List, Optional

from .errors import BadInputError

#: Maximum length of a part in characters. The relay has the same limit.
_PART_CHARS = 1024 * 1024
_MATCHES = 1000


@dataclass(frozen=True)
class Part:
    """A part of a text."""

    text: str
    #: Position of the part in the text, for example ``lines 10-40 of 1200``.
    about: str
    #: True if the part was shortened because it exceeded a limit.
    truncated: bool


@dataclass(frozen=True)
class PartRequest:
    """Selects a part of a text. Set exactly one of ``lines``, ``grep``, ``json``, ``outline`` and ``question``."""

    #: Line range: ``10-40``, ``10-`` (to the end), ``-20`` (the last 20) or ``7``. The first line is 1.
    lines: Optional[str] = None
    #: Regular expression. The part contains the matching lines with their line numbers.
    grep: Optional[str] = None
    #: With ``grep``: number of lines before and after each match that are included.
    context: Optional[int] = None
    #: With ``grep``: true if upper and lower case are treated as equal.
    ignore_case: bool = False
    #: JSON Pointer (RFC 6901) into a JSON payload, for example ``/users/0/name``.
    json: Optional[str] = None
    #: True to return an outline of the text: headings, definitions or the JSON structure, with line numbers.
    outline: bool = False
    #: Question about the text. The part contains the lines that most likely answer it, with line numbers.
    question: Optional[str] = None

    def __post_init__(self) -> None:
        selected = [name for name in ("lines", "grep", "json", "question") if getattr(self, name) is not None]
        if len(selected) + self.outline != 1:
            raise _bad_part("set exactly one of lines, grep, json, outline and question")

    def query(self) -> Dict[str, object]:
        """Returns the query parameters of the request."""
        return {
            "lines": self.lines,
            "grep": self.grep,
            "context": self.context,
            "ignore_case": self.ignore_case,
            "json": self.json,
            "outline": self.outline,
            "question": self.question,
        }


def part_of(
    lines: Optional[str] = None,
    grep: Optional[str] = None,
    json: Optional[str] = None,
    outline: bool = False,
    context: Optional[int] = None,
    ignore_case: bool = False,
    question: Optional[str] = None,
) -> Optional[PartRequest]:
    """Builds a part request from keyword arguments. Returns None if they select no part."""
    if lines is None and grep is None and json is None and question is None and not outline:
        return None
    return PartRequest(lines, grep, context, ignore_case, json, outline, question)


def check_can_take(part: PartRequest) -> None:
    """Raises BadInputError for an outline or a question, which only the relay can answer."""
    if part.outline or part.question is not None:
        raise _bad_part(
            "Python cannot make the outline or excerpt of an encrypted payload",
            "Run: relay pull <url> --outline",
        )


def take_part(text: str, part: PartRequest) -> Part:
    """Cuts the requested part out of a text. Raises BadInputError for an outline or a question."""
    check_can_take(part)
    if part.lines is not None:
        return _bounded(*_take_lines(_lines_of(text), part.lines))
    if part.grep is not None:
        return _bounded(*_take_grep(_lines_of(text), part))
    pointer = part.json or ""
    return _bounded(_take_json(text, pointer), f"json {pointer or 'document'}")


def _lines_of(text: str) -> List[str]:
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return [line[:-1] if line.endswith("\r") else line for line in lines]


def _take_lines(lines: List[str], line_range: str) -> "tuple[str, str]":
    match = re.fullmatch(r"\s*(\d{1,12})?\s*(?:(-)\s*(\d{1,12})?)?\s*", line_range)
    if not match or not (match[1] or match[3]):
        raise _bad_part(f"lines={line_range} is not a range such as 10-40, 10-, -20 or 7")
    if match[1] is None:
        first, last = max(1, len(lines) - int(match[3]) + 1), len(lines)
    else:
        first = int(match[1])
        last = first if not match[2] else int(match[3]) if match[3] else len(lines)
    if first == 0 or first > len(lines) or last < first:
        raise _bad_part(
            f"lines={line_range} selects no line: the payload has {len(lines)} lines, and they start at 1"
        )
    last = min(last, len(lines))
    return "\n".join(lines[first - 1 : last]), f"lines {first}-{last} of {len(lines)}"


def _take_grep(lines: List[str], part: PartRequest) -> "tuple[str, str]":
    try:
        pattern = re.compile(part.grep or "", re.IGNORECASE if part.ignore_case else 0)
    except re.error as error:
        raise _bad_part(f"the regular expression is invalid: {error}") from error
    matching = [number for number, line in enumerate(lines) if pattern.search(line)]
    matches, around, shown = set(matching[:_MATCHES]), part.context or 0, []
    last = -1
    near = sorted({at for match in matches for at in range(match - around, match + around + 1)})
    for at in near:
        if not 0 <= at < len(lines):
            continue
        if around and last >= 0 and at > last + 1:
            shown.append("--")
        shown.append(f"{at + 1}{':' if at in matches else '-'}{lines[at]}")
        last = at
    return "\n".join(shown), f"{len(matching)} matches in {len(lines)} lines"


def _take_json(text: str, pointer: str) -> str:
    try:
        value = _json.loads(text)
    except ValueError:
        raise BadInputError(
            "The payload is not JSON.", code="not_json", hint="Use lines or grep instead."
        ) from None
    if pointer and not pointer.startswith("/"):
        raise _bad_part(f"json={pointer} must start with /")
    for name in pointer.split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            raise _bad_part(f'there is no "{name}"', "The outline shows which names exist.")
    return value if isinstance(value, str) else _json.dumps(value, indent=2, ensure_ascii=False)


def _bounded(text: str, about: str) -> Part:
    if len(text) <= _PART_CHARS:
        return Part(text, about, False)
    return Part(text[:_PART_CHARS] + " …", f"{about}; cut at {_PART_CHARS} characters", True)


def _bad_part(what: str, hint: str = "") -> BadInputError:
    return BadInputError(f"Cannot read this part: {what}.", code="bad_part", hint=hint)
