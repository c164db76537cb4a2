"""What an agent observes and does: signals and actions, by the names of frames, joints, sensors and vehicles."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim_node.world.problems import NO_PLACE, Place

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


@dataclass(frozen=True)
class FrameSignal:
    """The pose or motion of a frame.

    Attributes:
        frame: The frame.
        value: One of FRAME_VALUES: position (3,), quaternion [x y z w], rpy (3,), or rotation, the matrix (9,) row by
            row; or one of MOTION_VALUES (3,): velocity, angular_velocity and acceleration along the fixed frame's axes,
            body_velocity and body_rates along the frame's own. SI units.
        relative_to: The frame that a pose is relative to; empty for the fixed frame.
        place: Where the file gives it.
    """

    frame: str
    value: str = "position"
    relative_to: str = ""
    place: Place = field(default=NO_PLACE, compare=False)


@dataclass(frozen=True)
class JointSignal:
    """The state of a joint: a number for a hinge or a slide, else an array.

    Attributes:
        joint: The joint.
        value: One of JOINT_VALUES: position, velocity or effort; m or rad, m/s or rad/s, N or N m.
        place: Where the file gives it.
    """

    joint: str
    value: str = "position"
    place: Place = field(default=NO_PLACE, compare=False)


@dataclass(frozen=True)
class SensorSignal:
    """The newest measurement of a sensor; zeros before the first one.

    Attributes:
        sensor: The sensor.
        channels: Names of the numbers of the measurement; empty for all.
        place: Where the file gives it.
    """

    sensor: str
    channels: tuple[str, ...] = ()
    place: Place = field(default=NO_PLACE, compare=False)


@dataclass(frozen=True)
class VehicleSignal:
    """The rotors (R,) of a multirotor.

    Attributes:
        vehicle: The vehicle.
        value: One of VEHICLE_VALUES: speeds, rad/s, or command, 0 to 1.
        place: Where the file gives it.
    """

    vehicle: str
    value: str = "speeds"
    place: Place = field(default=NO_PLACE, compare=False)


@dataclass(frozen=True)
class ColumnSignal:
    """A column of the run, or the row of one entity.

    Attributes:
        column: The column.
        entity: Name of the row; empty for the whole column.
        place: Where the file gives it.
    """

    column: str
    entity: str = ""
    place: Place = field(default=NO_PLACE, compare=False)


# A named value: of the run, or an expression over signals before it and the actions.
Signal = FrameSignal | JointSignal | SensorSignal | VehicleSignal | ColumnSignal | str


@dataclass(frozen=True)
class JointAction:
    """The target of a joint's actuator, or its effort.

    Attributes:
        joint: The joint.
        value: One of JOINT_ACTIONS. An effort needs no actuator.
        low, high: The range, one number or one per number of the action; m, rad, m/s, rad/s, N or N m.
        place: Where the file gives it.
    """

    joint: str
    value: str
    low: float | tuple[float, ...]
    high: float | tuple[float, ...]
    place: Place = field(default=NO_PLACE, compare=False)


@dataclass(frozen=True)
class BodyAction:
    """What acts on a body's centre of mass, along the fixed frame's axes.

    Attributes:
        body: The body.
        value: One of BODY_ACTIONS: force (3,), N, torque (3,), N m, or wrench (6,), both.
        low, high: The range, one number or one per number of the action.
        place: Where the file gives it.
    """

    body: str
    value: str
    low: float | tuple[float, ...]
    high: float | tuple[float, ...]
    place: Place = field(default=NO_PLACE, compare=False)


@dataclass(frozen=True)
class VehicleAction:
    """Commands of a multirotor that nothing else flies.

    Attributes:
        vehicle: The vehicle.
        value: One of VEHICLE_ACTIONS: command (R,), 0 to 1 for each motor; or a setpoint that the built-in controller
            tracks: position [x y z yaw], velocity [vx vy vz yaw_rate] in the fixed frame, attitude [roll pitch yaw_rate
            thrust], where thrust is a part of the thrust of all rotors at full speed. SI units.
        low, high: The range, one number or one per number of the action.
        place: Where the file gives it.
    """

    vehicle: str
    value: str
    low: float | tuple[float, ...]
    high: float | tuple[float, ...]
    place: Place = field(default=NO_PLACE, compare=False)


Action = JointAction | BodyAction | VehicleAction
