"""What an agent observes and does: signals and actions, by the names of frames, joints, sensors and vehicles."""

from __future__ import annotations

from sim_node.world.declared import declared, given, place_of
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.quantities import ListOf, Other, Text
from sim_node.world.readers.keys import number, one_or_each
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_values import Value

FRAME_VALUES = ("position", "quaternion", "rpy", "rotation")
MOTION_VALUES = ("velocity", "angular_velocity", "body_velocity", "body_rates", "acceleration")
JOINT_VALUES = ("position", "velocity", "effort")
VEHICLE_VALUES = ("speeds", "command")
JOINT_ACTIONS = ("position", "velocity", "effort")
BODY_ACTIONS = ("force", "torque", "wrench")
# What a multirotor can be commanded by, and the numbers of each; motor commands have one for each rotor.
VEHICLE_ACTIONS = {
    "command": (),
    "position": ("x", "y", "z", "yaw"),
    "velocity": ("vx", "vy", "vz", "yaw_rate"),
    "attitude": ("roll", "pitch", "yaw_rate", "thrust"),
}


# One number, or one per number of an action.
Limit = float | tuple[float, ...]


def _limit(value: Value) -> Limit:
    return value.number() if isinstance(value.node, Scalar) else tuple(each.number() for each in value.items())


_LIMIT = Other(lambda about: one_or_each(about, number("")), _limit)
_LOW, _HIGH = "Least value, one number or one per number of the action", "Largest value, likewise"


@declared
class FrameSignal:
    """The pose or motion of a frame, in SI units.

    Of its values, position (3,), quaternion [x y z w], rpy (3,), and rotation, the matrix (9,) row by row, are those of
    a pose. The others are (3,): velocity, angular_velocity and acceleration along the fixed frame's axes, body_velocity
    and body_rates along the frame's own.
    """

    frame: str = given(Text(), "The frame")
    value: str = given(Text(), "One of FRAME_VALUES or MOTION_VALUES", default="position")
    relative_to: str = given(Text(), "The frame that a pose is relative to; empty for the fixed frame", default="")
    place: Place = place_of(default=NO_PLACE)


@declared
class JointSignal:
    """The state of a joint: a number for a hinge or a slide, else an array; m or rad, m/s or rad/s, N or N m."""

    joint: str = given(Text(), "The joint")
    value: str = given(Text(), "One of JOINT_VALUES", default="position")
    place: Place = place_of(default=NO_PLACE)


@declared
class SensorSignal:
    """The newest measurement of a sensor; zeros before the first one."""

    sensor: str = given(Text(), "The sensor")
    channels: tuple[str, ...] = given(
        ListOf(Text()), "Names of the numbers of the measurement; empty for all", default=()
    )
    place: Place = place_of(default=NO_PLACE)


@declared
class VehicleSignal:
    """The rotors (R,) of a multirotor: speeds, rad/s, or command, 0 to 1."""

    vehicle: str = given(Text(), "The vehicle")
    value: str = given(Text(), "One of VEHICLE_VALUES", default="speeds")
    place: Place = place_of(default=NO_PLACE)


@declared
class ColumnSignal:
    """A column of the run, or the row of one entity."""

    column: str = given(Text(), "The column")
    entity: str = given(Text(), "Name of the row; empty for the whole column", default="")
    place: Place = place_of(default=NO_PLACE)


# A named value: of the run, or an expression over signals before it and the actions.
Signal = FrameSignal | JointSignal | SensorSignal | VehicleSignal | ColumnSignal | str


@declared
class JointAction:
    """The target of a joint's actuator, or its effort, which needs no actuator; m, rad, m/s, rad/s, N or N m."""

    joint: str = given(Text(), "The joint")
    value: str = given(Text(), "One of JOINT_ACTIONS")
    low: Limit = given(_LIMIT, _LOW)
    high: Limit = given(_LIMIT, _HIGH)
    place: Place = place_of(default=NO_PLACE)


@declared
class BodyAction:
    """What acts on a body's centre of mass, along the fixed frame's axes.

    A force (3,), N, a torque (3,), N m, or a wrench (6,), both.
    """

    body: str = given(Text(), "The body")
    value: str = given(Text(), "One of BODY_ACTIONS")
    low: Limit = given(_LIMIT, _LOW)
    high: Limit = given(_LIMIT, _HIGH)
    place: Place = place_of(default=NO_PLACE)


@declared
class VehicleAction:
    """Commands of a multirotor that nothing else flies.

    A command (R,) is 0 to 1 for each motor. The others are setpoints that the built-in controller tracks: position
    [x y z yaw], velocity [vx vy vz yaw_rate] in the fixed frame, attitude [roll pitch yaw_rate thrust], where thrust is
    a part of the thrust of all rotors at full speed. SI units.
    """

    vehicle: str = given(Text(), "The vehicle")
    value: str = given(Text(), "One of VEHICLE_ACTIONS")
    low: Limit = given(_LIMIT, _LOW)
    high: Limit = given(_LIMIT, _HIGH)
    place: Place = place_of(default=NO_PLACE)


Action = JointAction | BodyAction | VehicleAction
