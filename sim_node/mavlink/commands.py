"""MAVLink commands (MAV_CMD) with acknowledgements, repetition and reasons for refusals; and flights to a position."""

from __future__ import annotations

import math

from sim_node.mavlink.codec import MavlinkMessage, enum_name
from sim_node.mavlink.modes import ROVERS, guided_name, mode, mode_name, mode_names, purpose
from sim_node.mavlink.setpoints import Setpoint
from sim_node.mavlink.status_texts import PATIENCE_NS, StatusText, StatusTexts
from sim_node.mavlink.telemetry import ARDUPILOT, PX4, Telemetry
from sim_node.mavlink.transaction import Outgoing, Transaction, TransactionRefused
from sim_node.text import did_you_mean, printable
from sim_node.world.problems import quoted

DO_SET_MODE, COMPONENT_ARM_DISARM, NAV_TAKEOFF, MISSION_START = 176, 400, 22, 300
DO_CHANGE_SPEED, GROUND_SPEED, THROTTLE_AS_IS = 178, 1.0, -1.0
SET_MESSAGE_INTERVAL, REQUEST_MESSAGE = 511, 512
ACCEPTED, FAILED, IN_PROGRESS = 0, 4, 5  # MAV_RESULT
TIMEOUT_NS = 1_000_000_000
# After MAV_RESULT_IN_PROGRESS.
LONG_TIMEOUT_NS = 20_000_000_000
MAX_SENT = 4
# Autopilots send the reason for a refusal in a STATUSTEXT just before or after it.
WAIT_FOR_TEXTS_NS = 300_000_000
MAX_TEXTS = 5
_WARNING = 4  # MAV_SEVERITY


class CommandLong(Transaction):
    """A COMMAND_LONG. The value of its result is the MAV_RESULT that was received, or None without an answer.

    Args:
        name: Name for users.
        command: MAV_CMD.
        params: Up to seven params; the others are zero.
        hint: Shown for a refusal without a reason.
    """

    def __init__(self, name: str, command: int, *params: float, hint: str = "") -> None:
        self.name, self.key = name, f"command {command}"
        self._command = command
        self._params = [*params, *[0.0] * (7 - len(params))]
        self._sent = 0
        self._deadline_ns = 0
        self._refusal, self._answer = "", FAILED
        self._hint = hint
        self._joined = StatusTexts()
        self._texts: list[str] = []

    def start(self, now_ns: int) -> list[Outgoing]:
        """Send the command."""
        self._deadline_ns = now_ns + TIMEOUT_NS
        fields = {f"param{number}": value for number, value in enumerate(self._params, start=1)}
        fields |= {"command": self._command, "confirmation": self._sent}
        self._sent += 1
        return [("COMMAND_LONG", fields)]

    def receive(self, message: MavlinkMessage, now_ns: int) -> list[Outgoing]:
        """Handle acknowledgements, which end the command, and warnings, which may be the reason for a refusal."""
        if message.name == "STATUSTEXT":
            self._keep(self._joined.add(message.fields, now_ns))
        if message.name != "COMMAND_ACK" or message.fields.command != self._command or self._refusal:
            return []
        found = message.fields.result
        if found == IN_PROGRESS:
            self._deadline_ns, self._sent = now_ns + LONG_TIMEOUT_NS, MAX_SENT
            return []
        if found == ACCEPTED:
            return self.end(True, "accepted", found)
        self._answer = found
        self._refusal = enum_name("MAV_RESULT", found).removeprefix("MAV_RESULT_").lower().replace("_", " ")
        self._deadline_ns = now_ns + WAIT_FOR_TEXTS_NS
        return []

    def tick(self, now_ns: int) -> list[Outgoing]:
        """Repeat the command, give up, or report a refusal with the texts that were received."""
        if now_ns < self._deadline_ns:
            return []
        if self._refusal:
            self._keep(self._joined.overdue(now_ns + PATIENCE_NS))
            texts = "; ".join(dict.fromkeys(self._texts)) or self._hint
            return self.end(False, f"{self._refusal}: {texts}" if texts else self._refusal, self._answer)
        if self._sent >= MAX_SENT:
            return self.end(False, f"no answer to {self.name} after {self._sent} attempts")
        return self.start(now_ns)

    def _keep(self, texts: list[StatusText]) -> None:
        """Keep texts of severity warning or worse: one of them may be the reason."""
        for each in texts:
            if each.severity <= _WARNING and len(self._texts) < MAX_TEXTS:
                self._texts.append(printable(each.text))


