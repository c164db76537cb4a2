"""Vehicle telemetry messages that are sent often: their constant fields, and the fields that change, in order.

A covariance of zeros means unknown, and one that begins with -1 that the quantity itself is. If a sender knows it, it
is among the values.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from sim_node.wire.layout import MessageLayout, Pack

_IDENTITY = (0.0, 0.0, 0.0, 1.0)
_NOT_MEASURED = (-1.0, *[0.0] * 8)
_FIX, _SERVICE_GPS = 0, 1  # sensor_msgs/NavSatStatus
_DISCHARGING = 2  # sensor_msgs/BatteryState
_POSITION = ("latitude", "longitude", "altitude")


def _packed(type: str, frame_id: str, *changing: str, **fields: Any) -> Pack:
    return _layout(type, **{"header.frame_id": frame_id, **fields}).packer(*changing)


@lru_cache(maxsize=64)
def _layout(type: str, **fields: Any) -> MessageLayout:
    """Return a layout shared by all vehicles of the same frames: each packer has its own copy."""
    return MessageLayout(type, fields)


def imu_with_attitude(
    frame_id: str, orientation: float = 0.0, rate: float | None = 0.0, force: float | None = 0.0
) -> Pack:
    """sensor_msgs/Imu; values: orientation (4), angular rate (3), specific force (3).

    orientation, rate, force: standard deviations of each axis (rad, rad/s, m/s²); 0 if unknown, None if the quantity
    itself is.
    """
    known = {"orientation_covariance": _diagonal(orientation), **_inertial_covariances(rate, force)}
    changing = ("orientation", "angular_velocity", "linear_acceleration")
    return _packed("sensor_msgs/msg/Imu", frame_id, *changing, **known)


def imu_raw(frame_id: str, rate: float | None = 0.0, force: float | None = 0.0) -> Pack:
    """sensor_msgs/Imu without an orientation; values: angular rate (3), specific force (3).

    rate, force: standard deviations of each axis (rad/s, m/s²); 0 if unknown, None if the quantity itself is.
    """
    unknown = {"orientation": _IDENTITY, "orientation_covariance": _NOT_MEASURED}
    known = _inertial_covariances(rate, force)
    return _packed("sensor_msgs/msg/Imu", frame_id, "angular_velocity", "linear_acceleration", **unknown, **known)


def magnetic_field(frame_id: str, deviation: float = 0.0) -> Pack:
    """sensor_msgs/MagneticField; values: the field (3), T. deviation: of each axis (T); 0 if unknown."""
    covariance = {"magnetic_field_covariance": _diagonal(deviation)}
    return _packed("sensor_msgs/msg/MagneticField", frame_id, "magnetic_field", **covariance)


def _inertial_covariances(rate: float | None, force: float | None) -> dict[str, tuple[float, ...]]:
    return {
        "angular_velocity_covariance": _diagonal(rate),
        "linear_acceleration_covariance": _diagonal(force),
    }


def _diagonal(deviation: float | None) -> tuple[float, ...]:
    """Return a covariance (9) with equal variances of all axes."""
    if deviation is None:
        return _NOT_MEASURED
    variance = deviation * deviation
    return (variance, 0.0, 0.0, 0.0, variance, 0.0, 0.0, 0.0, variance)


def fluid_pressure(frame_id: str) -> Pack:
    """sensor_msgs/FluidPressure; values: the pressure (1), Pa."""
    return _packed("sensor_msgs/msg/FluidPressure", frame_id, "fluid_pressure")


def temperature(frame_id: str) -> Pack:
    """sensor_msgs/Temperature; values: the temperature (1), °C."""
    return _packed("sensor_msgs/msg/Temperature", frame_id, "temperature")


def battery(location: str, cells: int) -> Pack:
    """sensor_msgs/BatteryState, discharging, its charges in Ah unknown.

    values: voltage (V), temperature (°C), current (A), charge (0 to 1), technology, voltages (V) of so many cells.
    """
    fields = {
        **dict.fromkeys(("charge", "capacity", "design_capacity"), math.nan),
        "power_supply_status": _DISCHARGING,
        "present": True,
        "cell_voltage": (0.0,) * cells,
        "location": location,
    }
    changing = ("voltage", "temperature", "current", "percentage", "power_supply_technology", "cell_voltage")
    return _packed("sensor_msgs/msg/BatteryState", "", *changing[: 6 if cells else 5], **fields)


def time_reference(source: str) -> Pack:
    """sensor_msgs/TimeReference; values: seconds and nanoseconds of the other clock."""
    return _packed("sensor_msgs/msg/TimeReference", "", "time_ref.sec", "time_ref.nanosec", source=source)


def distance(frame_id: str) -> Pack:
    """sensor_msgs/Range; values: radiation type, field of view (rad), minimum, maximum and range (m), variance (m²)."""
    changing = ("radiation_type", "field_of_view", "min_range", "max_range", "range", "variance")
    return _packed("sensor_msgs/msg/Range", frame_id, *changing)


def number(type: str) -> Pack:
    """A numeric message of std_msgs; values: the number. The stamp is unused."""
    return _layout(type).packer("data")


def pulses(count: int) -> Pack:
    """std_msgs/UInt16MultiArray of `count` numbers; values: these. The stamp is unused."""
    return _layout("std_msgs/msg/UInt16MultiArray", data=(0,) * count).packer(*["data"][:count])


def pose(frame_id: str) -> Pack:
    """geometry_msgs/PoseStamped; values: position (3), orientation (4)."""
    return _packed("geometry_msgs/msg/PoseStamped", frame_id, "pose")


def twist(frame_id: str) -> Pack:
    """geometry_msgs/TwistStamped; values: linear (3), angular (3)."""
    return _packed("geometry_msgs/msg/TwistStamped", frame_id, "twist")


def pose_with_covariance(frame_id: str) -> Pack:
    """geometry_msgs/PoseWithCovarianceStamped; values: pose (7), its covariance (36)."""
    return _packed("geometry_msgs/msg/PoseWithCovarianceStamped", frame_id, "pose")


def twist_with_covariance(frame_id: str) -> Pack:
    """geometry_msgs/TwistWithCovarianceStamped; values: linear (3), angular (3), their covariance (36)."""
    return _packed("geometry_msgs/msg/TwistWithCovarianceStamped", frame_id, "twist")


def acceleration_with_covariance(frame_id: str) -> Pack:
    """geometry_msgs/AccelWithCovarianceStamped; values: linear (3), angular (3), their covariance (36)."""
    return _packed("geometry_msgs/msg/AccelWithCovarianceStamped", frame_id, "accel")


def odometry(frame_id: str, child_frame_id: str) -> Pack:
    """nav_msgs/Odometry; values: pose (7) in frame_id, twist (6) in child_frame_id."""
    fields = ("pose.pose", "twist.twist")
    return _packed("nav_msgs/msg/Odometry", frame_id, *fields, child_frame_id=child_frame_id)


def odometry_with_covariance(frame_id: str, child_frame_id: str) -> Pack:
    """nav_msgs/Odometry; values: pose (7), its covariance (36), twist (6), its covariance (36)."""
    return _packed("nav_msgs/msg/Odometry", frame_id, "pose", "twist", child_frame_id=child_frame_id)


def nav_sat_fix(frame_id: str) -> Pack:
    """sensor_msgs/NavSatFix of an estimator, covariance unknown; values: latitude, longitude, altitude."""
    status = {"status.status": _FIX, "status.service": _SERVICE_GPS}
    return _packed("sensor_msgs/msg/NavSatFix", frame_id, *_POSITION, **status)


def receiver_fix(frame_id: str) -> Pack:
    """sensor_msgs/NavSatFix; values: status, latitude, longitude, altitude, covariance (9), kind of covariance."""
    changing = ("status.status", *_POSITION, "position_covariance", "position_covariance_type")
    return _packed("sensor_msgs/msg/NavSatFix", frame_id, *changing, **{"status.service": _SERVICE_GPS})
