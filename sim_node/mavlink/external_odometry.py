"""External pose estimates from ENU/FLU to messages that autopilots fuse: ODOMETRY, VISION_POSITION_ESTIMATE.

ArduPilot accepts ODOMETRY only as LOCAL_FRD and BODY_FRD (GCS_Common.cpp, handle_odometry). So does PX4, which
expects LOCAL_NED if the estimate knows north.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sim_node.mavlink.contents import written
from sim_node.mavlink.setpoints import Setpoint, SetpointRefused
from sim_node.mavlink.telemetry import PX4, Telemetry
from sim_node.spatial.frames import (
    AttitudeEnu,
    AttitudeFlu,
    Covariance,
    Enu,
    Flu,
    Frame,
)
from sim_node.world.problems import quoted

_LOCAL_NED, _BODY_FRD, _LOCAL_FRD = 1, 12, 20  # MAV_FRAME
_ESTIMATOR_VISION = 2  # MAV_ESTIMATOR_TYPE
_UPPER = np.triu_indices(6)
# Metres, m/s and rad/s that no valid estimate exceeds.
MAX_DISTANCE = 1e6
# Larger covariances say no more than this: MAVLink's floats have 32 bits.
_MAX_COVARIANCE = 1e30


def odometry(
    vehicle: Telemetry,
    stamp_ns: int,
    frames: tuple[str, str],
    pose: Sequence[float],
    twist: Sequence[float],
    pose_covariance: npt.ArrayLike,
    twist_covariance: npt.ArrayLike,
) -> Setpoint:
    """Convert a nav_msgs/Odometry to ODOMETRY.

    frames: its frame_id, the vehicle's map (ENU) or odom (any heading), and its child_frame_id, the vehicle.
    pose (7), twist (6) in the child's axes; covariances (36,) row-major, zeros for unknown. Raises SetpointRefused.
    """
    frame, child = frames
    known = vehicle.frames
    if frame not in (known.map, known.odom):
        raise SetpointRefused(f"odometry: frame_id is {quoted(frame)}; allowed: {known.map}, {known.odom}")
    if child != known.base:
        raise SetpointRefused(f"odometry: child_frame_id is {quoted(child)}; allowed: {known.base}")
    usable = _usable("odometry", pose)
    _bounded("odometry", twist)
    # NED is a local frame whose forward axis is north, so that it can be sent as LOCAL_FRD.
    fields = {
        "time_usec": _time_us(vehicle, stamp_ns),
        "frame_id": _LOCAL_NED if frame == known.map and vehicle.autopilot == PX4 else _LOCAL_FRD,
        "child_frame_id": _BODY_FRD,
        "velocity_covariance": _upper(twist_covariance, Frame.FLU, Frame.FRD),
        "estimator_type": _ESTIMATOR_VISION,
    }
    if frame == known.map:
        fields["pose_covariance"] = _upper(pose_covariance, Frame.ENU, Frame.NED)
        place = {"position": Enu(usable[:3]), "attitude": AttitudeEnu(usable[3:])}
    else:
        fields["pose_covariance"] = _upper(pose_covariance, Frame.FLU, Frame.FRD)
        place = {"local_position": Flu(usable[:3]), "local_attitude": AttitudeFlu(usable[3:])}
    moving = {"body_velocity": Flu(twist[:3]), "rates": Flu(twist[3:6])}
    return Setpoint("ODOMETRY", fields | written("ODOMETRY", **place, **moving))


def vision_pose(vehicle: Telemetry, stamp_ns: int, frame: str, pose: Sequence[float]) -> Setpoint:
    """Convert a pose (7) in the vehicle's map to VISION_POSITION_ESTIMATE. Raises SetpointRefused."""
    if frame != vehicle.frames.map:
        raise SetpointRefused(f"vision_pose: frame_id is {quoted(frame)}; allowed: {vehicle.frames.map}")
    usable = _usable("vision_pose", pose)
    name = "VISION_POSITION_ESTIMATE"
    fields = written(name, position=Enu(usable[:3]), attitude=AttitudeEnu(usable[3:]))
    fields |= {"usec": _time_us(vehicle, stamp_ns), "covariance": [math.nan, *[0.0] * 20]}
    return Setpoint(name, fields)


def _usable(what: str, pose: Sequence[float]) -> Sequence[float]:
    _bounded(what, pose)
    norm = math.hypot(*pose[3:])
    if abs(norm - 1.0) > 0.01:
        raise SetpointRefused(f"{what}: orientation has norm {norm:.3g}, a rotation needs 1")
    return (*pose[:3], *(part / norm for part in pose[3:]))


def _bounded(what: str, values: Sequence[float]) -> None:
    # This is False for NaN, too.
    if not all(abs(value) <= MAX_DISTANCE for value in values):
        raise SetpointRefused(f"{what}: {tuple(values)} has numbers beyond {MAX_DISTANCE:g} or NaN")


def _time_us(vehicle: Telemetry, stamp_ns: int) -> int:
    """Return the time on the autopilot's clock if it is known, so that the autopilot knows the age of the estimate."""
    offset_ns = vehicle.clock.offset_ns
    return max(0, stamp_ns - offset_ns if vehicle.clock.synchronised and offset_ns is not None else stamp_ns) // 1000


def _upper(covariance: npt.ArrayLike, source: Frame, target: Frame) -> list[float]:
    """Return MAVLink's upper triangle, with NaN first for unknown covariances, which are zeros in ROS."""
    matrix = np.asarray(covariance, dtype=np.float64).reshape(6, 6)
    if not matrix.any():
        return [math.nan, *[0.0] * 20]
    if not np.isfinite(matrix).all():
        raise SetpointRefused("odometry: a covariance has numbers that are not finite")
    matrix = np.clip(matrix, -_MAX_COVARIANCE, _MAX_COVARIANCE)
    values: list[float] = Covariance(matrix, source).to(target).in_frames(target)[_UPPER].tolist()
    return values
