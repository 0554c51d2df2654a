"""An agent in a tmux window, as something that takes a task and gives its output."""

from __future__ import annotations

import re
import subprocess
import time
from typing import Callable, NamedTuple, Optional, Sequence
from uuid import uuid4

from .errors import RelayError, RelayTimeoutError
from .outcome import read_outcome

_LOOK_EVERY = 0.5
#: What the screen shows counts after it was still for so long.
_SETTLED = 1.5
#: The same for a ready mark of an agent that was never seen at work.
_SETTLED_UNSEEN = 10.0
#: The paste has to show before Enter is pressed; terminals take Enter for a part of it otherwise.
_BEFORE_ENTER = 0.5
_STARTS = 30.0
#: What a question is cut to.
_ASKED_CHARS = 400


class Stuck(NamedTuple):
    """Why a task does not go on."""

    #: A sentence without its full stop.
    why: str
    #: What the agent asks a person.
    asked: str = ""


class TmuxDispatcher:
    """Puts a task into a tmux window and waits until the agent waits for input again or has shown an outcome. Call it, or
    :meth:`dispatch`.

    While the agent asks a person, or the screen is still for ``stuck_after`` seconds, :attr:`stuck` says so and the task goes
    on waiting. ``relay bridge start --tmux`` knows coding agents better: by name, and how to stop them.
    """

    #: It is at work while one of these shows.
    BUSY_MARKERS: Sequence[str] = (
        "esc to interrupt",
        "esc to cancel",
        "Generating…",
        "Writing file…",
        "Reading file…",
    )

    #: It asks a person while the screen ends so.
    ASKS_PATTERNS: Sequence[str] = (
        r"(?:Esc to cancel|Enter to (?:confirm|select))[^\n]*$",  # Claude Code
        r"\n *› *\d+\. [^›]*(?:enter|esc)[^\n]*$",  # Codex
        r"● \d+\. [^●]*╯$",  # Gemini CLI
        r"△ Permission required[^△]*Allow once[^△]*$",  # OpenCode
        r"\(Y\)es/\(N\)o[^\n]*$",  # Aider
    )

    #: It waits for input while the screen ends so.
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
        self.session = session
        self.window = window
        self.timeout = timeout
        self.stuck_after = stuck_after
        #: Why the task does not go on; None where it does.
        self.stuck: Optional[Stuck] = None
        self._worked = False
        #: Called when :attr:`stuck` has changed.
        self.on_stuck: Callable[[], object] = lambda: None

    def __call__(self, task_text: str) -> str:
        return self.dispatch(task_text)

    @property
    def target(self) -> str:
        # A session by its whole name: tmux would take `work` for `workshop` where there is no `work`.
        return f"={self.session}:{self.window}"

    def dispatch(self, task_text: str) -> str:
        """What the window has shown since the task was put in. At the timeout the error has it as ``output``."""
        deadline = time.monotonic() + self.timeout
        try:
            # Enter would answer a dialog.
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
                f"tmux {self.session}:{self.window} was not done within {self.timeout:g} s."
            )
            late.output = output
            raise late
        return output

    def _asks_nothing(self, screen: str, still: float) -> bool:
        return not self._asks(screen, still)

    def _is_done(self, screen: str, still: float) -> bool:
        """A screen that is only still ends nothing: the agent may be waiting for a person."""
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
        """Whether the agent asks a person; reports why the task does not go on."""
        shown = screen.rstrip()
        where = f"tmux {self.session}:{self.window}"
        asks = any(re.search(pattern, shown) for pattern in self.ASKS_PATTERNS)
        if asks:
            self._report(Stuck(f"The agent in {where} waits for an answer", _question_in(shown)))
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
        last, since = "", time.monotonic()
        while time.monotonic() < until:
            screen = self._screen()
            if screen != last:
                last, since = screen, time.monotonic()
            if seen(screen, time.monotonic() - since):
                return
            time.sleep(_LOOK_EVERY)

    def _paste(self, text: str) -> None:
        """As a paste, so that several lines are one input where the program knows pastes."""
        buffer = f"relay-{uuid4().hex[:8]}"
        self._tmux("load-buffer", "-b", buffer, "-", input=text)
        self._tmux("paste-buffer", "-p", "-d", "-b", buffer, "-t", self.target)
        time.sleep(_BEFORE_ENTER)

    def _screen(self, all: bool = False) -> str:
        """What is in view, or everything that is kept; lines that the terminal has broken are whole again."""
        return self._tmux("capture-pane", "-p", "-J", "-t", self.target, *(["-S", "-"] if all else []))

    def _tmux(self, *args: str, input: Optional[str] = None) -> str:
        try:
            done = subprocess.run(
                # UTF-8 whatever the locale: in another, tmux writes _ for every other character.
                ["tmux", "-u", *args],
                input=input or "",
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=30,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RelayError(f"tmux could not be used: {error}.", code="agent_gone") from error
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
    """What stands between the last rule and the first choice, on one line."""
    above = re.split(r"[●❯›] *\d+\. |Allow once", screen)
    dialog = re.split(r"[─╭-]{8,}[^\n]*\n|\n\s*\n\s*\n", above[-2] if len(above) > 1 else screen)[-1]
    line = " ".join(re.sub(r"[│┃╭╮╰╯─╌]+", " ", dialog).split())
    return line[-_ASKED_CHARS:] or "(see its screen)"
