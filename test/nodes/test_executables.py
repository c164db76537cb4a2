"""The executables that `ros2 launch` starts, at the moments when its signals come."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytest.importorskip("tf2_msgs.msg", reason="needs rclpy and tf2_msgs")

# Held up on its way out, where it says so.
HELD_UP = """
import atexit, sys
from sim_node.ros.executables import simulation

atexit.register(lambda: (print("exiting", flush=True), sys.stdin.readline()))
print("started", flush=True)
sys.exit(simulation())
"""


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_repeated_signal_does_not_spoil_the_exit(number: int) -> None:
    """`ros2 launch` sends on a Ctrl-C that the terminal has sent to the node already."""
    command = [sys.executable, "-c", HELD_UP, "--ros-args", "-p", "world:=orbit"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as node:
        receive_until(node, "orbit")
        node.send_signal(number)
        receive_until(node, "exiting")
        node.send_signal(number)
        said, _ = node.communicate("go on\n")
    assert (node.returncode, "Traceback" in said) == (0, False), said


def receive_until(node: subprocess.Popen[str], text: str) -> None:
    assert node.stdout is not None
    for line in node.stdout:
        if text in line:
            return
    pytest.fail(f"ended before {text!r}")
