"""A relay for tests of your own code. It is a real relay with an empty store, which is deleted at the end.

with memory_relay() as relay:
    url = relay.push("text")

In pytest, make it a fixture::

    @pytest.fixture(scope="session")
    def relay():
        with memory_relay() as relay:
            yield relay
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from typing import Iterator, List, Optional, Sequence

from .client import ContextRelay
from .errors import RelayUnreachableError

__all__ = ["memory_relay"]


@contextmanager
def memory_relay(command: Optional[Sequence[str]] = None) -> Iterator[ContextRelay]:
    """Starts a relay on a free port of this machine and yields a client of it.

    ``command``: how to start the program. Default: the environment variable ``RELAY_COMMAND``, or ``relay``.
    """
    program = list(command or shlex.split(os.environ.get("RELAY_COMMAND", "relay")))
    if shutil.which(program[0]) is None:
        hint = "Install the relay, or set RELAY_COMMAND to the command that starts it."
        raise RelayUnreachableError(f"There is no program {program[0]!r} to start.", hint=hint)
    home = tempfile.mkdtemp(prefix="relay-test-")
    own = ("CONTEXTRELAY_", "RELAY_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    process = subprocess.Popen(
        [*program, "up", "--port", "0", "--home", home],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        with ContextRelay(_address(process)) as client:
            yield client
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
        shutil.rmtree(home, ignore_errors=True)


def _address(process: subprocess.Popen[str]) -> str:
    """Reads the output of the relay until the relay prints its address."""
    output: List[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        match = re.search(r"listening on (http://\S+)", line)
        if match:
            # Keep reading the output, otherwise the relay would block when the pipe is full.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return match[1]
        output.append(line)
    raise RelayUnreachableError("The relay did not start: " + "".join(output).strip())
