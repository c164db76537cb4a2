"""Vehicles of a World: multirotors with their rotors and servos, pilots and autopilots."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as AnyMapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from sim_node.registry import Registry
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.declared import Fault, Nested, Spread, declared, given, keys_of, place_of, read, rule
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.quantities import (
    ORIGIN,
    POINT,
    Direction,
    Flag,
    FrameName,
    ListOf,
    Name,
    Number,
    Numbers,
    OrNone,
    PartOf,
    PathOf,
    PerAxis,
    Text,
    Whole,
    Word,
)
from sim_node.world.readers.keys import Form, Keys, listing, number, one_or_each
from sim_node.world.readers.yaml_nodes import Sequence
from sim_node.world.readers.yaml_values import Table, Value

# The sign of a rotor's rotation about its axis, by its direction seen from above, where the axis points to.
SPINS = {"ccw": 1, "cw": -1}
MAX_ROTORS = 64
MAX_DRAG = 1e6
# MAVLink system ids follow from instances and end at 255. Ports stay below 65536, too.
MAX_INSTANCES = 255
SPEED = Number(1e-3, 1e3)
# What a pilot does after its last waypoint.
AFTER = ("land", "hold", "loop")
_LAG = Number(0.0, 1e3)


def _lag(value: Value, context: Any) -> dict[str, float]:
    """Read one time constant, or [up, down]."""
    if not isinstance(value.node, Sequence):
        lag = value.number(_LAG.low, _LAG.high)
        return {"time_constant_up": lag, "time_constant_down": lag}
    if value.vector(2) is None:
        return {}
    up, down = (each.number(_LAG.low, _LAG.high) for each in value.items())
    return {"time_constant_up": up, "time_constant_down": down}


@declared(
    define="rotor",
    spread={
        "time_constant": Spread(
            ("time_constant_up", "time_constant_down"),
            one_or_each("Time constant of the speed, or [up, down], s.", number("", _LAG.low, _LAG.high), 2),
            _lag,
            lambda rotor: [rotor.time_constant_up, rotor.time_constant_down],
        )
    },
)
class Rotor:
    """A motor with a propeller, fixed to a body.

    At speed w the thrust is thrust_coefficient w^2, and the torque on the body, against the rotation, is
    moment_coefficient times the thrust. The drag is drag_coefficient w times the speed of the air across the axis. A
    command c in [0, 1] sets the speed min_speed + c (max_speed - min_speed); 0 stops the rotor.

    Raises:
        ValueError: An array has the wrong shape.
    """

    position: FloatArray = given(POINT, "Position in the body", "m")
    spin: str = given(Word(SPINS), "Rotation about the axis, seen from above")
    thrust_coefficient: float = given(Number(1e-15, 1e3), "Thrust over the square of the speed", "N s^2/rad^2")
    moment_coefficient: float = given(Number(0.0, 1e3), "Torque over thrust", "m")
    max_speed: float = given(Number(1e-3, 1e6), "Maximum speed", "rad/s")
    min_speed: float = given(Number(0.0, 1e6), "Minimum speed", "rad/s", default=0.0)
    axis: FloatArray = given(Direction(3, MAX_DISTANCE), "Direction of the thrust", default=(0.0, 0.0, 1.0))
    drag_coefficient: float = given(Number(0.0, 1e3), "Drag across the axis", "kg/rad", default=0.0)
    time_constant_up: float = given(_LAG, "Time constant of an increasing speed", "s", default=0.0)
    time_constant_down: float = given(_LAG, "Time constant of a decreasing speed", "s", default=0.0)

    @rule
    def turns_faster_than_idle(self) -> Iterator[Fault]:
        """Yield a fault if the speeds are in the wrong order."""
        if self.min_speed >= self.max_speed:
            yield "", f"min_speed {self.min_speed:g} is not below max_speed {self.max_speed:g}"


@declared
class Waypoint:
    """A position to fly to in a straight line, and to stop at.

    Raises:
        ValueError: `position` has the wrong shape.
    """

    position: FloatArray = given(POINT, "Position of the body in its parent frame, ENU", "m")
    yaw: float | None = given(Number(-1e6, 1e6), "Yaw; the current one if not given", "rad", default=None, degrees=True)
    speed: float | None = given(SPEED, "Maximum speed; that of the pilot if not given", "m/s", default=None)
    hold: float = given(Number(0.0, 1e9), "How long the vehicle stays", "s", default=0.0)
    radius: float = given(Number(1e-3, MAX_DISTANCE), "How close the vehicle has to come", "m", default=0.5)


@declared
class Pilot:
    """The built-in controller and its mission: wait, take off, and fly from waypoint to waypoint."""

    waypoints: tuple[Waypoint, ...] = given(ListOf(PartOf(Waypoint, "position")), "The mission", default=())
    after: str = given(Word(AFTER), "What to do after the last waypoint", default="land")
    wait: float = given(Number(0.0, 1e9), "Time before the take-off", "s", default=1.0)
    take_off: float = given(Number(0.0, MAX_DISTANCE), "Height of the take-off", "m", default=2.0)
    speed: float = given(SPEED, "Maximum speed", "m/s", default=5.0)
    acceleration: float = given(Number(1e-3, 1e3), "Maximum acceleration", "m/s^2", default=2.5)
    landing_speed: float = given(Number(1e-3, 1e2), "Speed of descent when landing", "m/s", default=0.7)
    yaw_rate: float = given(Number(1e-3, 1e2), "Maximum yaw rate", "rad/s", default=1.0)
    rate: float = given(Number(1.0, 1e5), "Rate of the controller", "Hz", default=250.0)


# The type of the built-in autopilot.
BUILTIN = "mavlink_builtin"


class AutopilotType(NamedTuple):
    """The requirements of a type of autopilot: sensors of the vehicle, and the maximum number of rotors or channels.

    pilot: whether mission and limits come from the vehicle's pilot; links: whether it may have ground links.
    channels: default roles of its output channels on a base, by kind of base; those of "" are the same for every kind,
    and a world cannot change them. restarts: whether a run detects that it has restarted.
    """

    sensors: tuple[str, ...]
    max_rotors: int
    pilot: bool = False
    links: bool = False
    channels: AnyMapping[str, tuple[str, ...]] = MappingProxyType({})
    restarts: bool = False


# By the `type` in world files. ArduPilot's simulator interface receives ground truth and simulates sensors itself.
AUTOPILOT_TYPES: Registry[str, AutopilotType] = Registry(
    "type of autopilot", shipped=("sim_node.world.vehicles",), group="sim_node.autopilots"
)
_ONBOARD = ("imu", "magnetometer", "barometer", "gps")
for _name, _type in {
    # Servo outputs 1 and 3, as in its rover.
    "ardupilot": AutopilotType(
        (),
        32,
        channels={
            "differential": ("left", "none", "right"),
            "skid": ("left", "none", "right"),
            "ackermann": ("steering", "none", "throttle"),
        },
        restarts=True,
    ),
    BUILTIN: AutopilotType(_ONBOARD, 16, pilot=True, links=True, channels={"": ("throttle", "turn", "lateral")}),
    # Motors in the order of its rovers' geometries, then the servo.
    "px4": AutopilotType(
        _ONBOARD,
        16,
        channels={
            "differential": ("right", "left"),
            "skid": ("right", "left"),
            "ackermann": ("throttle", "steering"),
            "mecanum": ("front_right", "front_left", "rear_right", "rear_left"),
        },
    ),
}.items():
    AUTOPILOT_TYPES.add(_name)(_type)


# Pulse widths of servo outputs at both ends, us.
PULSES = (1000.0, 2000.0)
# The dialects of the built-in autopilot; the first one is the default.
LIKE = ("px4", "ardupilot")


@declared
class Autopilot:
    """An autopilot, in a process of its own unless it says otherwise."""

    type: str = given(Word(AUTOPILOT_TYPES), "The type of autopilot")
    instance: int = given(
        Whole(0, MAX_INSTANCES - 1), "Its number, from which its ports and MAVLink system id follow", default=0
    )
    start: bool = given(Flag(), "Whether the run starts it, if it is part of sim_node", default=True)
    links: tuple[str, ...] = given(ListOf(Text()), "Additional ground links, as in udpout:127.0.0.1:14550", default=())
    any_instance: bool = given(
        None, "Whether a run may choose another instance if the ports of this one are in use", default=False
    )
    installed: bool = given(
        None, "Whether the run starts the one that is installed on this machine, and gives it orders", default=False
    )
    like: str = given(Word(LIKE), "What the built-in autopilot presents itself as", default=LIKE[0], omit=True)
    signing_key: Path | None = given(
        PathOf(), "File with the MAVLink 2 signing key of the built-in autopilot's links", default=None
    )
    channels: tuple[str, ...] = given(
        ListOf(Text()),
        "What its output channels command, from channel 1 on; those of its type if none are given",
        default=(),
        omit=True,
    )
    pulses: tuple[float, float] = given(
        Numbers(2, 3000.0, 0.0),
        "Widths of ArduPilot's servo outputs that are a command's lower end, and 1",
        "us",
        default=PULSES,
        omit=True,
    )
    reset_vehicle: bool = given(
        Flag(), "Whether the vehicle goes back to its start when ArduPilot has started again", default=False, omit=True
    )
    in_process: bool = given(
        Flag(),
        "Whether the built-in autopilot flies in the process of the run, which is faster",
        default=False,
        omit=True,
    )

    @rule
    def is_in_one_process(self) -> Iterator[Fault]:
        """Yield a fault if `in_process` is set for another type, or for an autopilot that the user starts."""
        if self.in_process and self.type != BUILTIN:
            yield "in_process", f"{self.type} has a process of its own; only {BUILTIN} flies in that of the run"
        elif self.in_process and not self.start:
            yield "in_process", "with start: false, you start it in a process of its own; give one or the other"

    @rule
    def has_servo_outputs(self) -> Iterator[Fault]:
        """Yield a fault if `pulses` does not apply to its type, or is not an increasing range."""
        if self.pulses != PULSES and self.type != "ardupilot":
            yield "pulses", f"the outputs of {self.type} are no pulses; only those of ardupilot are"
        elif not self.pulses[0] < self.pulses[1]:
            yield "pulses", f"the first, {self.pulses[0]:g}, is not below the second, {self.pulses[1]:g}"

    @rule
    def can_tell_that_it_started_again(self) -> Iterator[Fault]:
        """Yield a fault if `reset_vehicle` is set, but a run does not detect that this type has restarted."""
        if self.reset_vehicle and not AUTOPILOT_TYPES[self.type].restarts:
            telling = ", ".join(name for name, each in AUTOPILOT_TYPES.items() if each.restarts)
            message = f"{self.type} does not report that it has started again; allowed for: {telling}"
            yield "reset_vehicle", message

    @property
    def _derived(self) -> tuple[str, ...]:
        """Keys that are not written to files: an instance that was chosen automatically."""
        return ("instance",) if self.any_instance else ()

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Mark the instance of an autopilot that the run starts to be chosen by the run, if the file gives none."""
        kind, start = found.get("type"), found.get("start", True)
        # The instance of an autopilot that the run does not start is chosen by whoever starts it.
        found["any_instance"] = "instance" not in table and start and kind == BUILTIN
        like, key = table.get("like"), table.get("signing_key")
        if like is not None and kind != BUILTIN:
            like.error(f"{kind} is like itself; only mavlink_builtin can be like another")
        if key is not None and kind != BUILTIN:
            key.error(f"the links of {kind} are its own; only mavlink_builtin takes a key")


