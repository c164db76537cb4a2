"""Starting the real programs, waiting for what they say, and ending them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Protocol

from waiting import PATIENCE

SIM_NODE = Path(sys.executable).parent / "sim_node"
# What `ros2 run sim_node simulation` starts.
EXECUTABLE = Path(__file__).parents[2] / "scripts" / "simulation"


class Started(Protocol):
    """What tests use of subprocess.Popen."""

    pid: int
    stdout: IO[str] | None
    returncode: int | None

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


class Program:
    """A running program; its output is collected line by line."""

    def __init__(self, command: Sequence[str | Path], **environment: str) -> None:
        self.lines: list[str] = []
        self._grew = threading.Condition()
        everything = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
        self.process = self.start([str(part) for part in command], everything)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def start(self, command: Sequence[str], environment: dict[str, str]) -> Started:
        """Start it in a session of its own; it writes to one pipe."""
        process: Started = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            env=environment,
            start_new_session=True,
        )
        return process

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._grew:
                self.lines.append(line.rstrip("\n"))
                self._grew.notify_all()

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, text: str) -> None:
        """Returns when a line has `text` in it; fails when the program ends or PATIENCE is over before."""
        deadline = time.monotonic() + PATIENCE
        with self._grew:
            while not any(text in line for line in self.lines):
                left = deadline - time.monotonic()
                assert left > 0.0, f"{text!r} did not come within {PATIENCE:g} s:\n{self.output}"
                assert self.process.poll() is None, f"ended before {text!r}:\n{self.output}"
                self._grew.wait(min(left, 0.2))

    def stop(self, number: int = signal.SIGINT) -> int:
        """Sends a signal; the exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code


@contextmanager
def program(command: Sequence[str | Path], **environment: str) -> Iterator[Program]:
    """A program that is gone at the end, however the test ends."""
    with ended_after(Program(command, **environment)) as running:
        yield running


@contextmanager
def ended_after(running: Program) -> Iterator[Program]:
    """Kill a program that has not ended by itself."""
    try:
        yield running
    finally:
        if running.process.poll() is None:
            os.killpg(running.process.pid, signal.SIGKILL)
            running.process.wait()


def handles(pid: int, number: int) -> bool:
    """Whether a process has handlers of its own for a signal and for SIGTERM: Python alone has one for SIGINT."""
    caught = 0
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                caught = int(line.partition(":")[2], 16)
    return all(caught >> (each - 1) & 1 for each in (number, signal.SIGTERM))


def sim_node(*arguments: str | Path) -> list[str | Path]:
    return [SIM_NODE, *arguments]
