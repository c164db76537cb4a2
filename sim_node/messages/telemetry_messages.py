"""Frequent vehicle telemetry messages: their constant fields, and their changing fields in order.

An all-zero covariance means that it is unknown; one that begins with -1 means that the quantity itself is unknown. If a
sender knows the covariance, it is among the values.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from sim_node.messages.layout import MessageLayout, Pack

_IDENTITY = (0.0, 0.0, 0.0, 1.0)
_NOT_MEASURED = (-1.0, *[0.0] * 8)
_FIX, _SERVICE_GPS = 0, 1  # sensor_msgs/NavSatStatus
_DISCHARGING = 2  # sensor_msgs/BatteryState
_POSITION = ("latitude", "longitude", "altitude")
# Messages in which only these fields change, in this order
PLAIN = {
    "geometry_msgs/msg/AccelWithCovarianceStamped": ("accel",),
    "geometry_msgs/msg/PoseStamped": ("pose",),
    "geometry_msgs/msg/PoseWithCovarianceStamped": ("pose",),
    "geometry_msgs/msg/Quaternion": ("x", "y", "z", "w"),
    "geometry_msgs/msg/TwistStamped": ("twist",),
    "geometry_msgs/msg/TwistWithCovarianceStamped": ("twist",),
    "geometry_msgs/msg/Vector3Stamped": ("vector",),
    "sensor_msgs/msg/FluidPressure": ("fluid_pressure",),
    "sensor_msgs/msg/NavSatFix": _POSITION,
    "sensor_msgs/msg/Temperature": ("temperature",),
    **dict.fromkeys((f"std_msgs/msg/{name}" for name in ("Float64", "UInt8", "UInt16", "UInt32")), ("data",)),
}
_CONSTANT = {"sensor_msgs/msg/NavSatFix": {"status.status": _FIX, "status.service": _SERVICE_GPS}}


def plain(type: str, frame_id: str | None = None) -> Pack:
    """A message of PLAIN. values: its fields, such as position (3) and orientation (4) for a pose.

    frame_id: None for messages without a header, whose stamp is unused.
    """
    header = {} if frame_id is None else {"header.frame_id": frame_id}
    return _layout(type, **header, **_CONSTANT.get(type, {})).packer(*PLAIN[type])


def _packed(type: str, frame_id: str, *changing: str, **fields: Any) -> Pack:
    return _layout(type, **{"header.frame_id": frame_id, **fields}).packer(*changing)


@lru_cache(maxsize=128)
def _layout(type: str, **fields: Any) -> MessageLayout:
    """Return a layout shared by all vehicles with the same frames. Each packer has its own copy."""
    return MessageLayout(type, fields)


def imu_with_attitude(
    frame_id: str, orientation: float = 0.0, rate: float | None = 0.0, force: float | None = 0.0
) -> Pack:
    """sensor_msgs/Imu; values: orientation (4), angular rate (3), specific force (3).

    orientation, rate, force: standard deviations of each axis (rad, rad/s, m/s²); 0 if unknown, None if the quantity
    itself is unknown.
    """
    known = {"orientation_covariance": _diagonal(orientation), **_inertial_covariances(rate, force)}
    changing = ("orientation", "angular_velocity", "linear_acceleration")
    return _packed("sensor_msgs/msg/Imu", frame_id, *changing, **known)


def imu_raw(frame_id: str, rate: float | None = 0.0, force: float | None = 0.0) -> Pack:
    """sensor_msgs/Imu without an orientation; values: angular rate (3), specific force (3).

    rate, force: standard deviations of each axis (rad/s, m/s²); 0 if unknown, None if the quantity itself is unknown.
    """
    unknown = {"orientation": _IDENTITY, "orientation_covariance": _NOT_MEASURED}
    known = _inertial_covariances(rate, force)
    return _packed("sensor_msgs/msg/Imu", frame_id, "angular_velocity", "linear_acceleration", **unknown, **known)


def magnetic_field(frame_id: str, deviation: float = 0.0) -> Pack:
    """sensor_msgs/MagneticField. values: field (3), T. deviation: standard deviation of each axis, T; 0 if unknown."""
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


def battery(location: str, cells: int) -> Pack:
    """sensor_msgs/BatteryState, discharging, with charges in Ah unknown.

    values: voltage (V), temperature (°C), current (A), charge (0 to 1), technology, voltages (V) of the cells.
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


def pulses(count: int) -> Pack:
    """std_msgs/UInt16MultiArray with `count` numbers, which are the values. The stamp is unused."""
    return _layout("std_msgs/msg/UInt16MultiArray", data=(0,) * count).packer(*["data"][:count])


def odometry(frame_id: str, child_frame_id: str) -> Pack:
    """nav_msgs/Odometry; values: pose (7) in frame_id, twist (6) in child_frame_id."""
    fields = ("pose.pose", "twist.twist")
    return _packed("nav_msgs/msg/Odometry", frame_id, *fields, child_frame_id=child_frame_id)


def odometry_with_covariance(frame_id: str, child_frame_id: str) -> Pack:
    """nav_msgs/Odometry; values: pose (7), its covariance (36), twist (6), its covariance (36)."""
    return _packed("nav_msgs/msg/Odometry", frame_id, "pose", "twist", child_frame_id=child_frame_id)


def receiver_fix(frame_id: str) -> Pack:
    """sensor_msgs/NavSatFix; values: status, latitude, longitude, altitude, covariance (9), kind of covariance."""
    changing = ("status.status", *_POSITION, "position_covariance", "position_covariance_type")
    return _packed("sensor_msgs/msg/NavSatFix", frame_id, *changing, **{"status.service": _SERVICE_GPS})
