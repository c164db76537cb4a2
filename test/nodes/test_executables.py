"""The executables that `ros2 launch` starts, at the moments when its signals come."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from nightly import only

SCRIPTS = Path(__file__).parents[2] / "scripts"

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
@pytest.mark.parametrize("number", only([signal.SIGINT, signal.SIGTERM], 0))
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


@pytest.mark.parametrize("name", sorted(path.name for path in SCRIPTS.iterdir()))
def test_ctrl_c_while_python_starts_is_quiet(name: str, tmp_path: Path) -> None:
    """What goes wrong in one node of a launch file, in its first moment, stops all others in theirs."""
    (tmp_path / "sitecustomize.py").write_text('import sys; print("begun", flush=True); sys.stdin.readline()\n')
    with subprocess.Popen(
        [SCRIPTS / name], env={**os.environ, "PYTHONPATH": str(tmp_path)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as node:  # fmt: skip
        receive_until(node, "begun")
        node.send_signal(signal.SIGINT)
        said, _ = node.communicate("go on\n")
    assert (node.returncode, said) == (0, "")


def receive_until(node: subprocess.Popen[str], text: str) -> None:
    assert node.stdout is not None
    for line in node.stdout:
        if text in line:
            return
    pytest.fail(f"ended before {text!r}")
