"""PX4's rovers in lockstep: their controllers answer a hundred times per second, and only while they drive."""

from __future__ import annotations

import time

from sim_node.autopilot.lockstep.autopilot import Commands
from sim_node.autopilot.lockstep.px4 import Px4

# Period (us) of RoverDifferential, RoverAckermann and RoverMecanum (ScheduleOnInterval in each one's init).
PERIOD_US = 10_000


class Px4Rover(Px4):
    """The simulator side of PX4's simulator_mavlink for wheeled bases.

    PX4 sends controls whenever a controller has published motors. A multirotor's do so for each HIL_SENSOR. A rover's
    run at 100 Hz, and publish nothing while the vehicle is disarmed, or has nothing to follow. While they answer, the
    simulation is ahead of them by less than their period and one sample. While they are silent, nothing tells how far
    PX4 is: time then passes no faster than real time, and the wheels stand.
    """

    def __init__(self, instance: int, outputs: int, low: float = 0.0) -> None:
        super().__init__(instance, outputs, low)
        self._before_us = self._time_us
        self._due = 0.0

    def receive(self) -> Commands | None:
        """Wait for controls that are recent enough, or for real time to pass."""
        if self._peer is None:
            return super().receive()
        sample_us, self._before_us = max(self._time_us - self._before_us, 0), self._time_us
        self._oldest_us = self._time_us - PERIOD_US - sample_us
        try:
            self._read(0.0)
            if self._controls is not None and not self._controls.armed:
                self._controls = None
            self.wait.lockstep = self._controls is not None and self.wait.until(self._answered)
        except ConnectionError:
            self._drop()
            return self._none
        if self.wait.lockstep and self._controls is not None:
            self.wait.answered += 1
            return self._controls.commands(self._outputs, self._low)
        self._controls = None
        self._keep_to_real_time(1e-6 * sample_us)
        return self._none

    def _answered(self, seconds: float) -> bool:
        if not self._is_recent():
            self._read(seconds)
        return self._is_recent()

    def _is_recent(self) -> bool:
        return self._controls is not None and self._controls.time_us > self._oldest_us

    def _keep_to_real_time(self, seconds: float) -> None:
        """Wait until this many seconds have passed since the last sample."""
        now = time.monotonic()
        self._due = min(max(self._due + seconds, now), now + seconds)
        self.wait.stop.wait(self._due - now)
