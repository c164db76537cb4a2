"""Translation of telemetry from NED/FRD to ENU/FLU, and to serialized ROS messages."""

from sim_node.mavlink.translation.rows import TRANSLATIONS, reads, translates

__all__ = ["TRANSLATIONS", "reads", "translates"]
