"""ATTITUDE, ATTITUDE_QUATERNION, VFR_HUD, WIND and WIND_COV."""

from __future__ import annotations

import math
from typing import Any

from sim_node.autopilot.axes import quaternion_from_rpy
from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.registry import OK, diagnostic, translates
from sim_node.frames import AttitudeEnu, Enu, Flu, Heading, Ned
from sim_node.wire import telemetry_messages as wire

IMU_DATA = topic(
    "imu/data",
    "sensor_msgs/Imu",
    Profile.SENSOR,
    "base_link",
    "orientation in ENU, angular rate (rad/s), specific force (m/s²) of the last raw measurement",
    lambda frames, deviations: wire.imu_with_attitude(frames.base, *deviations[:3]),
)


@translates("ATTITUDE_QUATERNION")
def attitude_quaternion(fields: Any, vehicle: Telemetry) -> None:
    """Translate ATTITUDE_QUATERNION, which is preferred because it has no singularity."""
    q = AttitudeEnu.of_ned(fields.q1, fields.q2, fields.q3, fields.q4)
    _publish_attitude(fields, vehicle, 0, q)


@translates("ATTITUDE")
def attitude(fields: Any, vehicle: Telemetry) -> None:
    """Translate ATTITUDE: Euler angles, ZYX, for autopilots or streams without a quaternion."""
    if not math.isfinite(fields.roll + fields.pitch + fields.yaw):
        return
    q = AttitudeEnu.of_ned(*quaternion_from_rpy(fields.roll, fields.pitch, fields.yaw))
    _publish_attitude(fields, vehicle, 1, q)


def _publish_attitude(fields: Any, vehicle: Telemetry, rank: int, q: AttitudeEnu) -> None:
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    x, y, z, w = q
    norm = x * x + y * y + z * z + w * w
    # This is False for NaN, too: the autopilot's estimator has no attitude yet.
    if not 0.9 < norm < 1.1 or not vehicle.best_source("attitude", rank, stamp_ns):
        return
    vehicle.attitude = q
    vehicle.rates = rates = Flu.of_frd(fields.rollspeed, fields.pitchspeed, fields.yawspeed)
    vehicle.poses.add_attitude(stamp_ns, q)
    vehicle.pack_variant(IMU_DATA, stamp_ns, (x, y, z, w, *rates, *vehicle.force), vehicle.deviations)


WIND = topic(
    "wind_estimation",
    "geometry_msgs/TwistWithCovarianceStamped",
    Profile.SENSOR,
    "map",
    "velocity of the air (m/s) along the map's axes, with its variances where they are known",
    lambda frames: wire.twist_with_covariance(frames.map),
)
VFR_HUD = topic(
    "vfr_hud",
    "diagnostic_msgs/DiagnosticStatus",
    Profile.SENSOR,
    "none",
    "values airspeed, groundspeed, climb (m/s), altitude (m above mean sea level), heading (degrees), throttle (%)",
)


@translates("VFR_HUD")
def vfr_hud(fields: Any, vehicle: Telemetry) -> None:
    """Translate the values of a pilot's head-up display. The heading is clockwise from north, as there."""
    numbers = (("airspeed", fields.airspeed), ("groundspeed", fields.groundspeed), ("climb", fields.climb))
    values = {name: f"{number:.3f}" for name, number in (*numbers, ("altitude", fields.alt))}
    values |= {"heading": str(fields.heading), "throttle": str(fields.throttle)}
    vehicle.encode(VFR_HUD, diagnostic(OK, "vfr_hud", "", f"system {vehicle.system}", values))


@translates("WIND")
def wind(fields: Any, vehicle: Telemetry) -> None:
    """Translate ArduPilot's WIND: direction of origin (degrees clockwise from north), speed, and downward speed."""
    if math.isfinite(fields.direction + fields.speed + fields.speed_z):
        towards = Heading(fields.direction + 180.0).to_ned()
        velocity = Ned.along(towards, fields.speed, fields.speed_z)
        _publish_air(vehicle, vehicle.arrival_ns, velocity.to_enu(), 0.0, 0.0)


@translates("WIND_COV")
def wind_cov(fields: Any, vehicle: Telemetry) -> None:
    """Translate PX4's WIND_COV: velocity of the air in NED, and two variances."""
    velocity = Ned((fields.wind_x, fields.wind_y, fields.wind_z))
    if not all(map(math.isfinite, velocity)):
        return
    stamp_ns = vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns)
    horizontal, vertical = (v if math.isfinite(v) and v > 0.0 else 0.0 for v in (fields.var_horiz, fields.var_vert))
    _publish_air(vehicle, stamp_ns, velocity.to_enu(), horizontal, vertical)


def _publish_air(vehicle: Telemetry, stamp_ns: int, velocity: Enu, horizontal: float, vertical: float) -> None:
    covariance = [0.0] * 36
    covariance[0] = covariance[7] = horizontal
    covariance[14] = vertical
    vehicle.pack(WIND, stamp_ns, (*velocity, 0.0, 0.0, 0.0, *covariance))
