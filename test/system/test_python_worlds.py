"""A world in Python as a node, and by `ros2 launch`: its frames on /tf, its components on topics."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
import rclpy.qos as ros_qos
from forked_programs import program
from geometry_msgs.msg import InertiaStamped, TwistStamped
from installing import ROOT, own_path
from listening import listener
from processes import EXECUTABLE, Program, sim_node
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage
from waiting import until

TF = ros_qos.QoSProfile(depth=100)
LATCHED = ros_qos.QoSProfile(depth=1, durability=ros_qos.DurabilityPolicy.TRANSIENT_LOCAL)
BALL = ROOT / "config" / "python" / "ball.py"


@pytest.mark.usefixtures("ros_domain")
def test_components_are_received_on_their_topics() -> None:
    command = sim_node("run", BALL, "--ros-args", "-p", "frame_prefix:=lab/", "-r", "__ns:=/site")
    with program(command) as node, listener() as ears:
        moving = ears.subscribe(TFMessage, "/tf", TF)
        speeds = ears.subscribe(TwistStamped, "/site/lab/ball/world_vel", TF)
        winds = ears.subscribe(Float64MultiArray, "/site/lab/ball/wind", LATCHED)
        inertias = ears.subscribe(InertiaStamped, "/site/lab/ball/inertia", LATCHED)
        ears.spin_until(lambda: len(speeds) > 20 and moving and winds and inertias, what=node.output)
        assert {each.child_frame_id for each in moving[-1][1].transforms} == {"lab/ball"}
        twist = speeds[-1][1]
        assert twist.header.frame_id == "map"
        assert twist.twist.linear.z != 0.0
        wind = winds[0][1]
        assert (list(wind.data), wind.layout.dim[0].label) == ([3.0, 1.0, 0.0], "x,y,z")
        inertia = inertias[0][1]
        assert (inertia.header.frame_id, inertia.inertia.m) == ("lab/ball", 2.0)
        np.testing.assert_allclose(inertia.inertia.ixx, 0.4 * 2.0 * 0.2**2)
        assert "  components   " in node.output
        assert node.stop() == 0
    assert "Traceback" not in node.output


# Takes seconds: make test has lines of scripts in test/ecs/test_python_files.py.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
def test_a_node_reports_the_line_of_a_script(tmp_path: Path) -> None:
    script = tmp_path / "rocket.py"
    script.write_text(BALL.read_text().replace("RADIUS, MASS = ", "RADIUS, MASS = 1 / 0, "))
    with program([EXECUTABLE, "--ros-args", "-p", f"world:={script}"]) as node:
        assert node.wait() == 2
    assert f"{script}:13:1: ZeroDivisionError: division by zero" in node.output
    assert "Traceback" not in node.output


# make test ends a script by Ctrl-C in test/ecs/test_python_files.py.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
def test_a_node_ends_while_a_script_runs(tmp_path: Path) -> None:
    ready, script = tmp_path / "ready", tmp_path / "rocket.py"
    script.write_text(f"import time\nopen({str(ready)!r}, 'w').close()\nwhile True: time.sleep(0.01)\n")
    with program([EXECUTABLE, "--ros-args", "-p", f"world:={script}"]) as node:
        until(ready.exists, "the script")
        assert node.stop() == 0
    assert "Traceback" not in node.output


@pytest.mark.upstream("launch_ros", "ros2launch")
@pytest.mark.usefixtures("ros_domain")
def test_launch_runs_a_script() -> None:
    launch = ROOT / "launch" / "simulation.launch.py"
    with program(["ros2", "launch", str(launch), f"world:={BALL}"], **own_path()) as running, listener() as ears:
        moving = ears.subscribe(TFMessage, "/tf", TF)
        ears.spin_until(lambda: len(moving) > 20, what=f"/tf\n{running.output}")
        assert moving[-1][1].transforms[0].child_frame_id == "ball"
        end(running)


def end(running: Program) -> None:
    running.process.send_signal(signal.SIGINT)
    assert running.wait() == 0
    assert "Traceback" not in running.output
