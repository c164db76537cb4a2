"""How far DDS discovery reaches: this machine alone, unless the user's own ROS set-up says otherwise."""

from __future__ import annotations

import os

# Any of these means that somebody has set ROS up here and knows what they want.
_SET_BY_USERS = (
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "ROS_LOCALHOST_ONLY",
    "ROS_STATIC_PEERS",
    "ROS_DISCOVERY_SERVER",
    "AMENT_PREFIX_PATH",
)


def keep_to_this_machine() -> bool:
    """Limits discovery to localhost where no ROS 2 is set up. Call before rclpy.init. Says whether it did."""
    if any(os.environ.get(name) for name in _SET_BY_USERS):
        return False
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    return True