def arm(armed: bool) -> Transaction:
    """Arm or disarm. The autopilot's own checks are not overridden."""
    return CommandLong("arm" if armed else "disarm", COMPONENT_ARM_DISARM, 1.0 if armed else 0.0)


def set_mode(name: str, vehicle: Telemetry) -> Transaction:
    """Set a mode by the autopilot's name for it."""
    if vehicle.heartbeat is None:
        return TransactionRefused("mode", "no heartbeat received yet, so the modes are unknown")
    found = mode(name, vehicle.heartbeat.autopilot, vehicle.heartbeat.type)
    if found is None:
        known = mode_names(vehicle.heartbeat.autopilot, vehicle.heartbeat.type)
        hint = did_you_mean(name.upper(), known)
        return TransactionRefused("mode", f"no mode {quoted(name)}{hint} (known: {', '.join(known)})")
    return CommandLong(f"mode {name.upper()}", DO_SET_MODE, *found)


def set_mode_for(what: str, vehicle: Telemetry) -> Transaction:
    """Set the mode for a purpose: guided, land, return or mission."""
    name = guided_name(vehicle.autopilot) if what == "guided" else purpose(what, vehicle.autopilot)
    return set_mode(name, vehicle)


def start_mission(vehicle: Telemetry) -> Transaction:
    """Start the mission. On the ground, ArduPilot needs this command: its mode AUTO waits for a pilot."""
    if vehicle.autopilot != ARDUPILOT:
        return set_mode_for("mission", vehicle)
    # No first and last item: ArduPilot refuses a range.
    return CommandLong("mission start", MISSION_START, hint="ArduPilot starts a mission when it has one and is armed")


def takeoff(height: float, highest: float, vehicle: Telemetry) -> Transaction:
    """Take off to a height above home in metres. ArduPilot accepts this in GUIDED, PX4 in any mode."""
    if not 0.0 < height <= highest:
        return TransactionRefused(
            "takeoff", f"height is {height:g} m; allowed: above 0 and up to limit_height, {highest:g} m"
        )
    if vehicle.autopilot != PX4:
        return CommandLong("takeoff", NAV_TAKEOFF, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, height)
    if vehicle.home is None:
        return TransactionRefused("takeoff", "no HOME_POSITION yet: PX4 needs the altitude above mean sea level")
    # PX4 expects the altitude above mean sea level, and NaN for the current position and yaw.
    nan = math.nan
    altitude = vehicle.home.altitude_msl + height
    return CommandLong("takeoff", NAV_TAKEOFF, nan, 0.0, 0.0, nan, nan, nan, altitude)


def set_speed(speed: float, limit: float) -> Transaction:
    """Set the ground speed of missions and of flights to a position, m/s (MAV_CMD_DO_CHANGE_SPEED)."""
    if not 0.0 < speed <= limit:
        return TransactionRefused(
            "speed", f"speed is {speed:g} m/s; allowed: above 0 and up to limit_velocity, {limit:g} m/s"
        )
    return CommandLong("speed", DO_CHANGE_SPEED, GROUND_SPEED, speed, THROTTLE_AS_IS)


def set_message_interval(message: int, rate: float) -> Outgoing:
    """Request a stream, without waiting for the answer."""
    interval = 1e6 / rate if rate > 0.0 else -1.0
    return "COMMAND_LONG", {"command": SET_MESSAGE_INTERVAL, "param1": float(message), "param2": interval}


def request_message(message: int) -> Outgoing:
    """Request one message."""
    return "COMMAND_LONG", {"command": REQUEST_MESSAGE, "param1": float(message)}


# PX4 accepts OFFBOARD only after setpoints have been streamed for a while.
STREAM_FIRST_NS = 600_000_000
# A heartbeat with the new mode has been received by then.
MODE_SHOWS_NS = 3_000_000_000


class Goto(Transaction):
    """A flight to a position. Succeeds close to the target; fails if the mode is refused or left.

    The vehicle streams the setpoint. The stream continues after success, so that the vehicle stays there.

    Args:
        setpoint: Setpoint of the target.
        vehicle: The vehicle's telemetry.
        tolerance: Maximum distance from the target, m.
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
