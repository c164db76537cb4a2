"""Flying to a position: stream the setpoint, set the mode, and report when the vehicle has arrived."""

from __future__ import annotations

import math

from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.commands import CommandLong, set_mode_for
from sim_node.mavlink.modes import ROVERS, guided_name, mode_name
from sim_node.mavlink.setpoints import Setpoint
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.transaction import Outgoing, Transaction

# PX4 accepts OFFBOARD only after setpoints have been streamed for a while.
STREAM_FIRST_NS = 600_000_000
# A heartbeat with the new mode has been received by then.
MODE_SHOWS_NS = 3_000_000_000


class Goto(Transaction):
    """Succeeds within `tolerance` metres of the target, fails if the mode is refused or left.

    The vehicle streams the setpoint. The stream continues after success, so that the vehicle stays there.
    """

    key = "goto"
    name = "goto"

    def __init__(self, setpoint: Setpoint, vehicle: Telemetry, tolerance: float) -> None:
        assert setpoint.ned is not None
        self.setpoint = setpoint
        self._target, self._vehicle, self._tolerance = setpoint.ned, vehicle, tolerance
        self._mode: Transaction | None = None
        self._engaged = False
        self._since_ns = 0

    def start(self, now_ns: int) -> list[Outgoing]:
        """Do nothing: the caller has started the stream."""
        self._since_ns = now_ns
        return []

    def receive(self, message: MavlinkMessage, now_ns: int) -> list[Outgoing]:
        """Handle positions, modes, and the answer to the change of mode."""
        if self._mode is not None and self._mode.result is None:
            return self._mode.receive(message, now_ns)
        if message.name == "LOCAL_POSITION_NED" and self._engaged:
            fields = message.fields
            here = fields.x, fields.y, fields.z
            # A rover stays on the ground, whatever the height of its target.
            axes = 2 if self._vehicle.heartbeat and self._vehicle.heartbeat.type in ROVERS else 3
            left = math.dist(here[:axes], self._target[:axes])
            if left <= self._tolerance:
                return self.end(True, f"reached, {left:.2f} m from the target")
        return []

    def tick(self, now_ns: int) -> list[Outgoing]:
        """Set the mode after the stream has run for a while, then check that it stays set."""
        heartbeat = self._vehicle.heartbeat
        if heartbeat is None:
            return self.end(False, "no heartbeat received yet")
        guided = guided_name(heartbeat.autopilot)
        in_mode = mode_name(heartbeat) == guided
        if self._engaged:
            if not in_mode and now_ns - self._since_ns > MODE_SHOWS_NS:
                return self.end(False, f"cancelled: the mode is {mode_name(heartbeat)}, no longer {guided}")
            return []
        if self._mode is None:
            if in_mode:
                self._engage(now_ns)
            elif now_ns - self._since_ns >= STREAM_FIRST_NS:
                self._mode = set_mode_for("guided", self._vehicle)
                return self._mode.start(now_ns) if isinstance(self._mode, CommandLong) else []
            return []
        outgoing = self._mode.tick(now_ns) if self._mode.result is None else []
        if self._mode.result is not None:
            if not self._mode.result.ok:
                return self.end(False, f"mode {guided}: {self._mode.result.text}")
            self._engage(now_ns)
        return outgoing

    def _engage(self, now_ns: int) -> None:
        self._engaged, self._since_ns = True, now_ns
        self.report("under way")
