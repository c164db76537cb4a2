"""What DDS is started with: how far discovery reaches, how soon a late joiner is found, room for pictures."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

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
SHARED_MEMORY = Path("/dev/shm")
# Bytes that are free in shared memory, and the profiles for that much or more: every participant takes a segment of its
# own, whose size (MB) is in the name. Where there is less, Fast DDS keeps to the 0.5 MB that it takes by itself.
_ROOM = ((1 << 30, "_64mb"), (32 << 20, "_8mb"))


def prepare(profiles: str = "fastdds") -> None:
    """Set what rclpy and DDS read from the environment, where the user (or an earlier call) has not. Call before init.

    Logs get a folder that can be written. Without a ROS 2 set up, discovery keeps to this machine. Fast DDS announces
    this process often and has room for pictures (see config/dds); other middlewares do not read that. profiles: which
    files in config/dds Fast DDS 2 reads; Fast DDS 3 has other names for what the other files set.
    """
    provide_log_folder()
    if not any(os.environ.get(name) for name in _REACH_SET_BY_USERS):
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    folder = share(PACKAGE)
    if folder and not any(os.environ.get(name) for name in _PROFILE_FILES) and not os.path.exists(_PROFILE_IN_FOLDER):
        room = next((suffix for least, suffix in _ROOM if free_bytes(SHARED_MEMORY) >= least), "")
        for name, file in zip(_PROFILE_FILES, (profiles, "fastdds"), strict=True):
            os.environ[name] = str(folder / "config" / "dds" / f"{file}{room}.xml")


def free_bytes(folder: Path) -> int:
    """What can be written to a folder's file system; 0 where there is none."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
