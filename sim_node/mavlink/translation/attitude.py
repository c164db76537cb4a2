"""ATTITUDE, ATTITUDE_QUATERNION, VFR_HUD, WIND and WIND_COV."""

from __future__ import annotations

import math
from typing import Any

from sim_node.mavlink.axes import finite
from sim_node.mavlink.telemetry import SOURCE_TIMEOUT_NS, Telemetry
from sim_node.mavlink.topics import topic
from sim_node.mavlink.translation.rows import OK, diagnostic, reads, translates
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import AttitudeEnu, Enu, Flu, Heading, Ned

IMU_DATA = topic("imu/data", "sensor_msgs/Imu", "base_link", wire.imu_with_attitude)
WIND = topic("wind_estimation", "geometry_msgs/TwistWithCovarianceStamped", "map")
VFR_HUD = topic("vfr_hud", "diagnostic_msgs/DiagnosticStatus")
_NOTHING = Flu((0.0, 0.0, 0.0))


# The quaternion is preferred because it has no singularity; some autopilots or streams have only angles.
@reads("ATTITUDE_QUATERNION", "attitude rates", 0)
@reads("ATTITUDE", "attitude rates", 1)
def attitude(fields: Any, vehicle: Telemetry, q: AttitudeEnu | None, rates: Flu | None, rank: int) -> None:
    """Translate the attitude and angular rates; publish them with the last specific force."""
    if q is None:
        vehicle.drop(fields, "no attitude")  # not estimated yet
        return
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    if not vehicle.accepts(fields, "attitude", rank, stamp_ns):
        return
    vehicle.attitude, vehicle.rates = q, rates
    vehicle.poses.add_attitude(stamp_ns, q)
    if rates is None:
        vehicle.drop(fields, "angular rate is not finite")
    force, force_ns = vehicle.force or (_NOTHING, stamp_ns - SOURCE_TIMEOUT_NS)
    is_recent = abs(stamp_ns - force_ns) < SOURCE_TIMEOUT_NS
    orientation_deviation, rate_deviation, force_deviation, _ = vehicle.deviations
    vehicle.pack_variant(
        IMU_DATA,
        stamp_ns,
        (*q, *(rates or _NOTHING), *(force if is_recent else _NOTHING)),
        orientation_deviation,
        None if rates is None else rate_deviation,
        force_deviation if is_recent else None,
    )


@translates("VFR_HUD")
def vfr_hud(fields: Any, vehicle: Telemetry) -> None:
    """Translate the values of a head-up display. The heading is clockwise from north, as in the message."""
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


@reads("WIND_COV", "velocity")
def wind_cov(fields: Any, vehicle: Telemetry, velocity: Enu | None) -> None:
    """Translate PX4's WIND_COV: velocity of the air, and two variances."""
    if velocity is None:
        vehicle.drop(fields, "wind is not finite")
        return
    stamp_ns = vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns)
    horizontal, vertical = (v if math.isfinite(v) and v > 0.0 else 0.0 for v in (fields.var_horiz, fields.var_vert))
    _publish_air(vehicle, stamp_ns, velocity, horizontal, vertical)


def _publish_air(vehicle: Telemetry, stamp_ns: int, velocity: Enu, horizontal: float, vertical: float) -> None:
    covariance = [0.0] * 36
    covariance[0] = covariance[7] = horizontal
    covariance[14] = vertical
    vehicle.pack(WIND, stamp_ns, (*velocity, 0.0, 0.0, 0.0, *covariance))
