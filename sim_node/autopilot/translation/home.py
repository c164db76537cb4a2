"""HOME_POSITION and GPS_GLOBAL_ORIGIN: where goto counts from, and where the map is on Earth."""

from __future__ import annotations

import math
from typing import Any

from sim_node.autopilot.axes import ned_enu
from sim_node.autopilot.telemetry import Home, Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.registry import translates
from sim_node.wire import telemetry_messages as wire

HOME = topic(
    "home_position/home",
    "sensor_msgs/NavSatFix",
    Profile.LATCHED,
    "map",
    "home: latitude, longitude (degrees), altitude (m above the WGS84 ellipsoid)",
    lambda frames: wire.nav_sat_fix(frames.map),
)
HOME_LOCAL = topic(
    "home_position/local",
    "geometry_msgs/PoseStamped",
    Profile.LATCHED,
    "map",
    "home in the map (m, ENU), its orientation east",
    lambda frames: wire.pose(frames.map),
)
ORIGIN = topic(
    "global_position/gp_origin",
    "sensor_msgs/NavSatFix",
    Profile.LATCHED,
    "map",
    "origin of the map: latitude, longitude (degrees), altitude (m above the WGS84 ellipsoid)",
    lambda frames: wire.nav_sat_fix(frames.map),
)


@translates("HOME_POSITION")
def home_position(fields: Any, vehicle: Telemetry) -> None:
    """degE7, mm above mean sea level, local NED in metres; ArduPilot's q is NaN, and nobody needs it."""
    latitude, longitude, altitude = fields.latitude * 1e-7, fields.longitude * 1e-7, fields.altitude * 1e-3
    ned = (fields.x, fields.y, fields.z)
    if not all(map(math.isfinite, ned)):
        return
    vehicle.home = Home(latitude, longitude, altitude, ned)
    ellipsoid = vehicle.ellipsoid_altitude(altitude, latitude, longitude)
    vehicle.pack(HOME, vehicle.arrival_ns, (latitude, longitude, ellipsoid))
    vehicle.pack(HOME_LOCAL, vehicle.arrival_ns, (*ned_enu(*ned), 0.0, 0.0, 0.0, 1.0))


@translates("GPS_GLOBAL_ORIGIN")
def gps_global_origin(fields: Any, vehicle: Telemetry) -> None:
    """degE7, mm above mean sea level."""
    latitude, longitude, altitude = fields.latitude * 1e-7, fields.longitude * 1e-7, fields.altitude * 1e-3
    vehicle.origin = latitude, longitude, altitude
    ellipsoid = vehicle.ellipsoid_altitude(altitude, latitude, longitude)
    vehicle.pack(ORIGIN, vehicle.arrival_ns, (latitude, longitude, ellipsoid))
