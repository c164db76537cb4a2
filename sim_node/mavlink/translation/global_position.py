"""GLOBAL_POSITION_INT, GPS_RAW_INT, HOME_POSITION and GPS_GLOBAL_ORIGIN."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from sim_node.mavlink.telemetry import Home, Telemetry
from sim_node.mavlink.topics import Profile, topic
from sim_node.mavlink.translation.health import keep
from sim_node.mavlink.translation.local_position import UNKNOWN_COVARIANCE, twist_numbers
from sim_node.mavlink.translation.rows import Row, reads
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import Enu, Frame, Heading, Ned, convert_position

NO_FIX, FIX, SBAS_FIX, GBAS_FIX = -1, 0, 1, 2  # sensor_msgs/NavSatStatus
UNKNOWN, APPROXIMATED, DIAGONAL_KNOWN = 0, 1, 2  # sensor_msgs/NavSatFix
# Range error of a receiver that sends only its dilution of precision, in metres (as MAVROS' gps_uere).
RANGE_ERROR = 1.0
NOT_ON_EARTH, NO_ORIGIN = "position is not on Earth", "the map's origin is not known yet"
_STATUS = {2: FIX, 3: FIX, 4: SBAS_FIX, 5: GBAS_FIX, 6: GBAS_FIX, 7: FIX, 8: FIX}  # by GPS_FIX_TYPE

GLOBAL = topic("global_position/global", "sensor_msgs/NavSatFix", "base_link")
RELATIVE_ALTITUDE = topic("global_position/rel_alt", "std_msgs/Float64")
ODOMETRY = topic("global_position/local", "nav_msgs/Odometry", "map base_link", wire.odometry_with_covariance)
HEADING = topic("global_position/compass_hdg", "std_msgs/Float64")
SATELLITES = topic("global_position/raw/satellites", "std_msgs/UInt32", measured=True)
RAW_FIX = topic("global_position/raw/fix", "sensor_msgs/NavSatFix", "base_link", wire.receiver_fix, measured=True)
RAW_VELOCITY = topic("global_position/raw/gps_vel", "geometry_msgs/TwistStamped", "map", measured=True)
HOME = topic("home_position/home", "sensor_msgs/NavSatFix", "map", profile=Profile.LATCHED)
HOME_LOCAL = topic("home_position/local", "geometry_msgs/PoseStamped", "map", profile=Profile.LATCHED)
ORIGIN = topic("global_position/gp_origin", "sensor_msgs/NavSatFix", "map", profile=Profile.LATCHED)
_heading = Row("GLOBAL_POSITION_INT", HEADING, "heading")
_satellites = Row("GPS_RAW_INT", SATELLITES, "satellites")

# Latitude and longitude in degrees, altitude above mean sea level in m.
Place = tuple[float, float, float]


@reads("GLOBAL_POSITION_INT", "place height velocity")
def global_position(fields: Any, vehicle: Telemetry, place: Place | None, height: float, velocity: Enu) -> None:
    """Publish the estimator's position, its height above home, and its heading."""
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    if not fields.lat and not fields.lon:
        vehicle.drop(fields, "no position yet")
    elif place is None:
        vehicle.drop(fields, NOT_ON_EARTH)
    else:
        vehicle.pack(GLOBAL, stamp_ns, _ellipsoid(vehicle, place))
        vehicle.pack(RELATIVE_ALTITUDE, stamp_ns, (height,))
        _publish_odometry(fields, vehicle, stamp_ns, place, velocity)
    _heading(fields, vehicle, stamp_ns)


def _ellipsoid(vehicle: Telemetry, place: Place) -> Place:
    latitude, longitude, altitude = place
    return latitude, longitude, vehicle.ellipsoid_altitude(altitude, latitude, longitude)


def _publish_odometry(fields: Any, vehicle: Telemetry, stamp_ns: int, place: Place, velocity: Enu) -> None:
    """Publish a position in the map, with the velocity."""
    q = vehicle.attitude
    if vehicle.origin is None:
        vehicle.drop(fields, NO_ORIGIN)
    elif q is None:
        vehicle.drop(fields, "no attitude yet")
    else:
        position = Ned(convert_position(place, Frame.LLA, Frame.NED, vehicle.origin).tolist()).to_enu()
        twist = twist_numbers(q.to_body(velocity), vehicle.rates)
        vehicle.pack(ODOMETRY, stamp_ns, (*position, *q, *UNKNOWN_COVARIANCE, *twist))


