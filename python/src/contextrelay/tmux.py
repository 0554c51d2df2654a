"""Runs tasks with an agent in a tmux window."""

from __future__ import annotations

import re
import subprocess
import time
from typing import Callable, NamedTuple, Optional, Sequence
from uuid import uuid4

from .errors import RelayError, RelayTimeoutError
from .outcome import read_outcome

#: Interval between two reads of the screen, in seconds.
_POLL_EVERY = 0.5
#: Seconds without a change after which the output on the screen counts as complete.
_SETTLED = 1.5
#: Seconds without a change after which a ready prompt means that the task is done, if the agent was never seen
#: working.
_SETTLED_UNSEEN = 10.0
#: Seconds between the paste and Enter. If Enter comes too early, terminals treat it as part of the paste.
_BEFORE_ENTER = 0.5
#: Maximum seconds to wait until the screen changes after Enter.
_STARTS = 30.0
#: Maximum length of the reported question of an agent, in characters.
_QUESTION_CHARS = 400


class Stuck(NamedTuple):
    """Reason why a task makes no progress."""

    #: The reason as a sentence without the full stop.
    why: str
    #: The question that the agent asks a person. Empty if it asks none.
    asked: str = ""


class TmuxDispatcher:
    """Pastes a task into a tmux window.

    Waits until the agent shows a result block or waits for input again.

    Call the object itself or :meth:`dispatch`. If the agent asks a person, or the screen does not change
    for ``stuck_after`` seconds, :attr:`stuck` contains the reason, and the dispatcher keeps waiting.
    ``relay bridge start --tmux`` supports more agents and can also stop them.
    """

    #: If the screen contains one of these texts, the agent is working.
    BUSY_MARKERS: Sequence[str] = (
        "esc to interrupt",
        "esc to cancel",
        "Generating…",
        "Writing file…",
        "Reading file…",
    )

    #: If the end of the screen matches one of these patterns, the agent asks a person.
    ASKS_PATTERNS: Sequence[str] = (
        r"(?:Esc to cancel|Enter to (?:confirm|select))[^\n]*$",  # Claude Code
        r"\n *› *\d+\. [^›]*(?:enter|esc)[^\n]*$",  # Codex
        r"● \d+\. [^●]*╯$",  # Gemini CLI
        r"△ Permission required[^△]*Allow once[^△]*$",  # OpenCode
        r"\(Y\)es/\(N\)o[^\n]*$",  # Aider
    )

    #: If the end of the screen matches one of these patterns, the agent waits for input.
    READY_PATTERNS: Sequence[str] = (
        r"─{8}[^\n]*\n[│ ]*[❯>!](?![ \u00a0]*\d+\. )[^─]*\n[^\n]*─{8}[^─]*$",  # Claude Code
        r"(?:^|\n)›[^›]*$",  # Codex
        r"▄{8}\n *[>!*] [^▄▀]*\n▀{8}▀*(?:\n[^\n▀]*){0,4}$",  # Gemini CLI
        r"ctrl\+p commands$",  # OpenCode
        r"Aider v\d[\s\S]*\n(?:\w+ )?(?:multi)?>$",
    )

    def __init__(
        self, session: str = "vibe", window: int = 0, timeout: float = 600, *, stuck_after: float = 60
    ) -> None:
        """``timeout``: maximum seconds for one task.

        ``stuck_after``: seconds without a change until a task is stuck.
        """
        self.session = session
        self.window = window
        self.timeout = timeout
        self.stuck_after = stuck_after
        #: Reason why the task makes no progress. None if it makes progress.
        self.stuck: Optional[Stuck] = None
        self._worked = False
        #: Called after :attr:`stuck` has changed.
        self.on_stuck: Callable[[], object] = lambda: None

    def __call__(self, task_text: str) -> str:
        return self.dispatch(task_text)

    @property
    def target(self) -> str:
        """The tmux target of the window."""
        # `=` requires the exact session name. Without it, `work` could also match `workshop`.
        return f"={self.session}:{self.window}"

    def dispatch(self, task_text: str) -> str:
        """Runs a task and returns the text that the window has shown since the start.

        After a timeout, the ``output`` of the exception contains this text.
        """
        deadline = time.monotonic() + self.timeout
        try:
            # Wait until no dialog is open, because Enter would answer the dialog.
            self._watch(deadline, self._asks_nothing)
            before = self._screen(all=True)
            self._paste(task_text)
            self._watch(deadline, self._asks_nothing)
            pasted = self._screen()
            self._tmux("send-keys", "-t", self.target, "Enter")
            starts = min(deadline, time.monotonic() + _STARTS)
            self._watch(starts, lambda screen, _: screen != pasted)
            self._worked = False
            self._watch(deadline, self._is_done)
        finally:
            self._report(None)
        output = _without_beginning(self._screen(all=True), before).strip()
        if time.monotonic() >= deadline:
            late = RelayTimeoutError(
                f"The agent in tmux {self.session}:{self.window} did not finish within {self.timeout:g} s."
            )
            late.output = output
            raise late
        return output

    def _asks_nothing(self, screen: str, still: float) -> bool:
        return not self._asks(screen, still)

    def _is_done(self, screen: str, still: float) -> bool:
        """Returns whether the task is done.

        It is not enough that the screen does not change, because the agent may wait for a person.
        """
        if self._asks(screen, still) or any(marker in screen for marker in self.BUSY_MARKERS):
            self._worked = True
            return False
        if still < _SETTLED:
            return False
        if read_outcome(self._screen(all=True)).found:
            return True
        ready = any(re.search(pattern, screen.rstrip()) for pattern in self.READY_PATTERNS)
        return ready and (self._worked or still >= _SETTLED_UNSEEN)

    def _asks(self, screen: str, still: float) -> bool:
        """Returns whether the agent asks a person. Also updates :attr:`stuck`."""
        visible = screen.rstrip()
        where = f"tmux {self.session}:{self.window}"
        asks = any(re.search(pattern, visible) for pattern in self.ASKS_PATTERNS)
        if asks:
            self._report(Stuck(f"The agent in {where} waits for an answer", _question_in(visible)))
        elif still >= self.stuck_after:
            self._report(Stuck(f"The screen of {where} has not changed for {self.stuck_after:g} s"))
        else:
            self._report(None)
        return asks

    def _report(self, stuck: Optional[Stuck]) -> None:
        if stuck != self.stuck:
            self.stuck = stuck
            self.on_stuck()

    def _watch(self, until: float, seen: Callable[[str, float], bool]) -> None:
        """Polls the screen until ``seen(screen, seconds without a change)`` returns true, or until the
        deadline.
        """
        last, since = "", time.monotonic()
        while time.monotonic() < until:
            screen = self._screen()
            if screen != last:
                last, since = screen, time.monotonic()
            if seen(screen, time.monotonic() - since):
                return
            time.sleep(_POLL_EVERY)

    def _paste(self, text: str) -> None:
        """Pastes the text. A program that supports bracketed paste treats several lines as one input."""
        buffer = f"relay-{uuid4().hex[:8]}"
        self._tmux("load-buffer", "-b", buffer, "-", input=text)
        self._tmux("paste-buffer", "-p", "-d", "-b", buffer, "-t", self.target)
        time.sleep(_BEFORE_ENTER)

    def _screen(self, all: bool = False) -> str:
        """Returns the visible screen.

        With ``all``, returns the whole scrollback. Wrapped lines are joined.
        """
        return self._tmux("capture-pane", "-p", "-J", "-t", self.target, *(["-S", "-"] if all else []))

    def _tmux(self, *args: str, input: Optional[str] = None) -> str:
        try:
            done = subprocess.run(
                # The option -u forces UTF-8. In other locales, tmux replaces non-ASCII characters with `_`.
                ["tmux", "-u", *args],
                input=input or "",
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=30,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RelayError(f"tmux cannot be run: {error}.", code="agent_gone") from error
        if done.returncode != 0:
            raise RelayError(f"tmux says: {done.stderr.strip()}.", code="agent_gone")
        return done.stdout


def _without_beginning(screen: str, before: str) -> str:
    old, new = before.rstrip().split("\n"), screen.split("\n")
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    return "\n".join(new[same:])


def _question_in(screen: str) -> str:
    """Returns the question in a dialog, on one line.

    The question is the text between the last horizontal line and the first choice.
    """
    above = re.split(r"[●❯›] *\d+\. |Allow once", screen)
    dialog = re.split(r"[─╭-]{8,}[^\n]*\n|\n\s*\n\s*\n", above[-2] if len(above) > 1 else screen)[-1]
    line = " ".join(re.sub(r"[│┃╭╮╰╯─╌]+", " ", dialog).split())
    return line[-_QUESTION_CHARS:] or "(see the screen of the agent)"
