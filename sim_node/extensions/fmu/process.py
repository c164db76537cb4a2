"""The run's side of an FMU: its process, its values, and its end."""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from sim_node.extensions.fmu.description import Description
from sim_node.extensions.fmu.worker import command
from sim_node.simulation.programs import let_go

# Timeouts of an FMU for its start and for an answer, s of wall time.
STARTS_IN, ANSWERS_IN = 120.0, 60.0
_LAST_LINES = 300


class Ended(Exception):
    """The process of an FMU has ended, or the FMU has failed; the message says how."""


class FmuProcess:
    """An FMU in a separate process, which begins to start at time 0. `started` waits until it has started.

    Args:
        name: The name of the FMU, for messages.
        file: The archive.
        description: Its description.
        start: Values to set before it is initialised, by variable.
        folder: Its working folder.

    Attributes:
        values: The values of its outputs by variable.
    """

    def __init__(self, name: str, file: Path, description: Description, start: Mapping[str, Any], folder: Path) -> None:
        self._outputs = [(each.name, each.size) for each in description.outputs]
        self.values: dict[str, Any] = {}
        self._unpacked = tempfile.TemporaryDirectory(prefix="sim_node-fmu-", ignore_cleanup_errors=True)
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=folder,
            start_new_session=True,  # Ctrl-C in a terminal goes to the run, which ends this process
        )
        self.send(
            {
                "folder": self._unpacked.name,
                "file": str(file),
                "name": name,
                "start": dict(start),
                "outputs": self._outputs,
                "saves": description.saves,
            }
        )

    def started(self) -> None:
        """Wait until it has started. Raises Ended."""
        self.receive(STARTS_IN)

    def send(self, order: Mapping[str, Any]) -> None:
        """Send an order. `receive` waits for the answer, and detects if the process has ended."""
        stream = self._process.stdin
        assert stream is not None
        try:
            stream.write(json.dumps(order).encode() + b"\n")
            stream.flush()
        except (BrokenPipeError, ValueError):
            pass

    def receive(self, patience: float = ANSWERS_IN) -> dict[str, Any]:
        """Wait for the answer to the last order, and store the values of the outputs.

        Args:
            patience: Timeout, s of wall time.

        Raises:
            Ended: There is no answer, because the FMU crashed, failed or timed out; or the FMU requests the end of the
                simulation.
        """
        line = self._line(patience)
        if not line.endswith(b"\n"):
            raise Ended(self._how_it_ended())
        answer: dict[str, Any] = json.loads(line)
        if "fault" in answer:
            raise Ended(f"failed: {answer['fault']}{self._last_line()}")
        self.values.update(zip((name for name, _ in self._outputs), answer["get"], strict=True))
        if answer["over"]:
            raise Ended("asks to end the simulation")
        return answer

    def save(self) -> bytes:
        """Return its state. Raises Ended."""
        self.send({"save": True})
        return base64.b64decode(self.receive()["state"])

    def restore(self, state: bytes) -> None:
        """Restore a state that `save` returned. Raises Ended."""
        self.send({"restore": base64.b64encode(state).decode()})
        self.receive()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        let_go(self._process)
        self._log.close()
        self._unpacked.cleanup()

    def _line(self, patience: float) -> bytes:
        stream = self._process.stdout
        assert stream is not None
        parts: list[bytes] = []
        until = time.monotonic() + patience
        while not (parts and parts[-1].endswith(b"\n")):
            ready, _, _ = select.select([stream], [], [], max(until - time.monotonic(), 0.0))
            if not ready:
                self._process.kill()
                raise Ended(f"did not answer for {patience:g} s and was ended")
            part = os.read(stream.fileno(), 1 << 20)
            if not part:
                break
            parts.append(part)
        return b"".join(parts)

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        if code < 0:
            return f"crashed ({signal.Signals(-code).name}){self._last_line()}"
        return f"ended with exit code {code}{self._last_line()}"

    def _last_line(self) -> str:
        """Return the last line of its output, for messages."""
        end = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, end - 4096))
        lines = self._log.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"; its last line: {last[:_LAST_LINES]}" if last else ""