@reads("GPS_RAW_INT", "place ellipsoid speed course h_acc v_acc eph epv")
def gps_raw(
    fields: Any,
    vehicle: Telemetry,
    place: Place | None,
    ellipsoid: float,
    speed: float | None,
    course: float | None,
    *accuracies: float | None,
) -> None:
    """Publish the GPS fix, with its accuracies if the receiver sends them, and its velocity."""
    stamp_ns = vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns)
    keep(fields, vehicle)
    _satellites(fields, vehicle, stamp_ns)
    status = _STATUS.get(fields.fix_type, NO_FIX)
    if status == NO_FIX:
        place = (math.nan,) * 3
    elif place is None:
        vehicle.drop(fields, NOT_ON_EARTH)
        return
    # PX4's simulation repeats the altitude above mean sea level there.
    elif fields.alt_ellipsoid not in (0, fields.alt):
        place = (*place[:2], ellipsoid)
    else:
        place = _ellipsoid(vehicle, place)
    (horizontal, vertical), kind = _variances(*accuracies) if status != NO_FIX else ((0.0, 0.0), UNKNOWN)
    covariance = (horizontal, 0.0, 0.0, 0.0, horizontal, 0.0, 0.0, 0.0, vertical)
    vehicle.pack(RAW_FIX, stamp_ns, (status, *place, *covariance, kind))
    if status != NO_FIX and speed is not None and course is not None:
        velocity = Ned.along(Heading(course).to_ned(), speed).to_enu()
        vehicle.pack(RAW_VELOCITY, stamp_ns, (*velocity, 0.0, 0.0, 0.0))
    else:
        vehicle.drop(fields, "no velocity")


def _variances(
    h_acc: float | None, v_acc: float | None, eph: float | None, epv: float | None
) -> tuple[tuple[float, float], int]:
    """Return horizontal and vertical variance (m²), and the type of the covariance."""
    if h_acc and v_acc:
        return (h_acc**2, v_acc**2), DIAGONAL_KNOWN
    # PX4 in simulation sends zeros for both dilutions.
    if eph and epv:
        return ((eph * RANGE_ERROR) ** 2, (epv * RANGE_ERROR) ** 2), APPROXIMATED
    return (0.0, 0.0), UNKNOWN


@reads("HOME_POSITION", "home home_position")
def home_position(fields: Any, vehicle: Telemetry, place: Place | None, position: Enu | None) -> None:
    """Publish home. ArduPilot's q is NaN and is not used.

    PX4 sends NaN for the local position while it is unknown. It is then derived from the origin of the map.
    """
    if place is None:
        vehicle.drop(fields, NOT_ON_EARTH)
        return
    vehicle.pack(HOME, vehicle.arrival_ns, _ellipsoid(vehicle, place))
    vehicle.home = Home(*place, None if position is None else position.to_ned())
    _place_home(vehicle, vehicle.home)
    if vehicle.home.ned is None:
        vehicle.drop(fields, "home's place in the map is not known yet")


@reads("GPS_GLOBAL_ORIGIN", "origin")
def gps_global_origin(fields: Any, vehicle: Telemetry, place: Place | None) -> None:
    """Publish the origin of the map."""
    if place is None:
        vehicle.drop(fields, NOT_ON_EARTH)
        return
    vehicle.origin = place
    vehicle.pack(ORIGIN, vehicle.arrival_ns, _ellipsoid(vehicle, place))
    if vehicle.home is not None and vehicle.home.ned is None:
        _place_home(vehicle, vehicle.home)


def _place_home(vehicle: Telemetry, home: Home) -> None:
    """Publish home in the map, as sent by the autopilot, or else from the map's origin if that is known."""
    if home.ned is None and vehicle.origin is not None:
        place = home.latitude, home.longitude, home.altitude_msl
        ned = Ned(convert_position(place, Frame.LLA, Frame.NED, vehicle.origin).tolist())
        vehicle.home = home = replace(home, ned=ned)
    if home.ned is not None:
        vehicle.pack(HOME_LOCAL, vehicle.arrival_ns, (*home.ned.to_enu(), 0.0, 0.0, 0.0, 1.0))
