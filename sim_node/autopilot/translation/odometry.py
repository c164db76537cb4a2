"""ODOMETRY: an estimate in the frames that the message names, with covariances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.frames import (
    AttitudeEnu,
    AttitudeFlu,
    AttitudeFrd,
    AttitudeNed,
    Covariance,
    Enu,
    Flu,
    Frame,
    Frd,
    Ned,
)
from sim_node.geometry.arrays import FloatArray
from sim_node.wire import telemetry_messages as wire

LOCAL_NED, BODY_FRD, LOCAL_FRD = 1, 12, 20  # MAV_FRAME
_UPPER = np.triu_indices(6)

ODOMETRY = topic(
    "odometry/in",
    "nav_msgs/Odometry",
    Profile.SENSOR,
    "map, or odom where the sender does not know north; child base_link",
    "pose (m), twist (m/s, rad/s) in base_link, covariances where the sender knows them",
    lambda frames, frame: wire.odometry_with_covariance(frame, frames.base),
)


@translates("ODOMETRY")
def odometry(fields: Any, vehicle: Telemetry) -> None:
    """Translate the pose in its frame_id and the velocity in its child_frame_id, which is LOCAL_NED for PX4.

    Messages with other frames than LOCAL_NED, LOCAL_FRD and BODY_FRD are ignored.
    """
    if fields.frame_id not in (LOCAL_NED, LOCAL_FRD) or fields.child_frame_id not in (LOCAL_NED, LOCAL_FRD, BODY_FRD):
        return
    stamp_ns = vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns)
    in_map = fields.frame_id == LOCAL_NED
    place, linear = (fields.x, fields.y, fields.z), (fields.vx, fields.vy, fields.vz)
    position: Enu | Flu
    q: AttitudeEnu | AttitudeFlu
    if in_map:
        position, q = Ned(place).to_enu(), AttitudeNed(fields.q).to_enu()
        frame, world, target = vehicle.frames.map, Frame.NED, Frame.ENU
    else:
        position, q = Frd(place).to_flu(), AttitudeFrd(fields.q).to_flu()
        frame, world, target = vehicle.frames.odom, Frame.FRD, Frame.FLU
    if not math.isfinite(sum(position) + sum(q)):
        return
    if fields.child_frame_id == BODY_FRD:
        velocity = Frd(linear).to_flu()
    elif fields.child_frame_id == LOCAL_NED and isinstance(q, AttitudeEnu):
        velocity = q.to_body(Ned(linear).to_enu())
    elif fields.child_frame_id == LOCAL_FRD and isinstance(q, AttitudeFlu):
        velocity = q.to_body(Frd(linear).to_flu())
    else:
        return  # the heading between the two world frames is unknown
    rates = Frd((fields.rollspeed, fields.pitchspeed, fields.yawspeed)).to_flu()
    pose_covariance = Covariance(_covariance(fields.pose_covariance), world).to(target)
    # Rates are in the body already; the velocity is turned if it is along the world's axes.
    if fields.child_frame_id == BODY_FRD:
        twist_covariance = Covariance(_covariance(fields.velocity_covariance), Frame.FRD).to(Frame.FLU)
    else:
        in_world = Covariance(_covariance(fields.velocity_covariance), (world, Frame.FRD)).to((target, Frame.FLU))
        twist_covariance = in_world.to_body(q)
    known = _known(pose_covariance.in_frames(target)), _known(twist_covariance.in_frames(Frame.FLU))
    values = (*position, *q, *known[0], *velocity, *rates, *known[1])
    vehicle.pack_variant(ODOMETRY, stamp_ns, values, frame)


def _covariance(upper: tuple[float, ...]) -> FloatArray:
    """Return the 6x6 of MAVLink's row-major upper triangle, with NaN for what is unknown.

    NaN in the first entry means that everything is; an infinite variance says as little.
    """
    matrix = np.full((6, 6), np.nan)
    if not math.isnan(upper[0]):
        known = np.where(np.isfinite(upper), upper, np.nan)
        matrix[_UPPER] = known
        matrix.T[_UPPER] = known
    return matrix


def _known(covariance: FloatArray) -> list[float]:
    """Return the entries in row-major order, with zeros for unknown ones, as in ROS."""
    values: list[float] = np.nan_to_num(covariance, nan=0.0, posinf=0.0, neginf=0.0).ravel().tolist()
    return values
