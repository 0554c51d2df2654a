"""An agent in a tmux window, as something that takes a task and gives its output."""

from __future__ import annotations

import subprocess
import time
from typing import Callable, Optional, Sequence
from uuid import uuid4

from .errors import RelayError, RelayTimeoutError
from .outcome import read_outcome

_LOOK_EVERY = 0.5
#: Rests so long with an outcome on it: the agent is done.
_SETTLED = 1.5
#: Rests so long without one: it is done too, and said none.
_QUIET = 20.0
#: The paste has to show before Enter is pressed; terminals take Enter for a part of it otherwise.
_BEFORE_ENTER = 0.5
_STARTS = 30.0


class TmuxDispatcher:
    """Puts a task into a tmux window and waits until its screen rests. Call it, or :meth:`dispatch`.

    ``relay bridge start --tmux`` knows coding agents better: by name, their dialogs, how to stop them.
    """

    #: It is at work while one of these shows.
    BUSY_MARKERS: Sequence[str] = (
        "esc to interrupt",
        "esc to cancel",
        "Generating…",
        "Writing file…",
        "Reading file…",
    )

    def __init__(self, session: str = "vibe", window: int = 0, timeout: float = 600) -> None:
        self.session = session
        self.window = window
        self.timeout = timeout

    def __call__(self, task_text: str) -> str:
        return self.dispatch(task_text)

    @property
    def target(self) -> str:
        # A session by its whole name: tmux would take `work` for `workshop` where there is no `work`.
        return f"={self.session}:{self.window}"

    def dispatch(self, task_text: str) -> str:
        """What the window has shown since the task was put in."""
        deadline = time.monotonic() + self.timeout
        before = self._screen(all=True)
        self._paste(task_text)
        pasted = self._screen()
        self._tmux("send-keys", "-t", self.target, "Enter")
        starts = min(deadline, time.monotonic() + _STARTS)
        self._watch(starts, lambda screen, _: screen != pasted)
        self._watch(deadline, self._is_done)
        if time.monotonic() >= deadline:
            raise RelayTimeoutError(f"{self.target} was not done within {self.timeout:g} s.")
        return _without_beginning(self._screen(all=True), before).strip()

    def _is_done(self, screen: str, still: float) -> bool:
        if still < _SETTLED or any(marker in screen for marker in self.BUSY_MARKERS):
            return False
        return still >= _QUIET or read_outcome(self._screen(all=True)).found

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
