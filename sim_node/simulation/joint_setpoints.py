"""Commands of joints as received in messages, checked against the joints that they address."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from sim_node.simulation.control.joint_trajectory import JointTrajectory
from sim_node.simulation.latest_commands import CommandRefused
from sim_node.simulation.physics import JointHandle
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.bounds import fault
from sim_node.world.joint_motion import ACTUATOR_TYPES
from sim_node.world.problems import quoted

Joints = Mapping[str, frozenset[str]]


class JointSetpoint(NamedTuple):
    """A target of one of a joint's actuators: m or rad, m/s or rad/s, N or N m by its type."""

    joint: str
    type: str
    value: float


class Code(IntEnum):
    """How a trajectory ended: the error codes of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class JointCommandRefused(CommandRefused):
    """A command is invalid for its joints; the message gives the reason.

    Attributes:
        code: The error code for the result of a trajectory.
    """

    def __init__(self, message: str, code: Code = Code.INVALID_GOAL) -> None:
        super().__init__(message)
        self.code = code


class Point(NamedTuple):
    """A point of a trajectory.

    Attributes:
        time: Time from the start, s.
        positions: Position (J,) of each joint.
        velocities: Velocity (J,) of each joint, or empty.
        accelerations: Acceleration (J,) of each joint, or empty.
    """

    time: float
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()


def types_of(handle: JointHandle) -> frozenset[str]:
    """Return the types of commands that a joint accepts: those of its actuators, or an effort if it has none."""
    return frozenset(handle.targets or ("effort",))


def setpoints_of(
    joints: Joints, names: Sequence[str], given: Mapping[str, Sequence[float]], passive: Collection[str] = ()
) -> list[JointSetpoint]:
    """Return the setpoints of a command for several joints.

    Topic-based hardware of ros2_control names all its joints, including those that it only reads. Its values are NaN
    while no controller has claimed a joint.

    Args:
        joints: The joints of the group, with the types of commands that they accept.
        names: The joints that are commanded.
        given: Values by type of command: one for each name; or one for each name that accepts this type, as sent by
            topic-based hardware; or none. NaN keeps the current target.
        passive: Joints that may be named without a value.

    Returns:
        The setpoints; none if all values are NaN.

    Raises:
        JointCommandRefused: A name, a number of values, or a value is invalid.
    """
    taken = {**dict.fromkeys(passive, frozenset[str]()), **joints}
    check_names(taken, names)
    found: list[JointSetpoint] = []
    for kind in ACTUATOR_TYPES:
        values = given.get(kind, ())
        if not len(values):
            continue
        own = [name for name in names if kind in taken[name]]
        takers = names if len(values) == len(names) else own
        if len(values) != len(takers):
            raise JointCommandRefused(f"{len(values)} values of {kind} for {len(names)} joints")
        for name, value in zip(takers, values, strict=True):
            if math.isnan(value):
                continue
            if kind not in taken[name]:
                raise JointCommandRefused(f"{quoted(name)} has no {kind} actuator")
            if wrong := fault(f"{kind} target", value):
                raise JointCommandRefused(f"the {kind} of {quoted(name)}: {value:g} {wrong}")
            found.append(JointSetpoint(name, kind, float(value)))
    if not any(map(len, given.values())):
        raise JointCommandRefused("it has no values")
    return found


def check_names(joints: Joints, names: Sequence[str]) -> None:
    """Check that names are joints of a group, each once. Raises JointCommandRefused."""
    for name in names:
        if name not in joints:
            raise JointCommandRefused(
                f"there is no commanded joint {quoted(name)}{did_you_mean(name, joints)}", Code.INVALID_JOINTS
            )
    if len(set(names)) != len(names):
        raise JointCommandRefused("it names a joint twice", Code.INVALID_JOINTS)


def trajectory_of(joints: Joints, names: Sequence[str], points: Sequence[Point]) -> JointTrajectory:
    """Return a trajectory of joints.

    Args:
        joints: The joints of the group, with the types of commands that they accept.
        names: The joints of the trajectory.
        points: The points of the trajectory.

    Returns:
        The trajectory.

    Raises:
        JointCommandRefused: A name, a time, a number of values, or a value is invalid.
    """
    if not names:
        raise JointCommandRefused("it names no joint", Code.INVALID_JOINTS)
    check_names(joints, names)
    for name in names:
        if "position" not in joints[name]:
            message = f"{quoted(name)} has no position actuator, which a trajectory needs"
            raise JointCommandRefused(message, Code.INVALID_JOINTS)
    if not points:
        raise JointCommandRefused("it has no points")
    times = np.array([point.time for point in points])
    if not (np.diff(times) > 0.0).all() or times[0] < 0.0:
        raise JointCommandRefused("the times of its points must increase, from 0 on")
    positions, velocities, accelerations = (
        np.array([_row(getattr(point, what), len(names), what, index) for index, point in enumerate(points)])
        for what in ("positions", "velocities", "accelerations")
    )
    if np.nan_to_num(velocities[-1]).any():
        raise JointCommandRefused("the velocities of its last point must be 0")
    return JointTrajectory(times, positions, velocities, accelerations)


def _row(given: Sequence[float], count: int, what: str, index: int) -> FloatArray:
    """Return a row (J,) of numbers; NaN if none are given and none are required. Raises JointCommandRefused."""
    row = np.asarray(given, dtype=np.float64)
    if not len(row) and what != "positions":
        return np.full(count, np.nan)
    if row.shape != (count,):
        raise JointCommandRefused(f"point {index} has {len(row)} {what} for {count} joints")
    if wrong := fault("targets", row):
        raise JointCommandRefused(f"{what} of point {index}: {row.tolist()} {wrong}")
    return row
