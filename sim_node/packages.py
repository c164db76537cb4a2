"""What is missing for ROS 2 or another Python package to start, and the commands that install it."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys

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
_ROSDEP = "rosdep install --from-paths src --ignore-src -y"


class RosNotStarted(Exception):
    """ROS 2 is installed, but does not start as it is set up; the message is one line."""


def how_to_install(error: ImportError) -> str:
    """Return which package an import lacks and the command that installs it; the error itself if none is missing."""
    module = missing_module(error)
    return missing_message(module) if module else str(error)


def missing_module(error: BaseException) -> str:
    """Return the top-level module that an import lacks; empty for any other error."""
    module = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    return "" if not module or importlib.util.find_spec(module) is not None else module


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


def missing_program(program: str) -> str:
    """Return that a program of ROS 2 is not installed, and the command that installs it on Debian and Ubuntu."""
    distro = os.environ.get("ROS_DISTRO") or "jazzy"
    return f"{program} is not installed: sudo apt install ros-{distro}-{_PROGRAM_PACKAGES.get(program, program)}"
