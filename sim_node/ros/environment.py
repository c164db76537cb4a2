"""The ROS 2 installation, and the environment of DDS and rclpy's logs."""

from __future__ import annotations

import fcntl
import importlib
import os
import re
import shutil
import sys
import time
from pathlib import Path

import rclpy

from sim_node.world.locate import PACKAGE, share


def distro() -> str:
    """Return the distribution: that of the sourced setup, else that of the wheels."""
    sourced = os.environ.get("ROS_DISTRO")
    if sourced:
        return f"{sourced} (sourced)"
    from importlib import metadata  # not at the top: nodes do without it

    try:
        return f"{_BY_RCLPY.get(metadata.version('ros-rclpy').split('.')[0], 'unknown')} (rclpy from PyPI)"
    except metadata.PackageNotFoundError:
        return f"unknown (rclpy in {os.path.dirname(rclpy.__file__)})"


def middleware() -> str:
    """Return the rmw implementation."""
    return str(rclpy.get_rmw_implementation_identifier())


# rclpy's major version, by distribution (REP 2000).
_BY_RCLPY = {"3": "humble", "7": "jazzy", "9": "kilted"}


VARIABLE = "ROS_LOG_DIR"


def provide_log_folder() -> None:
    """Set ROS_LOG_DIR to a new temporary folder if it is not set and its default is not writable.

    The default is $ROS_HOME/log, else ~/.ros/log (REP 136). A read-only or missing home is common in containers.
    """
    if os.environ.get(VARIABLE):
        return
    default = Path(os.environ.get("ROS_HOME") or "~/.ros").expanduser() / "log"
    try:
        default.mkdir(parents=True, exist_ok=True)
        if os.access(default, os.W_OK | os.X_OK):
            return
    except OSError:
        pass
    import tempfile  # not at the top: it is seldom needed

    try:
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="sim_node-ros-log-")
    except OSError:
        return  # rclpy reports the error
    print(f"sim_node: {default} is not writable; ROS logs go to {os.environ[VARIABLE]}", file=sys.stderr)


# If any of these is set, the user has configured ROS, and it is not changed.
_REACH_SET_BY_USERS = (
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "ROS_LOCALHOST_ONLY",
    "ROS_STATIC_PEERS",
    "ROS_DISCOVERY_SERVER",
    "AMENT_PREFIX_PATH",
)
# Fast DDS 2 (Humble to Jazzy) reads the first, Fast DDS 3 (Kilted) the second; both may name a user's own file.
PROFILE_FILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
_PROFILE_IN_FOLDER = "DEFAULT_FASTRTPS_PROFILES.xml"
SHARED_MEMORY = Path("/dev/shm")
# Bytes that are free in shared memory, and the profiles for that much or more: every participant takes a segment of its
# own, whose size (MB) is in the name. Where there is less, Fast DDS keeps to the 0.5 MB that it takes by itself.
_ROOM = ((1 << 30, "_64mb"), (32 << 20, "_8mb"))
# For discovery on this machine only, the profiles that receive UDP on the loopback interface.
_LOCAL = "_local"
_LOOPBACK_FLAGS = Path("/sys/class/net/lo/flags")
_IFF_UP = 1
# Distributions without ROS_AUTOMATIC_DISCOVERY_RANGE: there, discovery goes by multicast on all interfaces.
_WITHOUT_RANGE = ("foxy", "galactic", "humble")
# A segment of Fast DDS has a lock file beside it, which its process holds locked (flock) as long as it lives.
_SEGMENT_LOCK = re.compile(r"((?:fastrtps|fastdds)_[0-9a-f]{16})_el")
# A process that has just created a lock file may not have locked it yet.
_SETTLED_S = 10.0


def prepare(profiles: str = "fastdds") -> None:
    """Set what rclpy and DDS read from the environment, where the user (or an earlier call) has not. Call before init.

    Logs get a folder that can be written. Shared memory of processes that were killed is removed. Without a ROS 2 set
    up, discovery keeps to this machine. Fast DDS announces this process often and has room for pictures (see
    config/dds), and receives on the loopback interface only where discovery keeps to this machine; other middlewares do
    not read that.

    Args:
        profiles: Which files in config/dds Fast DDS 2 reads; Fast DDS 3 has other names for what the other files set.
    """
    provide_log_folder()
    remove_stale_segments()
    _leave_out_generator()
    if not any(os.environ.get(name) for name in _REACH_SET_BY_USERS):
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    folder = share(PACKAGE)
    if folder and not any(os.environ.get(name) for name in PROFILE_FILES) and not os.path.exists(_PROFILE_IN_FOLDER):
        room = next((suffix for least, suffix in _ROOM if free_bytes(SHARED_MEMORY) >= least), "")
        for name, file in zip(PROFILE_FILES, (profiles, "fastdds"), strict=True):
            os.environ[name] = str(folder / "config" / "dds" / f"{file}{room}{_LOCAL if _stays_here() else ''}.xml")


_GENERATOR = "rosidl_generator_py"


def _leave_out_generator() -> None:
    """Import the support of message types without the generator of their code, which no node needs.

    The generator's parser of IDL takes 0.04 s to import. The package is prepared for an installation without it.
    """
    if _GENERATOR not in sys.modules:
        implementation = f"{_GENERATOR}.generate_py_impl"
        sys.modules[implementation] = None  # type: ignore[assignment]  # this makes its import an ImportError
        try:
            importlib.import_module(_GENERATOR)
        finally:
            del sys.modules[implementation]


def _stays_here() -> bool:
    """Return whether discovery finds peers on this machine only, and the loopback interface is there for them."""
    elsewhere = ("ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER")
    if os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "").upper() != "LOCALHOST":
        return False
    if any(os.environ.get(name) for name in elsewhere) or os.environ.get("ROS_DISTRO") in _WITHOUT_RANGE:
        return False
    try:
        return bool(int(_LOOPBACK_FLAGS.read_text(encoding="ascii"), 16) & _IFF_UP)
    except (OSError, ValueError):
        return False


def remove_stale_segments(folder: Path = SHARED_MEMORY) -> int:
    """Remove Fast DDS's shared memory of this user's processes that were killed, as `fastdds shm clean` does.

    A process that is killed cannot remove its segment, which keeps its full size of memory until the next boot.

    Args:
        folder: Where segments are.

    Returns:
        The number of segments removed.
    """
    removed = 0
    try:
        names = os.listdir(folder)
    except OSError:
        return 0
    for name in names:
        match = _SEGMENT_LOCK.fullmatch(name)
        if match is None:
            continue
        lock = folder / name
        try:
            status = lock.lstat()
            if status.st_uid != os.getuid() or time.time() - status.st_mtime < _SETTLED_S:
                continue
            with lock.open("rb") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (folder / match[1]).unlink(missing_ok=True)
                lock.unlink(missing_ok=True)
        except OSError:
            continue  # in use, or another process was faster
        removed += 1
    return removed


def free_bytes(folder: Path) -> int:
    """Return the free space of a folder's file system; 0 if there is none."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
