"""The process of a built-in autopilot, as its simulation keeps it: started, started again, stopped."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import IO

from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters, to_json
from sim_node.simulation.programs import let_go

# SIGTERM, and after this SIGKILL, s: one that is still being imported reacts neither to Ctrl-C nor to SIGTERM, keeps
# nothing that could be lost, and is not what a person wants to wait for.
STOPS_WITHIN = 0.5
# The pause before one that died is started again, s: doubled while it dies within the longest.
FIRST_PAUSE, MAX_PAUSE = 0.1, 5.0


class AutopilotProcess:
    """`sim_node autopilot` for one vehicle. starts: how often it was started.

    It is given its craft on standard input, which stays open as long as the simulation lives, and a file without a
    name that remembers the flight where the process dies.
    """

    def __init__(self, parameters: VehicleParameters, instance: int) -> None:
        self.starts = 0
        self._parameters, self._instance = to_json(parameters) + "\n", instance
        self._process: subprocess.Popen[str] | None = None
        self._memory: IO[bytes] | None = None
        self._started, self._pause = 0.0, FIRST_PAUSE

    @property
    def pid(self) -> int:
        """Of the process that runs, 0 where none does."""
        return 0 if self._process is None else self._process.pid

    def start(self) -> None:
        """Once more."""
        self._memory = self._memory or tempfile.TemporaryFile()  # noqa: SIM115  open as long as the simulation
        number = self._memory.fileno()
        command = [sys.executable, "-m", "sim_node.cli.main", "autopilot", "--craft", "-"]
        command += ["--instance", str(self._instance), "--memory", str(number)]
        # A session of its own: Ctrl-C is for the simulation, which stops it.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            pass_fds=(number,),
            start_new_session=True,
        )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(self._parameters)
            self._process.stdin.flush()
        self.starts += 1
        self._started = time.monotonic()

    def keep_up(self) -> None:
        """Starts it again where it has died, after a pause."""
        if self._process is not None and self._process.poll() is not None:
            now = time.monotonic()
            if now - self._started > MAX_PAUSE:
                self._pause = FIRST_PAUSE
            if now - self._started >= self._pause:
                self._pause = min(2.0 * self._pause, MAX_PAUSE)
                let_go(self._process)
                self.start()

    def kill(self) -> None:
        """SIGKILL; `keep_up` starts it again."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """SIGTERM, and SIGKILL where that is not enough."""
        if self._process is not None:
            self._process.terminate()
            let_go(self._process, STOPS_WITHIN)
            self._process = None
        if self._memory is not None:
            self._memory.close()
            self._memory = None
