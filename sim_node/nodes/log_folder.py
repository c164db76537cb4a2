"""Where rclpy writes its log files: rclpy.init fails where it cannot."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

VARIABLE = "ROS_LOG_DIR"


def provide_log_folder() -> None:
    """Set ROS_LOG_DIR to a new temporary folder where neither it is set nor its default can be written.

    The default is $ROS_HOME/log, else ~/.ros/log (REP 136). A read-only home, or none, is common in containers.
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
    try:
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="sim_node-ros-log-")
    except OSError:
        return  # rclpy says what it lacks
    print(f"sim_node: {default} cannot be written; ROS logs go to {os.environ[VARIABLE]}", file=sys.stderr)
