"""A stranger's client, of rclpy alone, drives a robot of the shipped warehouse by pure pursuit, to a goal and back."""

from __future__ import annotations

import itertools
import math
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("nav_msgs.msg", reason="needs rclpy and nav_msgs")

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from forked_programs import program
from geometry_msgs.msg import Twist, TwistStamped
from listening import listener
from nav_msgs.msg import Odometry
from processes import sim_node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from waiting import PATIENCE

from sim_node.world.locate import shipped_worlds

# In the frame of the odometry, which begins at the robot: along the aisle, and around the pallet.
AISLE = [(0.0, 0.0), (2.0, 0.0), (3.0, 0.4), (4.5, 0.6)]
LOOKAHEAD, SPEED, ARRIVED = 0.6, 0.8, 0.25


YARD = """
world: yard
time: {step: 0.01}
physics: {integrator: implicitfast, gravity: [0, 0, 0]}
bodies:
  - {name: amr/base_link, joint: free, geometry: [{sphere: 0.2, mass: 3}]}
  - {name: arm/lift, pose: {position: [3, 0, 0]}, joint: pz, geometry: [{box: [1, 1, 0.1], mass: 5}]}
actuators: [{joint: arm/lift, stiffness: 500, damping: 100}]
joint_commands: [{name: arm}]
bases:
  - {name: amr, body: amr/base_link, type: differential, wheel_radius: 0.1, track: 0.4, drive: kinematic}
sensors: [{name: arm/STATE, parent: arm/lift, type: joint_states}]
"""


def pursued(path: list[tuple[float, float]], pose: tuple[float, float, float]) -> tuple[float, float]:
    """Speed and yaw rate to the point of the path that is LOOKAHEAD away (Coulter, 1992)."""
    x, y, yaw = pose
    points = [
        (a[0] + (b[0] - a[0]) * k / 50, a[1] + (b[1] - a[1]) * k / 50)
        for a, b in itertools.pairwise(path)
        for k in range(51)
    ]
    nearest = min(range(len(points)), key=lambda k: math.dist(points[k], (x, y)))
    ahead = next((p for p in points[nearest:] if math.dist(p, (x, y)) >= LOOKAHEAD), points[-1])
    dx, dy = ahead[0] - x, ahead[1] - y
    off = math.remainder(math.atan2(dy, dx) - yaw, 2 * math.pi)
    if abs(off) > 0.6:
        return 0.0, max(-1.0, min(1.5 * off, 1.0))  # it turns on the spot first
    return SPEED, 2.0 * SPEED * math.sin(off) / max(math.hypot(dx, dy), LOOKAHEAD)


