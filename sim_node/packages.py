"""Missing Python packages, and the commands that install them."""

from __future__ import annotations

import importlib.util

# Modules whose packages rosdep knows; package.xml lists them.
ROSDEP_KEYS = {
    "mujoco": "python3-mujoco-pip",
    "pymavlink": "python3-pymavlink-pip",
    "rosbags": "python3-rosbags-pip",
    "serial": "python3-serial",
    "trimesh": "python3-trimesh-pip",
}
# Packages whose pip name differs from the module's, or that need a minimum version.
_PIP_NAMES = {"serial": "pyserial", "PIL": "pillow", "mcap": "'mcap>=1.2'", "fastcrc": "'fastcrc>=0.3'"}
_ROSDEP = "rosdep install --from-paths src --ignore-src -y"


def how_to_install(error: ImportError) -> str:
    """Return which package an import lacks and the command that installs it; the error itself if none is missing."""
    module = (error.name or "").partition(".")[0]
    if not module or importlib.util.find_spec(module) is not None:
        return str(error)
    if module.startswith("rcl") or module.endswith(("_msgs", "_srvs", "_interfaces")) or module == "ament_index_python":
        return f"{module} is not installed: source a ROS 2 that has it; in a workspace run: {_ROSDEP}"
    # Required by the system's Python (PEP 668).
    pip = f"PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install {_PIP_NAMES.get(module, module)}"
    if module in ROSDEP_KEYS:
        return f"{module} is not installed: in a workspace run: {_ROSDEP}; elsewhere: {pip}"
    return f"{module} is not installed, and rosdep does not know it; run: {pip}"
