"""Fixtures: a real relay from this checkout. It runs on a free port and has its own store."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Callable, Iterator, List, Optional

import pytest

from contextrelay import ContextRelay

ROOT = Path(__file__).resolve().parents[2]
NODE = ROOT / "node_modules" / ".bin" / "node"
RELAY = [str(NODE), str(ROOT / "bin" / "relay.ts")]


class RelayProcess:
    def __init__(self, *args: str, home: Optional[str] = None) -> None:
        self.home = home or tempfile.mkdtemp(prefix="relay-python-")
        self.lines: List[str] = []
        self._process = subprocess.Popen(
            [*RELAY, "up", "--port", "0", "--home", self.home, *args],
            env=plain_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.url = self._read(r"listening on (http://\S+)")
        self.key = self._read(r"(cr_live_\S+)") if "--auth" in args else None
        threading.Thread(target=self._drain, daemon=True).start()

    def _read(self, pattern: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line)
            match = re.search(pattern, line)
            if match:
                return match[1]
        raise RuntimeError("the relay did not start:\n" + "".join(self.lines))

    def _drain(self) -> None:
        assert self._process.stdout is not None
        self.lines.extend(self._process.stdout)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
        shutil.rmtree(self.home, ignore_errors=True)


def plain_environment(**more: str) -> "dict[str, str]":
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("CONTEXTRELAY_", "RELAY_"))
    }
    return {**inherited, "NO_COLOR": "1", **more}


def typescript(script: str, value: object) -> object:
    """Runs a TypeScript script.

    The script gets a JSON value as ``input``. Returns the value that it passes to ``output``.
    """
    prelude = (
        "import { readFileSync } from 'node:fs';\n"
        "const input = JSON.parse(readFileSync(0, 'utf8'));\n"
        "const output = (value) => process.stdout.write(JSON.stringify(value));\n"
    )
    done = subprocess.run(
        [str(NODE), "--input-type=module-typescript", "-e", prelude + script],
        input=json.dumps(value),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=plain_environment(),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("CONTEXTRELAY_", "RELAY_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def server() -> Iterator[RelayProcess]:
    process = RelayProcess()
    yield process
    process.stop()


@pytest.fixture(scope="session")
def guarded() -> Iterator[RelayProcess]:
    """A relay that requires API keys."""
    process = RelayProcess("--auth")
    yield process
    process.stop()


@pytest.fixture
def relay(server: RelayProcess) -> Iterator[ContextRelay]:
    with ContextRelay(server.url) as client:
        yield client


@pytest.fixture
def in_thread() -> Iterator[Callable[..., threading.Thread]]:
    def start(target: Callable[..., object], *args: object) -> threading.Thread:
        thread = threading.Thread(target=target, args=args, daemon=True)
        thread.start()
        return thread

    yield start
