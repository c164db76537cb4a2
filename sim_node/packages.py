"""What is missing for ROS 2 or another Python package to start, and the commands that install it."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from contextlib import suppress
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

# Modules whose packages rosdep knows; package.xml lists them.
ROSDEP_KEYS = {
    "collada": "python3-collada",
    "mujoco": "python3-mujoco-pip",
    "pymavlink": "python3-pymavlink-pip",
    "rosbags": "python3-rosbags-pip",
    "serial": "python3-serial",
    "trimesh": "python3-trimesh-pip",
    "xacro": "xacro",
}
# Packages whose pip name differs from the module's, or that need a minimum version.
_PIP_NAMES = {
    "serial": "pyserial",
    "PIL": "pillow",
    "collada": "pycollada",
    "mcap": "'mcap>=1.2'",
    "fastcrc": "'fastcrc>=0.3'",
    "rerun": "'rerun-sdk>=0.23'",
    "foxglove": "'foxglove-sdk>=0.14'",
    "jax": "'jax>=0.6.2' polars",
}
# Packages of ROS 2 whose names do not show it.
_ROS = ("ament_index_python", "launch", "launch_ros", "rclpy", "tf2_py", "tf2_ros")
_ROS_ENDINGS = ("_msgs", "_srvs", "_interfaces")
# Programs whose package has another name.
_PROGRAM_PACKAGES = {"ros2": "ros2cli"}
# A requirement of an extra: its package, and the extra.
_OF_EXTRA = re.compile(r"""([\w.-]+).*\bextra *== *["']([\w-]+)["']""")
_ROSDEP = "rosdep install --from-paths src --ignore-src -y"


class RosNotStarted(Exception):
    """ROS 2 is installed, but does not start as it is set up; the message is one line."""


def how_to_install(error: ImportError) -> str:
    """Return which package an import lacks and the command that installs it; the error itself if none is missing."""
    module = (error.name or "").partition(".")[0]
    try:
        spec = importlib.util.find_spec(module) if module else None
    except ValueError:  # what it is imported under has no specification
        spec = None
    if not module or spec is not None:
        return unusable(Path(spec.origin).parent if spec is not None and spec.origin else None, error)
    return missing_message(module)


def unusable(folder: Path | None, error: ImportError) -> str:
    """Return on one line why a package that is there, in a folder, cannot be imported, and what to do about it."""
    built = [] if folder is None else [file.name for file in sorted(folder.glob("*.cpython-*.so"))]
    if built and not any(name.endswith(tuple(EXTENSION_SUFFIXES)) for name in built):
        this, theirs = sys.version_info, re.findall(r"cpython-(\d)(\d+)", built[0])[0]
        return (
            f"{folder} is built for Python {'.'.join(theirs)}, and this is Python {this.major}.{this.minor}: "
            "start sim_node with that one, or source a ROS 2 for this one"
        )
    return " ".join(str(error).split())[:300]


def missing_message(module: str) -> str:
    """Return that a module is not installed, and the command that installs it."""
    if module == "simulation_interfaces":  # the set-up does not build it
        distro = os.environ.get("ROS_DISTRO")
        install = f"sudo apt install ros-{distro}-simulation-interfaces" if distro else "make simulation-interfaces"
        return f"{module} is not installed: {install}"
    if module in _ROS or module.endswith(_ROS_ENDINGS):
        return f"{module} is not installed: source a ROS 2 that has it; in a workspace run: {_ROSDEP}"
    wanted = _PIP_NAMES.get(module, module)
    if sys.prefix != sys.base_prefix:
        return f"{module} is not installed: {shlex.quote(sys.executable)} -m pip install {wanted}"
    # Required by the system's Python (PEP 668).
    pip = f"PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install {wanted}"
    if module in ROSDEP_KEYS:
        return f"{module} is not installed: in a workspace run: {_ROSDEP}; elsewhere: {pip}"
    return f"{module} is not installed, and rosdep does not know it; run: {pip}"


def extra_with(module: str) -> str:
    """Return an extra of sim_node that brings a module: of several, the one that brings the least; or empty."""
    brought: dict[str, set[str]] = {}
    with suppress(PackageNotFoundError):
        for line in requires("sim_node") or ():
            if match := _OF_EXTRA.match(line):
                brought.setdefault(match[2], set()).add(match[1].lower())
    package = re.split(r"[<>=]", _PIP_NAMES.get(module, module).strip("'"))[0].lower()
    found = [extra for extra, packages in brought.items() if package in packages]
    return min(found, key=lambda extra: len(brought[extra]), default="")


def missing_program(program: str) -> str:
    """Return that a program of ROS 2 is not installed, and the command that installs it on Debian and Ubuntu."""
    distro = os.environ.get("ROS_DISTRO") or "jazzy"
    return f"{program} is not installed: sudo apt install ros-{distro}-{_PROGRAM_PACKAGES.get(program, program)}"
