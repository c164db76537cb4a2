"""DDS discovery: how far it reaches, and how soon a late joiner finds the node."""

from __future__ import annotations

import os

from sim_node.nodes.log_folder import provide_log_folder
from sim_node.world.locate import PACKAGE, share

# Any of these means that somebody has set ROS up here and knows what they want.
_REACH_SET_BY_USERS = (
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "ROS_LOCALHOST_ONLY",
    "ROS_STATIC_PEERS",
    "ROS_DISCOVERY_SERVER",
    "AMENT_PREFIX_PATH",
)
# Fast DDS 2 (Humble to Jazzy) reads the first, Fast DDS 3 (Kilted) the second; both may name a user's own file.
_PROFILE_FILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
_PROFILE_IN_FOLDER = "DEFAULT_FASTRTPS_PROFILES.xml"


def prepare(profiles: str = "fastdds.xml") -> None:
    """Set what rclpy and DDS read from the environment, where the user (or an earlier call) has not. Call before init.

    Logs get a folder that can be written. Without a ROS 2 set up, discovery keeps to this machine. Fast DDS announces
    this process often (see config/dds/fastdds.xml); other middlewares do not read that. profiles: which file in
    config/dds Fast DDS 2 reads; Fast DDS 3 has other names for what the other files set.
    """
    provide_log_folder()
    if not any(os.environ.get(name) for name in _REACH_SET_BY_USERS):
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    folder = share(PACKAGE)
    if folder and not any(os.environ.get(name) for name in _PROFILE_FILES) and not os.path.exists(_PROFILE_IN_FOLDER):
        for name, file in zip(_PROFILE_FILES, (profiles, "fastdds.xml"), strict=True):
            os.environ[name] = str(folder / "config" / "dds" / file)
