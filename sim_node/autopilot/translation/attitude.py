"""ATTITUDE and ATTITUDE_QUATERNION: orientation and rates of the body."""

from __future__ import annotations

import math
from typing import Any

from sim_node.autopilot.axes import Quaternion, attitude_enu_flu, frd_flu, quaternion_from_rpy
from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.wire import telemetry_messages as wire

IMU_DATA = topic(
    "imu/data",
    "sensor_msgs/Imu",
    Profile.SENSOR,
    "base_link",
    "orientation in ENU, angular rate (rad/s), specific force (m/s²) of the last raw reading",
    lambda frames: wire.imu_with_attitude(frames.base),
)


@translates("ATTITUDE_QUATERNION")
def attitude_quaternion(fields: Any, vehicle: Telemetry) -> None:
    """The finer of the two: without the singularity of Euler angles."""
    q = attitude_enu_flu(fields.q1, fields.q2, fields.q3, fields.q4)
    _tell(fields, vehicle, 0, q)


@translates("ATTITUDE")
def attitude(fields: Any, vehicle: Telemetry) -> None:
    """Euler angles, ZYX, for autopilots or streams that send no quaternion."""
    if not math.isfinite(fields.roll + fields.pitch + fields.yaw):
        return
    q = attitude_enu_flu(*quaternion_from_rpy(fields.roll, fields.pitch, fields.yaw))
    _tell(fields, vehicle, 1, q)


def _tell(fields: Any, vehicle: Telemetry, rank: int, q: Quaternion) -> None:
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    # Not for NaN either; the autopilot's estimator has no attitude yet.
    if not 0.9 < norm < 1.1 or not vehicle.best_source("attitude", rank, stamp_ns):
        return
    vehicle.attitude = q
    vehicle.rates = frd_flu(fields.rollspeed, fields.pitchspeed, fields.yawspeed)
    vehicle.poses.add_attitude(stamp_ns, q)
    vehicle.pack(IMU_DATA, stamp_ns, (*q, *vehicle.rates, *vehicle.force))
