"""A run in another process, which sim_node's own Python runs. Needs nothing but the standard library."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Names the Python that has sim_node with all that it needs.
PYTHON = "SIM_NODE_PYTHON"
_SERVER = "sim_node.extensions.scenario.adapters.server"


class SteppedRunFault(Exception):
    """A request was not carried out. The message says why."""


class SteppedRun:
    """A run that goes on when it is asked to.

    Args:
        world: The path of its world, or the name of a shipped one.
        seed: Its seed.
        values: Numbers of the world by key path that differ.
        python: The Python that runs it; by default that of the environment variable SIM_NODE_PYTHON.

    Attributes:
        step_s: The step of the world, s.

    Raises:
        SteppedRunFault: The world is invalid, or there is no such Python.
    """

    def __init__(
        self, world: str, seed: int = 0, values: Mapping[str, float] | None = None, *, python: str = ""
    ) -> None:
        python = python or os.environ.get(PYTHON, "")
        if not python:
            raise SteppedRunFault(f"set {PYTHON} to the Python in whose environment sim_node is installed")
        # Not the packages of this environment: they are of other versions.
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        command = [python, "-m", _SERVER]
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=own)
        except OSError as error:
            raise SteppedRunFault(f"{PYTHON}: {python}: {error.strerror}") from None
        try:
            found = str(Path(world).resolve()) if Path(world).exists() else world
            self.step_s = float(self._ask("open", found, seed, dict(values or {})))
        except SteppedRunFault:
            self.close()
            raise

    def step(self, seconds: float) -> float:
        """Let simulated time go on. Return the time since the start, s."""
        return float(self._ask("step", seconds))

    def value(self, signal: str) -> float:
        """Return a signal now, as value("altitude(drone)"); NaN for what is not finite."""
        return self.read([signal])[0]

    def read(self, signals: Sequence[str]) -> list[float]:
        """Return signals now; NaN for what is not finite."""
        return [float("nan") if each is None else float(each) for each in self._ask("read", list(signals))]

    def holds(self, formula: str) -> bool:
        """Return whether a formula over signals holds now, as far as is known.

        Call it after each step, which all take as long, if the formula looks ahead.
        """
        return bool(self._ask("holds", formula))

    def ask(self, action: str, **arguments: Any) -> str:
        """Do an action, as ask("push", body="ball", force=[0, 0, 40], seconds=0.1). Return what it did."""
        return str(self._ask("ask", action, arguments))

    def state(self, frame: str) -> tuple[list[float], list[float]]:
        """Return the pose of a frame in the fixed frame, [x y z qx qy qz qw], and its twist there, m/s and rad/s."""
        found = self._ask("state", frame)
        return found["pose"], found["twist"]

    def verdict(self) -> tuple[str, str]:
        """Return the verdict of the world's expectations on the run so far, and why it is not a pass."""
        found = self._ask("verdict")
        return found["verdict"], found["reason"]

    def close(self) -> None:
        """End the run and its process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _ask(self, *request: Any) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            raise SteppedRunFault(f"the process of the run has ended with exit code {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise SteppedRunFault(answer["error"])
        return answer["value"]
