"""Telemetry from NED/FRD to ENU/FLU and to ROS messages as bytes. Importing this package registers all translations."""

from sim_node.mavlink.translation import (
    attitude,
    global_position,
    health,
    imu,
    local_position,
    odometry,
    onboard,
    payload,
    state,
    targets,
)
from sim_node.mavlink.translation.registry import TRANSLATIONS, translates

__all__ = [
    "TRANSLATIONS",
    "attitude",
    "global_position",
    "health",
    "imu",
    "local_position",
    "odometry",
    "onboard",
    "payload",
    "state",
    "targets",
    "translates",
]
