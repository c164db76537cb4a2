"""Which ROS 2 this is."""

from __future__ import annotations

import os
from importlib import metadata

import rclpy


def distro() -> str:
    """The distribution: of the set-up that is sourced, else of the wheels."""
    sourced = os.environ.get("ROS_DISTRO")
    if sourced:
        return f"{sourced} (sourced)"
    try:
        return f"{_BY_RCLPY.get(metadata.version('ros-rclpy').split('.')[0], 'unknown')} (rclpy from PyPI)"
    except metadata.PackageNotFoundError:
        return f"unknown (rclpy in {os.path.dirname(rclpy.__file__)})"


def middleware() -> str:
    """The rmw in use."""
    return str(rclpy.get_rmw_implementation_identifier())


# rclpy's major version, by distribution (REP 2000).
_BY_RCLPY = {"3": "humble", "7": "jazzy", "9": "kilted"}
