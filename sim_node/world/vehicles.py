"""Vehicles of a World: the rotors of multirotors, their pilots and autopilots, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.registry import Registry
from sim_node.world.fields import directions, floats, same
from sim_node.world.problems import NO_PLACE, Place

# The sign of a rotor's rotation about its axis, seen from above, where the axis points.
SPINS = {"ccw": 1, "cw": -1}
# What a pilot does after its last waypoint.
AFTER = ("land", "hold", "loop")


@dataclass(frozen=True, slots=True, eq=False)
class Rotor:
    """A motor with a propeller, fixed to a body.

    At speed w the thrust is thrust_coefficient w^2, and the torque on the body, against the rotation, is
    moment_coefficient times the thrust. The drag is drag_coefficient w times the speed of the air across the axis. A
    command c in [0, 1] sets the speed min_speed + c (max_speed - min_speed); 0 stops the rotor.

    Attributes:
        position: Position (3,) in the body, m.
        spin: One of SPINS.
        thrust_coefficient: N s^2/rad^2.
        moment_coefficient: m.
        max_speed: rad/s.
        min_speed: rad/s.
        axis: Direction (3,) of the thrust in the body; it is normalised.
        drag_coefficient: kg/rad.
        time_constant_up: Time constant of an increasing speed (s).
        time_constant_down: Time constant of a decreasing speed (s).

    Raises:
        ValueError: An array has the wrong shape.
    """

    position: FloatArray
    spin: str
    thrust_coefficient: float
    moment_coefficient: float
    max_speed: float
    min_speed: float = 0.0
    axis: FloatArray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    drag_coefficient: float = 0.0
    time_constant_up: float = 0.0
    time_constant_down: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", floats(self.position, (3,), "rotor", "position"))
        object.__setattr__(self, "axis", directions(self.axis, (3,), "rotor", "axis"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class Waypoint:
    """A position to fly to in a straight line, and to stop at.

    Attributes:
        position: Position (3,) of the body in its parent frame, ENU, m.
        yaw: rad; None keeps the current one.
        speed: Maximum speed (m/s); None for that of the pilot.
        hold: How long the vehicle stays (s).
        radius: How close the vehicle has to come (m).

    Raises:
        ValueError: `position` has the wrong shape.
    """

    position: FloatArray
    yaw: float | None = None
    speed: float | None = None
    hold: float = 0.0
    radius: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", floats(self.position, (3,), "waypoint", "position"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Pilot:
    """The built-in controller and its mission: wait, take off, and fly from waypoint to waypoint.

    Attributes:
        waypoints: The waypoints in their order.
        after: What to do after the last waypoint; one of AFTER.
        wait: Time before the take-off (s).
        take_off: Height of the take-off (m).
        speed: Maximum speed (m/s).
        acceleration: Maximum acceleration (m/s^2).
        landing_speed: Speed of descent when landing (m/s).
        yaw_rate: Maximum yaw rate (rad/s).
        rate: Rate of the controller (Hz).
    """

    waypoints: tuple[Waypoint, ...] = ()
    after: str = "land"
    wait: float = 1.0
    take_off: float = 2.0
    speed: float = 5.0
    acceleration: float = 2.5
    landing_speed: float = 0.7
    yaw_rate: float = 1.0
    rate: float = 250.0


# The type of the built-in autopilot.
BUILTIN = "mavlink_builtin"


class AutopilotType(NamedTuple):
    """The requirements of a type of autopilot: sensors of the vehicle, and the maximum number of rotors or channels.

    pilot: whether mission and limits come from the vehicle's pilot; links: whether it may have ground links.
    channels: what its output channels command by default on a base, by the kind of base; those of "" are the same on
    every kind, and a world cannot change them. restarts: whether a run learns that it has started again.
    """

    sensors: tuple[str, ...]
    max_rotors: int
    pilot: bool = False
    links: bool = False
    channels: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    restarts: bool = False


# By the `type` in world files. ArduPilot's simulator interface receives ground truth and simulates sensors itself.
AUTOPILOT_TYPES: Registry[str, AutopilotType] = Registry(
    "type of autopilot", shipped=("sim_node.world.vehicles",), group="sim_node.autopilots"
)
_ONBOARD = ("imu", "magnetometer", "barometer", "gps")
for _name, _type in {
    # Servo outputs 1 and 3, as its rover has them.
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


# What the built-in autopilot can be like; the first is the default.
LIKE = ("px4", "ardupilot")


@dataclass(frozen=True, slots=True)
class Autopilot:
    """An autopilot in a separate process.

    Attributes:
        type: One of AUTOPILOT_TYPES.
        instance: Its number, from 0, which determines ports and the MAVLink system id.
        start: Whether the run starts it, if it is part of sim_node.
        links: URLs of additional ground links, as in udpout:127.0.0.1:14550.
        any_instance: Whether a run may choose another instance if the ports of this one are in use.
        like: Which of LIKE the built-in autopilot presents itself as.
        signing_key: File with the MAVLink 2 signing key of the built-in autopilot's links; None for unsigned links.
        channels: What its output channels command on a base, from channel 1 on; empty for those of its type.
        reset_vehicle: Whether the vehicle goes back to its start when the autopilot has started again.
    """

    type: str
    instance: int = 0
    start: bool = True
    links: tuple[str, ...] = ()
    any_instance: bool = False
    like: str = LIKE[0]
    signing_key: Path | None = None
    channels: tuple[str, ...] = ()
    reset_vehicle: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Multirotor:
    """A body with rotors.

    At velocity v relative to the air, the drag along axis i of the body is (drag_linear_i + drag_quadratic_i |v|) v_i.

    Attributes:
        name: Unique among vehicles.
        body: The name of its Body, which has a free joint.
        rotors: In the order of their commands.
        drag_linear: Coefficients (3,), N s/m.
        drag_quadratic: Coefficients (3,), N s^2/m^2.
        pilot: The built-in controller; None if commands come from elsewhere. A built-in autopilot uses its mission and
            limits.
        autopilot: An autopilot in a separate process, or None.
        place: Where the file describes the vehicle.

    Raises:
        ValueError: An array has the wrong shape.
    """

    name: str
    body: str
    rotors: tuple[Rotor, ...]
    drag_linear: FloatArray = field(default_factory=lambda: np.zeros(3))
    drag_quadratic: FloatArray = field(default_factory=lambda: np.zeros(3))
    pilot: Pilot | None = None
    autopilot: Autopilot | None = None
    place: Place = NO_PLACE

    def __post_init__(self) -> None:
        for key in ("drag_linear", "drag_quadratic"):
            object.__setattr__(self, key, floats(getattr(self, key), (3,), self.name, key))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]
