"""Telemetry from NED/FRD to ENU/FLU and to ROS messages as bytes."""

from sim_node.mavlink.translation.rows import TRANSLATIONS, reads, translates

__all__ = ["TRANSLATIONS", "reads", "translates"]
