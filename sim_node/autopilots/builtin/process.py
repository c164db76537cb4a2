"""The process of a built-in autopilot, which its simulation starts, restarts after a crash, and stops."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import IO

from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters, to_json
from sim_node.simulation.programs import let_go

# Seconds from SIGTERM to SIGKILL. While its imports run, a process reacts neither to Ctrl-C nor to SIGTERM; it has no
# data to lose, and users should not have to wait for it.
STOPS_WITHIN = 0.5
# Pause before a process that died is restarted, s. It doubles up to the maximum as long as processes die early.
FIRST_PAUSE, MAX_PAUSE = 0.1, 5.0


class AutopilotProcess:
    """The process `sim_node autopilot` of one vehicle.

    It reads its vehicle parameters from standard input, which stays open as long as the simulation lives. An unnamed
    file keeps the state of the flight for the case that the process dies.

    Attributes:
        starts: Number of times the process was started.
    """

    def __init__(self, parameters: VehicleParameters, instance: int) -> None:
        self.starts = 0
        self._parameters, self._instance = to_json(parameters) + "\n", instance
        self._process: subprocess.Popen[str] | None = None
        self._memory: IO[bytes] | None = None
        self._started, self._pause = 0.0, FIRST_PAUSE
        self._died: float | None = None

    @property
    def pid(self) -> int:
        """Id of the running process, or 0."""
        return 0 if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process, the first time or again."""
        self._memory = self._memory or tempfile.TemporaryFile()  # noqa: SIM115  open as long as the simulation
        number = self._memory.fileno()
        command = [sys.executable, "-m", "sim_node.cli.main", "autopilot", "--craft", "-"]
        command += ["--instance", str(self._instance), "--memory", str(number)]
        # In its own session, so that Ctrl-C reaches only the simulation, which then stops it.
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
        self._started, self._died = time.monotonic(), None

    def keep_up(self) -> None:
        """Restart the process after a pause if it has died."""
        if self._process is None or self._process.poll() is None:
            return
        now = time.monotonic()
        if self._died is None:
            self._died = now
            if now - self._started > MAX_PAUSE:
                self._pause = FIRST_PAUSE
        if now - self._died >= self._pause:
            self._pause = min(2.0 * self._pause, MAX_PAUSE)
            let_go(self._process)
            self.start()

    def kill(self) -> None:
        """Send SIGKILL. `keep_up` restarts the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Send SIGTERM, followed by SIGKILL if the process does not exit in time."""
        if self._process is not None:
            self._process.terminate()
            let_go(self._process, STOPS_WITHIN)
            self._process = None
        if self._memory is not None:
            self._memory.close()
            self._memory = None
