"""ATTITUDE, ATTITUDE_QUATERNION, VFR_HUD, WIND and WIND_COV."""

from __future__ import annotations

import math
from typing import Any

from sim_node.mavlink.axes import Quaternion, finite, quaternion_from_rpy, unit_quaternion
from sim_node.mavlink.telemetry import SOURCE_TIMEOUT_NS, Telemetry
from sim_node.mavlink.topics import Profile, topic
from sim_node.mavlink.translation.registry import OK, diagnostic, translates
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import AttitudeEnu, Enu, Flu, Heading, Ned

IMU_DATA = topic(
    "imu/data",
    "sensor_msgs/Imu",
    Profile.SENSOR,
    "base_link",
    "orientation in ENU, angular rate (rad/s), specific force (m/s²) of the last raw measurement; -1 in the covariance "
    "of a rate or force that was not received in the last 2 s",
    lambda frames, orientation, rate, force: wire.imu_with_attitude(frames.base, orientation, rate, force),
)

_NOTHING = Flu((0.0, 0.0, 0.0))


@translates("ATTITUDE_QUATERNION")
def attitude_quaternion(fields: Any, vehicle: Telemetry) -> None:
    """Translate ATTITUDE_QUATERNION, which is preferred because it has no singularity."""
    _publish_attitude(fields, vehicle, 0, (fields.q1, fields.q2, fields.q3, fields.q4))


@translates("ATTITUDE")
def attitude(fields: Any, vehicle: Telemetry) -> None:
    """Translate ATTITUDE: Euler angles, ZYX, for autopilots or streams without a quaternion."""
    angles = fields.roll, fields.pitch, fields.yaw
    if finite(*angles):
        _publish_attitude(fields, vehicle, 1, quaternion_from_rpy(*angles))
    else:
        vehicle.drop(fields, "no attitude")


def _publish_attitude(fields: Any, vehicle: Telemetry, rank: int, ned: Quaternion) -> None:
    unit = unit_quaternion(*ned)
    if unit is None:
        vehicle.drop(fields, "no attitude")  # the autopilot's estimator has none yet
        return
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    if not vehicle.accepts(fields, "attitude", rank, stamp_ns):
        return
    vehicle.attitude = q = AttitudeEnu.of_ned(*unit)
    vehicle.poses.add_attitude(stamp_ns, q)
    rates = Flu.of_frd(fields.rollspeed, fields.pitchspeed, fields.yawspeed)
    vehicle.rates = rates if finite(*rates) else None
    if vehicle.rates is None:
        vehicle.drop(fields, "angular rate is not finite")
    force, force_ns = vehicle.force or (_NOTHING, stamp_ns - SOURCE_TIMEOUT_NS)
    is_recent = abs(stamp_ns - force_ns) < SOURCE_TIMEOUT_NS
    orientation_deviation, rate_deviation, force_deviation, _ = vehicle.deviations
    vehicle.pack_variant(
        IMU_DATA,
        stamp_ns,
        (*q, *(vehicle.rates or _NOTHING), *(force if is_recent else _NOTHING)),
        orientation_deviation,
        None if vehicle.rates is None else rate_deviation,
        force_deviation if is_recent else None,
    )


WIND = topic(
    "wind_estimation",
    "geometry_msgs/TwistWithCovarianceStamped",
    Profile.SENSOR,
    "map",
    "velocity of the air (m/s) along the map's axes, with its variances where they are known",
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
    if not finite(fields.direction, fields.speed, fields.speed_z):
        vehicle.drop(fields, "wind is not finite")
        return
    towards = Heading(fields.direction + 180.0).to_ned()
    velocity = Ned.along(towards, fields.speed, fields.speed_z)
    _publish_air(vehicle, vehicle.arrival_ns, velocity.to_enu(), 0.0, 0.0)


@translates("WIND_COV")
def wind_cov(fields: Any, vehicle: Telemetry) -> None:
    """Translate PX4's WIND_COV: velocity of the air in NED, and two variances."""
    velocity = Ned((fields.wind_x, fields.wind_y, fields.wind_z))
    if not finite(*velocity):
        vehicle.drop(fields, "wind is not finite")
        return
    stamp_ns = vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns)
    horizontal, vertical = (v if math.isfinite(v) and v > 0.0 else 0.0 for v in (fields.var_horiz, fields.var_vert))
    _publish_air(vehicle, stamp_ns, velocity.to_enu(), horizontal, vertical)


def _publish_air(vehicle: Telemetry, stamp_ns: int, velocity: Enu, horizontal: float, vertical: float) -> None:
    covariance = [0.0] * 36
    covariance[0] = covariance[7] = horizontal
    covariance[14] = vertical
    vehicle.pack(WIND, stamp_ns, (*velocity, 0.0, 0.0, 0.0, *covariance))