@pytest.mark.usefixtures("ros_domain")
def test_pure_pursuit_drives_to_a_goal_and_back(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.yaml"
    # Without its cameras: the test pays for their pictures, and nobody looks at them.
    text = shipped_worlds()["warehouse"].read_text(encoding="utf-8").replace("CAMERA, ", "")
    path.write_text(text, encoding="utf-8")
    with listener("pursuit") as graph, program(sim_node("run", path, "--speed", "3")) as run:
        run.wait_for("stop ")
        told = graph.subscribe(Odometry, "/amr1/odom", 1)
        truth = graph.subscribe(Odometry, "/amr1/truth/odom", qos_profile_sensor_data)
        twists = graph.node.create_publisher(Twist, "/amr1/cmd_vel", 1)
        stamped = graph.node.create_publisher(TwistStamped, "/amr2/cmd_vel_stamped", 1)
        other = graph.subscribe(Odometry, "/amr2/odom", 1)
        graph.spin_until(lambda: told and truth and other and twists.get_subscription_count(), "the robots")

        def pose(messages: list[tuple[float, Odometry]]) -> tuple[float, float, float]:
            found = messages[-1][1].pose.pose
            return found.position.x, found.position.y, 2.0 * math.atan2(found.orientation.z, found.orientation.w)

        def truth_at(then: float) -> tuple[float, float]:
            graph.spin_until(lambda: time_of(truth[-1][1]) >= then, "the truth of that time")
            found = min((each for _, each in truth), key=lambda each: abs(time_of(each) - then)).pose.pose.position
            return found.x, found.y

        arrivals: list[Odometry] = []

        def drives_to_the_end_of(path: list[tuple[float, float]]) -> bool:
            found = pose(told)
            if math.dist(found[:2], path[-1]) < ARRIVED:
                arrivals.append(told[-1][1])
                return True
            command, ahead = Twist(), TwistStamped()
            command.linear.x, command.angular.z = pursued(path, found)
            twists.publish(command)
            ahead.header.frame_id, ahead.twist.linear.x = "amr2/base_link", 0.2
            stamped.publish(ahead)
            return False

        for way, metres, end in (AISLE, 4.6, "the goal"), (AISLE[::-1], 9.2, "the way back"):
            graph.spin_until(partial(drives_to_the_end_of, way), end)
            odometry = arrivals[-1].pose.pose.position
            # It began at (-5, -2) of the map. Wheels slip, so the odometry is off by 2 % of the way at most.
            x, y = truth_at(time_of(arrivals[-1]))
            assert math.dist((x, y), (odometry.x - 5.0, odometry.y - 2.0)) < 0.02 * metres
        assert pose(other)[0] > 0.5  # the other one went ahead meanwhile
        # How long a command is valid is counted from when the simulation takes it, which a busy machine delays; how it
        # brakes then is the robot's own.
        graph.spin_until(lambda: math.hypot(*_twist(told)) < 1e-3, "the time-out to brake")
        at_rest = time_of(told[-1][1])
        rest = truth_at(at_rest)
        for speed, place in _slowing_down(each for _, each in truth if time_of(each) <= at_rest):
            assert math.dist(place, rest) == pytest.approx(speed**2 / 2, abs=0.05)


# Takes seconds: make test has pure pursuit of the same base.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
def test_the_keyboard_drives_a_base_and_moves_a_joint(tmp_path: Path) -> None:
    """Keys that are held, on a terminal; what moves stops when no key is pressed any more."""
    path = tmp_path / "yard.yaml"
    path.write_text(YARD, encoding="utf-8")
    with listener("watcher") as graph, program(sim_node("run", path)) as run:
        run.wait_for("stop ")
        told = graph.subscribe(Odometry, "/amr/odom", 1)
        states = graph.subscribe(JointState, "/arm/state/joint_states", qos_profile_sensor_data)
        with typing("amr") as press:
            graph.spin_until(lambda: press("w") or (told and told[-1][1].pose.pose.position.x > 0.3), "the base to go")
            graph.spin_until(lambda: math.hypot(*_twist(told)) < 1e-6, "the base to stop")
        with typing("arm") as press:
            graph.spin_until(lambda: press("w") or (states and states[-1][1].position[0] > 0.2), "the joint to move")


def test_teleop_refuses_to_read_keys_from_a_file() -> None:
    """At once, rather than after waiting for topics."""
    ran = subprocess.run(sim_node("teleop", "amr"), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    error = "sim_node: teleop needs a terminal as its standard input, to read keys from\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", error)


@contextmanager
def typing(name: str) -> Iterator[Callable[[str], None]]:
    """A teleop of its own on a terminal; returns what types a key."""
    keyboard, terminal = pty.openpty()

    def press(key: str) -> None:
        os.write(keyboard, key.encode())

    with subprocess.Popen(sim_node("teleop", name), stdin=terminal, stdout=subprocess.DEVNULL) as teleop:
        try:
            yield press
            teleop.send_signal(signal.SIGINT)
            assert teleop.wait(PATIENCE) == 0
        finally:
            teleop.kill()
            os.close(keyboard)
            os.close(terminal)


def time_of(message: Odometry) -> float:
    return float(message.header.stamp.sec + message.header.stamp.nanosec * 1e-9)


def _slowing_down(messages: Iterable[Odometry]) -> Iterator[tuple[float, tuple[float, float]]]:
    """Speed and place of the last messages, the newest first, as far back as each is the faster one."""
    newer = 0.0
    for message in reversed(list(messages)):
        speed, place = message.twist.twist.linear.x, message.pose.pose.position
        if not newer - 0.02 <= speed <= 0.95 * SPEED:
            return
        yield speed, (place.x, place.y)
        newer = speed


def _twist(messages: list[tuple[float, Odometry]]) -> tuple[float, float]:
    twist = messages[-1][1].twist.twist
    return twist.linear.x, twist.angular.z
