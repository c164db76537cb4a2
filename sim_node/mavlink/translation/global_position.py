"""GLOBAL_POSITION_INT, GPS_RAW_INT, HOME_POSITION and GPS_GLOBAL_ORIGIN."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from sim_node.mavlink.axes import finite
from sim_node.mavlink.telemetry import Home, Telemetry
from sim_node.mavlink.topics import Profile, topic
from sim_node.mavlink.translation import covariances
from sim_node.mavlink.translation.health import keep
from sim_node.mavlink.translation.registry import translates
from sim_node.mavlink.translation.rows import row
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import Enu, Frame, Heading, Ned, convert_position

NO_FIX, FIX, SBAS_FIX, GBAS_FIX = -1, 0, 1, 2  # sensor_msgs/NavSatStatus
UNKNOWN, APPROXIMATED, DIAGONAL_KNOWN = 0, 1, 2  # sensor_msgs/NavSatFix
# Range error of a receiver that sends only its dilution of precision, in metres (as MAVROS' gps_uere).
RANGE_ERROR = 1.0
NOT_ON_EARTH, NO_ORIGIN = "position is not on Earth", "the map's origin is not known yet"
_STATUS = {2: FIX, 3: FIX, 4: SBAS_FIX, 5: GBAS_FIX, 6: GBAS_FIX, 7: FIX, 8: FIX}  # by GPS_FIX_TYPE

GLOBAL = topic(
    "global_position/global",
    "sensor_msgs/NavSatFix",
    Profile.SENSOR,
    "base_link",
    "the estimator's latitude, longitude (degrees), altitude (m above the WGS84 ellipsoid)",
)
RELATIVE_ALTITUDE = topic(
    "global_position/rel_alt", "std_msgs/Float64", Profile.SENSOR, "none", "altitude above home (m)"
)
ODOMETRY = topic(
    "global_position/local",
    "nav_msgs/Odometry",
    Profile.SENSOR,
    "map, child base_link",
    "the global position in the map (m) with the attitude; velocity (m/s) and rates (rad/s) in base_link",
    lambda frames: wire.odometry_with_covariance(frames.map, frames.base),
)
HEADING = topic(
    "global_position/compass_hdg", "std_msgs/Float64", Profile.SENSOR, "none", "degrees clockwise from north, 0 to 360"
)
SATELLITES = topic(
    "global_position/raw/satellites", "std_msgs/UInt32", Profile.SENSOR, "none", "satellites in view", measured=True
)
heading = row(HEADING, "hdg", scale=1e-2, unknown=65535)
satellites = row(SATELLITES, "satellites_visible", unknown=255)
RAW_FIX = topic(
    "global_position/raw/fix",
    "sensor_msgs/NavSatFix",
    Profile.SENSOR,
    "base_link",
    "the receiver's fix, with covariance (m², ENU) from its accuracy, else from its dilution of precision",
    lambda frames: wire.receiver_fix(frames.base),
    measured=True,
)
RAW_VELOCITY = topic(
    "global_position/raw/gps_vel",
    "geometry_msgs/TwistStamped",
    Profile.SENSOR,
    "map",
    "the receiver's speed over ground along its course, ENU (m/s)",
    measured=True,
)


@translates("GLOBAL_POSITION_INT")
def global_position(fields: Any, vehicle: Telemetry) -> None:
    """Translate degE7, mm above mean sea level, mm above home, centidegrees."""
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    latitude, longitude = fields.lat * 1e-7, fields.lon * 1e-7
    if not fields.lat and not fields.lon:
        vehicle.drop(fields, "no position yet")
    elif not is_on_earth(latitude, longitude):
        vehicle.drop(fields, NOT_ON_EARTH)
    else:
        altitude = vehicle.ellipsoid_altitude(fields.alt * 1e-3, latitude, longitude)
        vehicle.pack(GLOBAL, stamp_ns, (latitude, longitude, altitude))
        vehicle.pack(RELATIVE_ALTITUDE, stamp_ns, (fields.relative_alt * 1e-3,))
        _publish_odometry(fields, vehicle, stamp_ns, (latitude, longitude, fields.alt * 1e-3))
    heading(fields, vehicle, stamp_ns)


def _publish_odometry(fields: Any, vehicle: Telemetry, stamp_ns: int, place: tuple[float, float, float]) -> None:
    """Publish a position (degrees, degrees, m above mean sea level) in the map, with the velocity in cm/s."""
    q = vehicle.attitude
    if vehicle.origin is None:
        vehicle.drop(fields, NO_ORIGIN)
    elif q is None:
        vehicle.drop(fields, "no attitude yet")
    else:
        position = Ned(convert_position(place, Frame.LLA, Frame.NED, vehicle.origin).tolist()).to_enu()
        velocity = q.to_body(Enu.of_ned(fields.vx * 1e-2, fields.vy * 1e-2, fields.vz * 1e-2))
        twist = covariances.twist(velocity, vehicle.rates)
        vehicle.pack(ODOMETRY, stamp_ns, (*position, *q, *covariances.UNKNOWN, *twist))


@translates("GPS_RAW_INT")
def gps_raw(fields: Any, vehicle: Telemetry) -> None:
    """Translate degE7, mm, cm/s, centidegrees; accuracies in mm, 0 if the receiver does not send them."""
    stamp_ns = vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns)
    keep(fields, vehicle)
    satellites(fields, vehicle, stamp_ns)
    status = _STATUS.get(fields.fix_type, NO_FIX)
    latitude, longitude = fields.lat * 1e-7, fields.lon * 1e-7
    if status != NO_FIX and not is_on_earth(latitude, longitude):
        vehicle.drop(fields, NOT_ON_EARTH)
        return
    if status == NO_FIX:
        latitude = longitude = altitude = math.nan
    # PX4's simulation repeats the altitude above mean sea level there.
    elif fields.alt_ellipsoid not in (0, fields.alt):
        altitude = fields.alt_ellipsoid * 1e-3
    else:
        altitude = vehicle.ellipsoid_altitude(fields.alt * 1e-3, latitude, longitude)
    variances, kind = _variances(fields) if status != NO_FIX else ((0.0, 0.0), UNKNOWN)
    horizontal, vertical = variances
    covariance = (horizontal, 0.0, 0.0, 0.0, horizontal, 0.0, 0.0, 0.0, vertical)
    vehicle.pack(RAW_FIX, stamp_ns, (status, latitude, longitude, altitude, *covariance, kind))
    if status != NO_FIX and fields.vel != 65535 and fields.cog != 65535:
        velocity = Ned.along(Heading(fields.cog * 1e-2).to_ned(), fields.vel * 1e-2).to_enu()
        vehicle.pack(RAW_VELOCITY, stamp_ns, (*velocity, 0.0, 0.0, 0.0))
    else:
        vehicle.drop(fields, "no velocity")


def is_on_earth(latitude: float, longitude: float) -> bool:
    """Return whether these are degrees of latitude and longitude."""
    return abs(latitude) <= 90.0 and abs(longitude) <= 180.0


def _variances(fields: Any) -> tuple[tuple[float, float], int]:
    """Return horizontal and vertical variance (m²), and the type of the covariance."""
    if fields.h_acc and fields.v_acc:
        return ((fields.h_acc * 1e-3) ** 2, (fields.v_acc * 1e-3) ** 2), DIAGONAL_KNOWN
    # PX4 in simulation sends zeros for both dilutions.
    if fields.eph not in (0, 65535) and fields.epv not in (0, 65535):
        return ((fields.eph * 1e-2 * RANGE_ERROR) ** 2, (fields.epv * 1e-2 * RANGE_ERROR) ** 2), APPROXIMATED
    return (0.0, 0.0), UNKNOWN


HOME = topic(
    "home_position/home",
    "sensor_msgs/NavSatFix",
    Profile.LATCHED,
    "map",
    "home: latitude, longitude (degrees), altitude (m above the WGS84 ellipsoid)",
)
HOME_LOCAL = topic(
    "home_position/local",
    "geometry_msgs/PoseStamped",
    Profile.LATCHED,
    "map",
    "home in the map (m, ENU), its orientation east",
)
ORIGIN = topic(
    "global_position/gp_origin",
    "sensor_msgs/NavSatFix",
    Profile.LATCHED,
    "map",
    "origin of the map: latitude, longitude (degrees), altitude (m above the WGS84 ellipsoid)",
)


@translates("HOME_POSITION")
def home_position(fields: Any, vehicle: Telemetry) -> None:
    """Translate degE7, mm above mean sea level, local NED in metres. ArduPilot's q is NaN and is not used.

    PX4 sends NaN for the local position while it is not known. Then it follows from the origin of the map.
    """
    latitude, longitude, altitude = fields.latitude * 1e-7, fields.longitude * 1e-7, fields.altitude * 1e-3
    if not is_on_earth(latitude, longitude):
        vehicle.drop(fields, NOT_ON_EARTH)
        return
    vehicle.pack(
        HOME, vehicle.arrival_ns, (latitude, longitude, vehicle.ellipsoid_altitude(altitude, latitude, longitude))
    )
    ned = Ned((fields.x, fields.y, fields.z)) if finite(fields.x, fields.y, fields.z) else None
    vehicle.home = Home(latitude, longitude, altitude, ned)
    _place_home(vehicle, vehicle.home)
    if vehicle.home.ned is None:
        vehicle.drop(fields, "home's place in the map is not known yet")


@translates("GPS_GLOBAL_ORIGIN")
def gps_global_origin(fields: Any, vehicle: Telemetry) -> None:
    """Translate degE7, mm above mean sea level."""
    latitude, longitude, altitude = fields.latitude * 1e-7, fields.longitude * 1e-7, fields.altitude * 1e-3
    if not is_on_earth(latitude, longitude):
        vehicle.drop(fields, NOT_ON_EARTH)
        return
    vehicle.origin = latitude, longitude, altitude
    ellipsoid = vehicle.ellipsoid_altitude(altitude, latitude, longitude)
    vehicle.pack(ORIGIN, vehicle.arrival_ns, (latitude, longitude, ellipsoid))
    if vehicle.home is not None and vehicle.home.ned is None:
        _place_home(vehicle, vehicle.home)


def _place_home(vehicle: Telemetry, home: Home) -> None:
    """Publish where home is in the map, as the autopilot has sent it, or else by the map's origin if that is known."""
    if home.ned is None and vehicle.origin is not None:
        place = home.latitude, home.longitude, home.altitude_msl
        ned = Ned(convert_position(place, Frame.LLA, Frame.NED, vehicle.origin).tolist())
        vehicle.home = home = replace(home, ned=ned)
    if home.ned is not None:
        vehicle.pack(HOME_LOCAL, vehicle.arrival_ns, (*home.ned.to_enu(), 0.0, 0.0, 0.0, 1.0))
