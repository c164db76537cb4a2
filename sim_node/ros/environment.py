"""The ROS 2 installation, and environment variables for DDS and rclpy's logs."""

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
    """Return the ROS distribution of the sourced setup, or else of the wheels."""
    sourced = os.environ.get("ROS_DISTRO")
    if sourced:
        return f"{sourced} (sourced)"
    from importlib import metadata  # not at the top, because nodes do not need it

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

    The default is $ROS_HOME/log, or else ~/.ros/log (REP 136). A read-only or missing home is common in containers.
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
    import tempfile  # not at the top, because it is rarely needed

    try:
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="sim_node-ros-log-")
    except OSError:
        return  # rclpy reports the error
    print(f"sim_node: {default} is not writable; ROS logs go to {os.environ[VARIABLE]}", file=sys.stderr)


# If any of these is set, the user has configured ROS, and the discovery range is left unchanged.
_REACH_SET_BY_USERS = (
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "ROS_LOCALHOST_ONLY",
    "ROS_STATIC_PEERS",
    "ROS_DISCOVERY_SERVER",
    "AMENT_PREFIX_PATH",
)
# Fast DDS 2 (Humble to Jazzy) reads the first, Fast DDS 3 (Kilted) the second. The user may have set either of them.
PROFILE_FILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
_PROFILE_IN_FOLDER = "DEFAULT_FASTRTPS_PROFILES.xml"
SHARED_MEMORY = Path("/dev/shm")
# Minimum free bytes of shared memory, and the suffix of the profiles to use: every participant allocates a segment of
# the size (MB) in the name. With less free space, Fast DDS uses its default segment of 0.5 MB.
_ROOM = ((1 << 30, "_64mb"), (32 << 20, "_8mb"))
# Suffix of the profiles that receive UDP on the loopback interface only, for discovery on this machine.
_LOCAL = "_local"
_LOOPBACK_FLAGS = Path("/sys/class/net/lo/flags")
_IFF_UP = 1
# Distributions without ROS_AUTOMATIC_DISCOVERY_RANGE, where discovery uses multicast on all interfaces.
_WITHOUT_RANGE = ("foxy", "galactic", "humble")
# Lock file of a Fast DDS segment, which the owning process holds locked (flock) as long as it lives.
_SEGMENT_LOCK = re.compile(r"((?:fastrtps|fastdds)_[0-9a-f]{16})_el")
# A process that has just created a lock file may not have locked it yet.
_SETTLED_S = 10.0


def prepare(profiles: str = "fastdds") -> None:
    """Set environment variables for rclpy and DDS that neither the user nor an earlier call has set. Call before init.

    Logs get a writable folder. Shared memory left behind by killed processes is removed. If no ROS 2 is set up,
    discovery is limited to this machine. Fast DDS gets profiles (config/dds) with frequent announcements and room for
    images. If discovery is limited to this machine, it receives on the loopback interface only. Other middlewares
    ignore the profiles.

    Args:
        profiles: Base name of the files in config/dds for Fast DDS 2. Fast DDS 3 always uses `fastdds`, because it has
            other names for the settings in the other files.
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
    """Import message type support without the code generator, which nodes do not need.

    The generator's IDL parser takes 0.04 s to import. The package supports installations without it.
    """
    if _GENERATOR not in sys.modules:
        implementation = f"{_GENERATOR}.generate_py_impl"
        sys.modules[implementation] = None  # type: ignore[assignment]  # makes importing it raise ImportError
        try:
            importlib.import_module(_GENERATOR)
        finally:
            del sys.modules[implementation]


def _stays_here() -> bool:
    """Return whether discovery is limited to this machine and can use the loopback interface."""
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
    """Remove Fast DDS shared memory left behind by this user's killed processes, like `fastdds shm clean`.

    A killed process cannot remove its segment, which keeps occupying memory until the next boot.

    Args:
        folder: Folder of the segments.

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
            continue  # in use, or already removed by another process
        removed += 1
    return removed


def free_bytes(folder: Path) -> int:
    """Return the free space of a folder's file system, bytes; 0 if it does not exist."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
