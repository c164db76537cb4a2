"""Telemetry from NED/FRD to ENU/FLU and to ROS messages as bytes; importing this registers all of it."""

from sim_node.autopilot.translation import attitude, global_position, imu, local_position, odometry, onboard, state
from sim_node.autopilot.translation.registry import TRANSLATIONS, translates

__all__ = [
    "TRANSLATIONS",
    "attitude",
    "global_position",
    "imu",
    "local_position",
    "odometry",
    "onboard",
    "state",
    "translates",
]
