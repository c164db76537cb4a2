"""Tools for flight: go to a position, arm, take off, land, return, set modes, missions; and telemetry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from sim_node.extensions.assistants.graph import Graph, Messages, Patience, check_span
from sim_node.extensions.assistants.registry import ToolCall, ToolRefused, TypedDict, tool
from sim_node.spatial.frames import yaw_enu_from_ned
from sim_node.text import did_you_mean, shown

_POSE = "local_position/pose"
_ODOMETRY = "local_position/odom"
# Timeouts for a vehicle, a reply, the first message of a topic, and a flight (default and maximum), s.
VEHICLE_S, REPLY_S, MESSAGE_S, FLIGHT_S, MAX_FLIGHT_S = 5.0, 15.0, 5.0, 120.0, 600.0
# A vehicle has settled if it is slower (m/s) and nearer (m) than this, or has been at its target for this time (s).
SETTLED_SPEED, SETTLED_DISTANCE, SETTLING_S = 0.1, 0.2, 10.0

Vehicle = Annotated[str, "name of the vehicle; empty if there is one"]


# Conventions with level axes and their origin at home. The origin of the others is the vehicle.
LEVEL = ("ENU", "NED")
Convention = Literal["ENU", "NED", "FLU", "FRD"]


class FlightEnd(TypedDict):
    """The end of a flight: distance to the target (m), position from home (m) in the axes that `convention` names."""

    status: Literal["reached", "refused", "timed out"]
    message: str
    vehicle: str
    distance: float
    position: list[float]
    convention: Literal["ENU"]


class Answer(TypedDict):
    """What the autopilot says to a command."""

    status: Literal["accepted", "refused"]
    message: str
    vehicle: str


class BatteryStatus(TypedDict):
    """The voltage (V) and the charge, 0 to 1."""

    voltage: float | None
    percentage: float | None


class _Telemetry(TypedDict):
    vehicle: str
    mode: str
    state: dict[str, str]
    position_from_home: list[float]
    convention: Literal["ENU"]
    speed: float


class TelemetryAnswer(_Telemetry, total=False):
    """What a vehicle reports: position from home (m) in the axes that `convention` names, speed (m/s)."""

    battery: BatteryStatus


def target_of(
    given: Sequence[float],
    yaw: float,
    convention: Convention,
    at: Sequence[float] = (0.0, 0.0, 0.0),
    heading: float = 0.0,
) -> tuple[tuple[float, float, float], float]:
    """Return a target in ENU.

    Args:
        given: The target (3,), m: from home in ENU or NED, from the vehicle along its level axes in FLU or FRD.
        yaw: The wanted heading, rad, in the convention's sense.
        convention: The convention of both.
        at: The vehicle's position (3,) in ENU from home, m.
        heading: The vehicle's heading, rad, counterclockwise from east.

    Returns:
        The target (3,) in ENU from home, m, and the heading, rad, counterclockwise from east.
    """
    x, y, z = given
    if convention == "ENU":
        return (x, y, z), yaw
    if convention == "NED":
        return (y, x, -z), float(yaw_enu_from_ned(yaw))
    if convention == "FRD":
        y, z, yaw = -y, -z, -yaw
    east, north, up = at
    cosine, sine = math.cos(heading), math.sin(heading)
    return (east + cosine * x - sine * y, north + sine * x + cosine * y, up + z), heading + yaw


@tool("flight_goto", changes=True)
def flight_goto(
    call: ToolCall,
    *,
    x: Annotated[float, "m: east of home in ENU, north in NED, forward of the vehicle in FLU and FRD"],
    y: Annotated[float, "m: north of home in ENU, east in NED, left in FLU, right in FRD"],
    z: Annotated[float, "m: above home in ENU, below it in NED, up in FLU, down in FRD"],
    yaw: Annotated[
        float, "rad: counterclockwise from east in ENU, clockwise from north in NED; in FLU and FRD from the heading"
    ] = 0.0,
    convention: Annotated[Convention, "axes: ENU or NED from home, FLU or FRD from where the vehicle is"] = "ENU",
    speed: Annotated[float | None, "ground speed in m/s; none for the vehicle's own"] = None,
    vehicle: Vehicle = "",
    timeout: Annotated[float, f"s to wait for the arrival, up to {MAX_FLIGHT_S:g}"] = FLIGHT_S,
) -> FlightEnd:
    """Fly a vehicle that is in the air to a place in metres from home; wait until it is there and has settled.

    Axes are ENU (east, north, up) unless `convention` says otherwise; those of FLU and FRD are level, along the
    vehicle's heading. The position in the answer is in ENU from home. The status is reached, refused or timed out. A
    vehicle on the ground must be armed and take off first. If the call is cancelled, the vehicle stops where it is.
    """
    graph = call.graph
    name = _allowed(call, vehicle)
    given = (x, y, z)
    if convention in LEVEL:  # otherwise the target is known only together with the vehicle's position
        call.access.refuse_target(*target_of(given, yaw, convention)[0], speed)
    if not math.isfinite(yaw):
        raise ToolRefused(f"yaw is {yaw}; a number in rad is needed")
    check_span("timeout", timeout, MAX_FLIGHT_S)
    home = _latest(call, f"/{name}/home_position/local")["pose"]["position"]
    with (
        graph.messages(f"/{name}/{_ODOMETRY}", call.patience, MESSAGE_S) as odometry,
        graph.messages(f"/{name}/command_result", call.patience, MESSAGE_S) as results,
    ):
        follow = _Approach(odometry)
        if not call.patience.until(follow.update, MESSAGE_S):
            raise ToolRefused(f"nothing came on {shown(name)}/{_ODOMETRY} within {MESSAGE_S:g} s")
        target, heading = target_of(given, yaw, convention, _from_home(follow.at, home), follow.heading)
        call.access.refuse_target(*target, speed)
        follow.begin([home[axis] + value for axis, value in zip("xyz", target, strict=True)])
        if speed is not None:
            _command(call, results, f"/{name}/cmd/speed", "std_msgs/msg/Float64", {"data": speed}, "speed")
        pose = {
            "position": dict(zip("xyz", target, strict=True)),
            "orientation": {"z": math.sin(heading / 2), "w": math.cos(heading / 2)},
        }
        goto = {"header": {"frame_id": follow.frame}, "pose": pose}
        graph.publish(f"/{name}/goto", "geometry_msgs/msg/PoseStamped", goto, call.patience)
        outcome: list[dict[str, Any]] = []

        def ended() -> bool:
            outcome.extend(each for each in results.take() if _concerns(each, "goto"))
            follow.update()
            call.progress(follow.part, f"{follow.distance:.1f} m left")
            return bool(outcome)

        try:
            in_time = call.patience.until(ended, timeout)
            if in_time and _ok(outcome[-1]):
                call.patience.until(follow.settled, SETTLING_S)
        except BaseException:
            _stop(call, name)
            raise
        status: Literal["reached", "refused", "timed out"] = "timed out"
        message = f"not there within {timeout:g} s; it is still on its way"
        if in_time:
            status = "reached" if _ok(outcome[-1]) else "refused"
            message = shown(str(outcome[-1]["message"]))
        return FlightEnd(
            status=status,
            message=message,
            vehicle=name,
            distance=follow.distance,
            position=_from_home(follow.at, home),
            convention="ENU",
        )


@tool("flight_command", changes=True)
def flight_command(
    call: ToolCall,
    *,
    command: Annotated[
        Literal["arm", "disarm", "takeoff", "land", "return", "mode", "mission_start", "mission_clear"], "what to do"
    ],
    height: Annotated[float | None, "takeoff: m above home; none for the bridge's takeoff_height"] = None,
    mode: Annotated[str, "mode: by the autopilot's own name, such as LOITER"] = "",
    vehicle: Vehicle = "",
) -> Answer:
    """Arm, disarm, take off, land, return, set a mode, or start or clear the mission. Waits for the autopilot's answer.

    Taking off and landing take longer than the answer: follow the height by telemetry.
    """
    name = _allowed(call, vehicle)
    if (height is not None and command != "takeoff") or (mode and command != "mode"):
        raise ToolRefused(f"{command} takes no {'mode' if mode else 'height'}")
    if command == "mode":
        if not mode:
            raise ToolRefused("the mode is missing")
        return _topic_command(call, name, "set_mode", "std_msgs/msg/String", {"data": mode}, "mode")
    if command == "takeoff" and height is not None:
        call.access.refuse_target(0.0, 0.0, height, None)
        return _topic_command(call, name, "cmd/takeoff_to", "std_msgs/msg/Float64", {"data": height}, "takeoff")
    if command in ("arm", "disarm"):
        return _service(call, name, "cmd/arming", {"data": command == "arm"})
    services = {"mission_start": "mission/start", "mission_clear": "mission/clear"}
    return _service(call, name, services.get(command, f"cmd/{command}"), {})


@tool("flight_mission", changes=True)
def flight_mission(
    call: ToolCall,
    *,
    mission: Annotated[str, "YAML, JSON, QGC WPL 110 or a QGroundControl plan, as text"],
    vehicle: Vehicle = "",
) -> Answer:
    """Upload a mission, to be started by flight_command. Its items are checked by the bridge and by the autopilot."""
    name = _allowed(call, vehicle)
    values = {"data": mission}
    return _topic_command(call, name, "mission/upload", "std_msgs/msg/String", values, "mission", timeout_s=60.0)


@tool("telemetry")
def telemetry(call: ToolCall, *, vehicle: Vehicle = "") -> TelemetryAnswer:
    """Return what a vehicle reports: mode, whether it is armed, position from home (ENU, m), speed, battery."""
    name = _named(call, vehicle)
    state = _latest(call, f"/{name}/state")
    home = _latest(call, f"/{name}/home_position/local")["pose"]["position"]
    at, speed = _motion(_latest(call, f"/{name}/{_ODOMETRY}"))
    found: TelemetryAnswer = {
        "vehicle": name,
        "mode": shown(str(state["message"])),
        "state": {shown(str(each["key"])): shown(str(each["value"])) for each in state["values"]},
        "position_from_home": _from_home(at, home),
        "convention": "ENU",
        "speed": speed,
    }
    if battery := _latest(call, f"/{name}/battery", optional=True):
        found["battery"] = BatteryStatus(voltage=battery["voltage"], percentage=battery["percentage"])
    return found


class _Approach:
    """A flight to a target (m, in the map), tracked by odometry. Its values are valid after the first message."""

    def __init__(self, odometry: Messages) -> None:
        self._odometry = odometry
        self.frame = ""

    def begin(self, target: Sequence[float]) -> None:
        """Set the target."""
        self._target = target
        self._begun = self.distance

    @property
    def distance(self) -> float:
        """The distance to the target, m."""
        return math.dist(self.at, self._target)

    def update(self) -> bool:
        """Process received messages. Return whether any message has been received so far."""
        for message in self._odometry.take():
            self.frame = message["header"]["frame_id"]
            self.at, self.speed = _motion(message)
            self.heading = _heading(message["pose"]["pose"]["orientation"])
        return bool(self.frame)

    @property
    def part(self) -> float:
        """The completed fraction of the way, 0 to 1."""
        whole = max(self._begun, self.distance)
        return 1.0 - self.distance / whole if whole else 1.0

    def settled(self) -> bool:
        self.update()
        return self.speed < SETTLED_SPEED and self.distance < SETTLED_DISTANCE


def _motion(odometry: dict[str, Any]) -> tuple[list[float], float]:
    """Return the position in the map (m) and the speed (m/s)."""
    at, along = odometry["pose"]["pose"]["position"], odometry["twist"]["twist"]["linear"]
    return [at[axis] for axis in "xyz"], math.hypot(*(along[axis] for axis in "xyz"))


def _heading(turn: dict[str, float]) -> float:
    """Return the heading of an attitude, rad, counterclockwise from east."""
    x, y, z, w = (turn[axis] for axis in "xyzw")
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def _from_home(at: Sequence[float], home: dict[str, float]) -> list[float]:
    return [value - home[axis] for value, axis in zip(at, "xyz", strict=True)]


def vehicles(graph: Graph) -> list[str]:
    """Return the names of the vehicles of bridges on the graph."""
    end = f"/{_POSE}"
    return [each.name[1:].removesuffix(end) for each in graph.topics() if each.publishers and each.name.endswith(end)]


def _named(call: ToolCall, wanted: str) -> str:
    graph, known = call.graph, list[str]()

    def there() -> bool:
        known[:] = vehicles(graph)
        return wanted.strip("/") in known if wanted else bool(known)

    call.patience.until(there, VEHICLE_S)
    name = wanted.strip("/")
    if name:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ToolRefused(f"no vehicle {shown(name)}{hint} (there are: {shown(', '.join(known)) or 'none'})")
        return name
    if len(known) != 1:
        several = f"there are several vehicles, name one: {shown(', '.join(known))}"
        raise ToolRefused(several if known else "no vehicle on the graph: does a bridge run, and an autopilot?")
    return known[0]


def _allowed(call: ToolCall, wanted: str) -> str:
    graph = call.graph
    name = _named(call, wanted)
    truth = f"/{name}/truth/"
    simulated = any(each.publishers and each.name.startswith(truth) for each in graph.topics())
    call.access.refuse_flight(name, simulated=simulated)
    return name


def _latest(call: ToolCall, topic: str, *, optional: bool = False) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def some() -> bool:
        found.extend(messages.take())
        return bool(found)

    try:
        with call.graph.messages(topic, call.patience, MESSAGE_S) as messages:
            if call.patience.until(some, MESSAGE_S):
                return found[-1]
    except ToolRefused:
        if not optional:
            raise
    if optional:
        return {}
    raise ToolRefused(f"nothing came on {shown(topic)} within {MESSAGE_S:g} s")


def _service(call: ToolCall, name: str, service: str, values: dict[str, Any]) -> Answer:
    reply = call.graph.call(f"/{name}/{service}", values, call.patience, REPLY_S)
    return _answer(name, str(reply["message"]), accepted=bool(reply["success"]))


def _answer(name: str, message: str, *, accepted: bool) -> Answer:
    return {"status": "accepted" if accepted else "refused", "message": shown(message), "vehicle": name}


def _topic_command(
    call: ToolCall, name: str, topic: str, type: str, values: dict[str, Any], result: str, timeout_s: float = REPLY_S
) -> Answer:
    with call.graph.messages(f"/{name}/command_result", call.patience, MESSAGE_S) as results:
        found = _sent(call, results, f"/{name}/{topic}", type, values, result, timeout_s)
    return _answer(name, str(found["message"]), accepted=_ok(found))


def _command(call: ToolCall, results: Messages, topic: str, type: str, values: dict[str, Any], result: str) -> None:
    found = _sent(call, results, topic, type, values, result, REPLY_S)
    if not _ok(found):
        raise ToolRefused(f"{result}: {shown(str(found['message']))}")


def _sent(
    call: ToolCall, results: Messages, topic: str, type: str, values: dict[str, Any], result: str, timeout_s: float
) -> dict[str, Any]:
    """Publish a command and return its result. Raises ToolRefused if no result is received."""
    found: list[dict[str, Any]] = []

    def answered() -> bool:
        found.extend(each for each in results.take() if _concerns(each, result))
        return bool(found)

    call.graph.publish(topic, type, values, call.patience)
    if not call.patience.until(answered, timeout_s):
        raise ToolRefused(f"no answer to {result} within {timeout_s:g} s")
    return found[0]


def _concerns(status: dict[str, Any], result: str) -> bool:
    """Return whether a command_result is the final result of a command."""
    done = any(each["key"] == "done" and each["value"] == "true" for each in status["values"])
    return done and str(status["name"]).lower().startswith(result.lower())


def _ok(status: dict[str, Any]) -> bool:
    return status["level"] in (0, "\0", b"\0")


def _stop(call: ToolCall, name: str) -> None:
    """Make the vehicle stop at its current position, because the caller does not wait any more."""
    again = ToolCall(call.access, Patience(), call.running)
    try:
        pose = _latest(again, f"/{name}/{_POSE}")
        home = _latest(again, f"/{name}/home_position/local")["pose"]["position"]
        at = pose["pose"]["position"]
        pose["header"]["stamp"] = {"sec": 0, "nanosec": 0}  # now
        pose["pose"]["position"] = {axis: at[axis] - home[axis] for axis in "xyz"}
        again.graph.publish(f"/{name}/goto", "geometry_msgs/msg/PoseStamped", pose, again.patience)
    except ToolRefused:
        return  # the graph has ended, and so has the flight
