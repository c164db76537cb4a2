"""A stranger's client, which flies an autopilot from an environment of its own."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "test" / "autopilot" / "clients"


def environment_of(name: str) -> Path:
    """Python of a client's environment, which `make test-peers` sets up; without one, skips the test."""
    python = ROOT / ".venv" / "peers" / name / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{name} is not installed: make test-peers sets it up in {python.parents[1].relative_to(ROOT)}")
    return python


class Client:
    """A client's program. Iterating gives what it did, one thing at a time; the next one begins with the next turn."""

    def __init__(self, python: Path, script: str, *arguments: str) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
        self._process = subprocess.Popen(
            [str(python), str(CLIENTS / script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            start_new_session=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self.said: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith('{"did"'):
                self._lines.put(line)
            else:
                self.said.append(line)
        self._lines.put("")

    def has_done(self) -> bool:
        """Whether `next` returns at once."""
        return not self._lines.empty()

    def next(self, what: str) -> dict[str, Any]:
        """What it found as it did this, which has to be what it did next."""
        line = self._lines.get(timeout=PATIENCE)
        assert line, f"{what}: the client ended\n{''.join(self.said[-30:])}"
        found: dict[str, Any] = json.loads(line)
        assert found.pop("did") == what, line
        return found

    def go_on(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("on\n")
        self._process.stdin.flush()

    def end(self) -> int:
        """Its exit code, once it has ended by itself."""
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        if self._process.poll() is None:
            # With the servers that it has started.
            os.killpg(self._process.pid, 9)
        self._process.wait()