class Rotors(ListOf):
    """The rotors of a vehicle. Common values may be given under the vehicle's key `rotor`."""

    def form(self, about: str) -> Form:
        """Return the form of a list of rotors."""
        return listing(about, Keys({**ROTOR_KEYS}, define="rotor"), self.least, self.most)

    def read(self, value: Value, context: Any) -> tuple[Rotor, ...]:
        """Read a list of rotors, each with the common values as defaults."""
        shared = value.holder.get("rotor") if value.holder is not None else None
        if shared is None:
            return super().read(value, context)
        common = shared.table(SHARED_ROTOR_KEYS)
        found = tuple(read(Rotor, each, context, common=common) for each in value.items())
        self.count(value)
        return found


ROTOR_KEYS = keys_of(Rotor, partial=True)
SHARED_ROTOR_KEYS = keys_of(Rotor, but=("position",), partial=True)
_DRAG, _ANGLE = PerAxis(3, MAX_DRAG, 0.0), Number(-1e6, 1e6)


@declared
class Servo:
    """A joint of a vehicle with rotors that its autopilot moves: a control surface, a gimbal.

    A command c in [0, 1] sets the target of the joint's actuator to low + c (high - low).
    """

    joint: str = given(Text(), "The joint, which has an actuator")
    low: float = given(_ANGLE, "Target at the command 0, in the unit of the actuator", default=-0.5)
    high: float = given(_ANGLE, "Target at the command 1", default=0.5)


