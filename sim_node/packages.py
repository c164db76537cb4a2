"""Missing packages, of ROS 2 or Python, and the commands that install them."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from pathlib import Path

from sim_node.limits import lack

# Modules with a rosdep key; package.xml lists them.
ROSDEP_KEYS = {
    "collada": "python3-collada",
    "mujoco": "python3-mujoco-pip",
    "pymavlink": "python3-pymavlink-pip",
    "rosbags": "python3-rosbags-pip",
    "serial": "python3-serial",
    "trimesh": "python3-trimesh-pip",
    "xacro": "xacro",
}
# Distributions that provide a module, if their names differ.
_DISTRIBUTIONS = {
    "serial": "pyserial",
    "PIL": "pillow",
    "re2": "google-re2",
    "collada": "pycollada",
    "rerun": "rerun-sdk",
    "foxglove": "foxglove-sdk",
    "yaml": "pyyaml",
    **dict.fromkeys(("anyio", "pydantic", "starlette", "uvicorn"), "mcp"),
    **dict.fromkeys(("lz4", "zstandard"), "mcap"),
    **dict.fromkeys(("rich", "websockets"), "viser"),
}
# Message packages that are not on PyPI, which `sim_node build` builds.
BUILT = (
    *("tf2_msgs", "simulation_interfaces", "geographic_msgs", "mavros_msgs", "px4_msgs", "ardupilot_msgs"),
    "control_msgs",
)
# Unusable versions by module, and what is wrong with each. setup.py excludes them from installation.
WRONG_VERSIONS = {
    "mujoco": {
        "4.0.0": "computes wrong accelerations with a sparse Jacobian (google-deepmind/mujoco issue 3767)",
    }
}
# ROS 2 packages that cannot be recognised by their names.
_ROS = ("ament_index_python", "launch", "launch_ros", "rclpy", "rosidl_parser", "tf2_py", "tf2_ros")
_ROS_ENDINGS = ("_msgs", "_srvs", "_interfaces")
# Programs whose package has another name
_PROGRAM_PACKAGES = {"ros2": "ros2cli"}
_ROSDEP = "rosdep install --from-paths src --ignore-src -y"


class RosNotStarted(Exception):
    """ROS 2 is installed, but does not start in this configuration. The message is one line."""


def is_of_others(error: ImportError) -> bool:
    """Return whether an import fails because of a package other than sim_node."""
    return (error.name or "sim_node").partition(".")[0] != "sim_node"


def how_to_install(error: ImportError) -> str:
    """Return the missing package and the command that installs it; the error itself if no package is missing.

    If a library exists but does not fit into the memory limit of this shell, the message is about that limit.
    """
    if lacking := lack(error):
        return lacking
    module = (error.name or "").partition(".")[0]
    try:
        spec = importlib.util.find_spec(module) if module else None
    except ValueError:  # the imported module has no specification
        spec = None
    if not module or spec is not None:
        return unusable(Path(spec.origin).parent if spec is not None and spec.origin else None, error)
    # Without ROS 2, the name of the ROS package that happens to be imported first would not help the user.
    return missing_message("rclpy" if _is_of_ros(module) and not has_ros() else module)


def _is_of_ros(module: str) -> bool:
    return module in _ROS or module.endswith(_ROS_ENDINGS)


def has_ros() -> bool:
    """Return whether there is an rclpy, even if it cannot be imported."""
    return importlib.util.find_spec("rclpy") is not None


def unusable(folder: Path | None, error: ImportError) -> str:
    """Return a line that says why an installed package in a folder cannot be imported, and what to do about it."""
    built = [] if folder is None else [file.name for file in sorted(folder.glob("*.cpython-*.so"))]
    if built and not any(f".{sys.implementation.cache_tag}-" in name for name in built):
        this, theirs = sys.version_info, re.findall(r"cpython-(\d)(\d+)", built[0])[0]
        return (
            f"{folder} is built for Python {'.'.join(theirs)}, and this is Python {this.major}.{this.minor}: "
            "start sim_node with that one, or source a ROS 2 for this one"
        )
    return " ".join(str(error).split())[:300]


def missing_message(module: str) -> str:
    """Return a message that a module is not installed, with the command that installs it."""
    distro, in_environment = os.environ.get("ROS_DISTRO"), sys.prefix != sys.base_prefix
    if module in BUILT:
        packages = f"sudo apt install ros-{distro}-{module.replace('_', '-')}"
        return f"{module} is not installed: {packages if distro else f'sim_node build {module}'}"
    if _is_of_ros(module):
        message = f"{module} is not installed: source a ROS 2 that has it; in a workspace run: {_ROSDEP}"
        if not distro and in_environment and not has_ros():
            python = shlex.quote(sys.executable)
            message += f"; without ROS 2: {python} -m pip install 'sim_node[ros]', then sim_node build tf2_msgs"
        return message
    if in_environment:
        return f"{module} is not installed: {_pip(module)}"
    if module in ROSDEP_KEYS:
        return f"{module} is not installed: in a workspace run: {_ROSDEP}; elsewhere: {_pip(module)}"
    return f"{module} is not installed, and rosdep does not know it; run: {_pip(module)}"


def _pip(module: str) -> str:
    """Return the pip command that installs a module's package, or the extra that contains it."""
    distribution = _DISTRIBUTIONS.get(module, module)
    wanted, extra = requirement(distribution) or (distribution, "")
    wanted = shlex.quote(f"sim_node[{extra}]" if extra else wanted)
    if sys.prefix != sys.base_prefix:
        return f"{shlex.quote(sys.executable)} -m pip install {wanted}"
    # Required by the system's Python (PEP 668).
    return f"PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install {wanted}"


def wrong_version(module: str, version: str) -> str:
    """Return what is wrong with a version of a module, and the command that installs another one; or ""."""
    fault = WRONG_VERSIONS.get(module, {}).get(version)
    return f"{module} {version} {fault}: {_pip(module)}" if fault else ""


def requirement(distribution: str) -> tuple[str, str] | None:
    """Return sim_node's requirement of a distribution, such as `mcap>=1.2`, and its extra; "" for none.

    None if sim_node does not require it. The requirement is in setup.py; this reads the installed metadata.
    """
    from importlib import metadata

    try:
        lines = metadata.requires("sim_node") or []
    except metadata.PackageNotFoundError:
        return None
    for line in lines:
        wanted, _, marker = line.partition(";")
        name = re.match(r"[\w.-]+", wanted)
        if name is not None and re.sub(r"[-_.]+", "-", name[0]).lower() == distribution.lower():
            extra = re.search(r'extra == "(\w+)"', marker)
            return wanted.strip(), extra[1] if extra else ""
    return None


def missing_program(program: str) -> str:
    """Return a message that a ROS 2 program is not installed, with the command that installs it (Debian, Ubuntu)."""
    distro = os.environ.get("ROS_DISTRO") or "jazzy"
    return f"{program} is not installed: sudo apt install ros-{distro}-{_PROGRAM_PACKAGES.get(program, program)}"
