"""Vehicles of a World: the rotors of multirotors and what flies them; frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.registry import Registry
from sim_node.world.fields import directions, floats, same
from sim_node.world.problems import NO_PLACE, Place

# The sign of a rotor's turn about its axis, by the field's words: seen from above, where the axis points.
SPINS = {"ccw": 1, "cw": -1}
# What a pilot does after its last waypoint.
AFTER = ("land", "hold", "loop")


@dataclass(frozen=True, slots=True, eq=False)
class Rotor:
    """A motor with its propeller, fixed to a body. Raises ValueError for arrays of another shape.

    position (3,): in the body, m. axis (3,): along which it thrusts, made unit. spin: one of SPINS. At speed w it
    thrusts with thrust_coefficient w^2 (N s^2/rad^2) and turns the body against its spin by moment_coefficient (m)
    times that. drag_coefficient w (kg/rad) times the air's speed across the axis is its drag. time_constant_up, _down:
    of its speed, s. A command c in [0, 1] means min_speed + c (max_speed - min_speed), rad/s, and 0 means standstill.
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
    """A place to fly to, in a straight line, and to rest at. Raises ValueError for a position of another shape.

    position (3,): of the body in its parent frame, ENU, m. yaw: rad, None to keep the one it has. speed: m/s at most,
    None for the pilot's. radius: how near the vehicle has to come, m; hold: how long it stays then, s.
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
    """The built-in controller and its mission: it waits, climbs by take_off, and flies from waypoint to waypoint.

    wait s; take_off m; after: one of AFTER. speed m/s, acceleration m/s^2 and yaw_rate rad/s are the most that it asks
    for, landing_speed m/s what it descends with to land. rate: of the controller, Hz.
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


class AutopilotType(NamedTuple):
    """What a type of autopilot takes: the sensors that its vehicle has to have, and how many rotors at most.

    pilot: whether it takes its mission and its limits from the vehicle's pilot; links: whether it takes ground links.
    """

    sensors: tuple[str, ...]
    max_rotors: int
    pilot: bool = False
    links: bool = False


# By the `type` of world files. ArduPilot's simulator interface takes the truth, and makes sensors of its own of it.
AUTOPILOT_TYPES: Registry[str, AutopilotType] = Registry(
    "type of autopilot", shipped=("sim_node.world.vehicles",), group="sim_node.autopilots"
)
for _name, _type in {
    "ardupilot": AutopilotType((), 32),
    "mavlink_builtin": AutopilotType(("imu", "magnetometer", "barometer", "gps"), 16, pilot=True, links=True),
    "px4": AutopilotType(("imu", "magnetometer", "barometer", "gps"), 16),
}.items():
    AUTOPILOT_TYPES.add(_name)(_type)


# What the built-in autopilot can be like; the first is the default.
LIKE = ("px4", "ardupilot")


@dataclass(frozen=True, slots=True)
class Autopilot:
    """A program of its own that flies a vehicle: one of AUTOPILOT_TYPES, and which instance of it, from 0.

    start: whether the run starts it, where it is one that comes with us. links: URLs of ground links that it has beside
    its own, as in udpout:127.0.0.1:14550. any_instance: whether a run may take another one where its ports are taken.
    like: which of LIKE the built-in autopilot presents itself as.
    """

    type: str
    instance: int = 0
    start: bool = True
    links: tuple[str, ...] = ()
    any_instance: bool = False
    like: str = LIKE[0]


@dataclass(frozen=True, slots=True, eq=False)
class Multirotor:
    """A body with rotors. Raises ValueError for drag of another shape.

    body: the name of its Body, on a free joint. rotors: in the order of their commands. drag_linear, drag_quadratic
    (3,): N s/m and N s^2/m^2 along the body's axes; at velocity v relative to the air the drag along axis i is
    (drag_linear_i + drag_quadratic_i |v|) v_i. pilot: None where commands come from outside. With an autopilot, which
    has to be one that takes it, the pilot flies there.
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