@declared(spread={"drag": Nested(("drag_linear", "drag_quadratic"), "Drag along its axes.")})
class Multirotor:
    """A body with rotors.

    At velocity v relative to the air, the drag along axis i of the body is (drag_linear_i + drag_quadratic_i |v|) v_i.

    Raises:
        ValueError: An array has the wrong shape.
    """

    name: str = given(Name(), "Name of the vehicle, which the names of its frames begin with")
    body: str = given(FrameName(), "The body that has the rotors, and a free joint")
    rotors: tuple[Rotor, ...] = given(
        Rotors(PartOf(Rotor), 1, MAX_ROTORS), "The rotors, in the order of their commands"
    )
    drag_linear: FloatArray = given(_DRAG, "Coefficients (3,)", "N s/m", default=ORIGIN, key="linear")
    drag_quadratic: FloatArray = given(_DRAG, "Coefficients (3,)", "N s^2/m^2", default=ORIGIN, key="quadratic")
    pilot: Pilot | None = given(
        OrNone(Pilot),
        "The built-in controller, or the mission and limits of a built-in autopilot; None for neither",
        default=None,
    )
    autopilot: Autopilot | None = given(OrNone(Autopilot), "An autopilot in a separate process, or None", default=None)
    servos: tuple[Servo, ...] = given(
        ListOf(PartOf(Servo), 0, MAX_ROTORS),
        "Joints that its autopilot moves, on the channels after those of its rotors",
        default=(),
        omit=True,
    )
    place: Place = place_of(default=NO_PLACE)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that channels of its autopilot can have: its rotors, then its servos, numbered from 0."""
        return tuple(
            f"{kind}_{number}"
            for kind, each in (("rotor", self.rotors), ("servo", self.servos))
            for number in range(len(each))
        )

    @property
    def channels(self) -> tuple[str, ...]:
        """The roles of its autopilot's channels: all roles in order, unless the world states others."""
        return (() if self.autopilot is None else self.autopilot.channels) or self.roles
