"""Telemetry from NED/FRD to ENU/FLU and to ROS messages as bytes; importing this registers all of it."""

from sim_node.autopilot.translation import (
    air,
    attitude,
    battery,
    global_position,
    home,
    imu,
    local_position,
    mission_progress,
    odometry,
    range_finder,
    rc,
    state,
    status_text,
    time_reference,
)
from sim_node.autopilot.translation.registry import TRANSLATIONS, translates

__all__ = [
    "TRANSLATIONS",
    "air",
    "attitude",
    "battery",
    "global_position",
    "home",
    "imu",
    "local_position",
    "mission_progress",
    "odometry",
    "range_finder",
    "rc",
    "state",
    "status_text",
    "time_reference",
    "translates",
]
