"""Gimbals, flow sensors, rangefinders and offsets of maps: a row for each topic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sim_node.mavlink.axes import quaternion_from_rpy
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import Profile, topic
from sim_node.mavlink.translation.onboard import INFRARED, ULTRASOUND, orientation
from sim_node.mavlink.translation.registry import translates
from sim_node.mavlink.translation.rows import Row, row
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import AttitudeFrd, AttitudeNed, Enu, Flu

_DEGREE = math.pi / 180.0
_DOWNWARDS = 25  # MAV_SENSOR_ROTATION_PITCH_270
# The messages do not contain the sensor's limits; these are those of MAVROS' rangefinder (m).
_MIN_RANGE, _MAX_RANGE = 0.0, 1000.0

_MOUNT = topic(
    "mount_control/orientation",
    "geometry_msgs/Quaternion",
    Profile.RELIABLE,
    "none",
    "orientation of a gimbal (FLU): roll and pitch from the horizon, yaw from the vehicle's heading",
)


def _offset(x: float, y: float, z: float, *angles: float) -> Sequence[float]:
    return (*Enu.of_ned(x, y, z), *AttitudeNed(quaternion_from_rpy(*angles)).to_enu())


def _gimbal(roll: float, pitch: float, yaw: float) -> Sequence[float]:
    return AttitudeFrd(quaternion_from_rpy(roll, pitch, yaw)).to_flu().xyzw


def _below(name: str, field: str, kind: int, by: str) -> Row:
    """Return the row of a distance downwards (m), which is negative if it is unknown."""
    to = topic(
        name,
        "sensor_msgs/Range",
        Profile.RELIABLE,
        "base_link_distance_down",
        f"distance to the ground (m) by {by}; field of view and variance are unknown: 0",
        lambda frames: wire.distance(f"{frames.base}_distance_down"),
        measured=True,
    )
    limits = kind, 0.0, _MIN_RANGE, _MAX_RANGE
    publish = row(to, field, convert=lambda distance: (*limits, distance, 0.0) if distance >= 0.0 else None)
    _, rotation = orientation(_DOWNWARDS)
    assert rotation is not None

    def with_frame(fields: Any, vehicle: Telemetry, stamp_ns: int | None = None, rank: int | None = None) -> None:
        vehicle.fix_frame(f"{vehicle.frames.base}_distance_down", rotation)
        publish(fields, vehicle, stamp_ns, rank)

    return with_frame


_OFFSET = topic(
    "global_position/gp_lp_offset", "geometry_msgs/PoseStamped", Profile.SENSOR, "earth", "offset of the map (m, ENU)"
)
_ANGLES = topic(
    "mount_control/status", "geometry_msgs/Vector3Stamped", Profile.RELIABLE, "base_link", "roll, pitch, yaw (rad)"
)
_FLOW_TEMPERATURE = topic(
    "px4flow/temperature", "sensor_msgs/Temperature", Profile.RELIABLE, "base_link", "temperature (°C)", measured=True
)
_POINTING = "pointing_b pointing_a pointing_c"
ROWS = {
    "LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET": (row(_OFFSET, "x y z roll pitch yaw", convert=_offset),),
    "MOUNT_ORIENTATION": (row(_MOUNT, "roll pitch yaw", scale=_DEGREE, convert=_gimbal),),
    "MOUNT_STATUS": (
        row(_MOUNT, _POINTING, scale=_DEGREE / 100.0, convert=_gimbal),
        row(_ANGLES, _POINTING, scale=_DEGREE / 100.0, convert=lambda *frd: Flu.of_frd(*frd).xyz),
    ),
    "OPTICAL_FLOW": (_below("optical_flow/ground_distance", "ground_distance", ULTRASOUND, "a flow sensor"),),
    "OPTICAL_FLOW_RAD": (
        _below("px4flow/ground_distance", "distance", ULTRASOUND, "a flow sensor that sends angles"),
        row(_FLOW_TEMPERATURE, "temperature", scale=0.01, unknown=0),
    ),
    "RANGEFINDER": (_below("rangefinder/rangefinder", "distance", INFRARED, "ArduPilot's rangefinder"),),
}


def _translation(rows: Sequence[Row]) -> Row:
    def publish(fields: Any, vehicle: Telemetry, stamp_ns: int | None = None, rank: int | None = None) -> None:
        for each in rows:
            each(fields, vehicle, stamp_ns, rank)

    return publish


for _message, _rows in ROWS.items():
    translates(_message)(_translation(_rows))
