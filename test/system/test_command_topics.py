"""Wrenches, rotor speeds and attitudes from another process, over the real rclpy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tf2_msgs.msg", reason="needs rclpy and tf2_msgs")

from forked_programs import program
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from listening import Listener, listener
from processes import Program, sim_node
from std_msgs.msg import Float64, Float64MultiArray
from tf2_msgs.msg import TFMessage

MASS, G, THRUST = 2.0, 9.81, 1e-5
HOVER = math.sqrt(MASS * G / 4 / THRUST)
WORLD = """
world: commanded
fixed_frame: map
time: {step: 0.004}
physics: {integrator: euler, timestep: 0.001, gravity: [0, 0, GRAVITY]}
frames:
  - {name: turned, pose: {rpy_deg: [0, 0, 90]}}
bodies:
  - {name: Box-1, joint: free, pose: {position: [5, 0, 0]}, inertial: {mass: 2, inertia: [0.1, 0.1, 0.1]}}
  - {name: quad, joint: free, pose: {position: [0, 0, 50]}, inertial: {mass: 2, inertia: [0.02, 0.02, 0.04]}}
vehicles:
  - name: drone
    body: quad
    rotor: {thrust_coefficient: 1.0e-5, moment_coefficient: 0.02, max_speed: 1500}
    rotors:
      - {position: [0.2, -0.2, 0], spin: ccw}
      - {position: [-0.2, 0.2, 0], spin: ccw}
      - {position: [0.2, 0.2, 0], spin: cw}
      - {position: [-0.2, -0.2, 0], spin: cw}
body_commands: [{body: Box-1, duration: 0.25, accept: [wrench, twist]}]
vehicle_commands: [{vehicle: drone, timeout: 0}]
"""


@pytest.fixture
def graph(ros_domain: int) -> Iterator[Listener]:
    with listener("commander") as found:
        yield found


class Motion:
    """The positions of a frame: rows of simulation time, x, y, z."""

    def __init__(self, graph: Listener, frame: str) -> None:
        self.graph, self.frame = graph, frame
        self._received = graph.subscribe(TFMessage, "/tf", 100)
        self._rows: list[tuple[float, ...]] = []
        self._read = 0

    @property
    def rows(self) -> list[tuple[float, ...]]:
        # Each message is read once: who reads all of them again for each new one falls behind on a busy machine.
        new, self._read = self._received[self._read :], len(self._received)
        self._rows += [
            (each.header.stamp.sec + each.header.stamp.nanosec * 1e-9, *_xyz(each.transform.translation))
            for _, message in new
            for each in message.transforms
            if each.child_frame_id == self.frame
        ]
        return self._rows

    def wait_for(self, seconds: float) -> None:
        """Simulated time from the newest on."""
        self.graph.spin_until(lambda: self.rows, "a transform")
        until = self.rows[-1][0] + seconds
        self.graph.spin_until(lambda: self.rows[-1][0] >= until, "simulated time")

    def acceleration(self, axis: int, span: float = 0.5) -> float:
        """Over the last simulated seconds: the change of the mean speed from their first to their second half."""
        begin = self.rows[-1][0] - span
        rows = [*takewhile(lambda row: row[0] >= begin, reversed(self.rows))][::-1]
        if len(rows) < 5:
            return math.nan
        first, middle, last = rows[0], rows[len(rows) // 2], rows[-1]
        early, late = ((b[axis + 1] - a[axis + 1]) / (b[0] - a[0]) for a, b in ((first, middle), (middle, last)))
        return 2.0 * (late - early) / (last[0] - first[0])


def _xyz(vector: Any) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z


def running(tmp_path: Path, gravity: float) -> AbstractContextManager[Program]:
    path = tmp_path / "commanded.yaml"
    path.write_text(WORLD.replace("GRAVITY", str(gravity)), encoding="utf-8")
    return program(sim_node("run", path))


def publisher(graph: Listener, run: Program, kind: Any, topic: str) -> Any:
    run.wait_for("stop ")
    found = graph.node.create_publisher(kind, topic, 10)
    graph.spin_until(found.get_subscription_count, f"the subscription to {topic}")
    return found


# Takes seconds: make test has twists and rotor speeds.
@pytest.mark.nightly
def test_a_wrench_gives_its_impulse(graph: Listener, tmp_path: Path) -> None:
    """3 N for 0.25 s on 2 kg: 0.375 m/s, whenever the message arrives."""
    with running(tmp_path, 0.0) as run:
        motion = Motion(graph, "Box-1")
        wrenches = publisher(graph, run, WrenchStamped, "/box_1/wrench")
        refused = WrenchStamped()
        refused.header.frame_id, refused.wrench.force.x = "nowhere", 3.0

        def is_refused() -> bool:
            # The name of a publisher is discovered apart from its topic.
            wrenches.publish(refused)
            return "(published by /commander)" in run.output

        graph.spin_until(is_refused, "a refusal that names the publisher")
        refused.header.frame_id, refused.wrench.force.x = "map", math.nan
        wrenches.publish(refused)
        wrench = WrenchStamped()
        wrench.header.frame_id, wrench.wrench.force.x = "Box-1", 3.0
        wrenches.publish(wrench)
        graph.spin_until(lambda: motion.rows and motion.rows[-1][1] > 5.1, "the box to move")
        motion.wait_for(0.5)
        moving = [row for row in motion.rows if row[1] > 5.1]
        first, last = moving[0], moving[-1]
        assert (last[1] - first[1]) / (last[0] - first[0]) == pytest.approx(0.375, rel=1e-6)
    # One line for the publisher in ten seconds: the other refusals are only counted.
    refusal, *later = [line for line in run.lines if "(published by /commander)" in line]
    assert "a command is refused: there is no frame 'nowhere'" in refusal
    assert all("more like this since the last one" in line for line in later)


def test_a_twist_sets_the_velocity_of_a_body_along_the_axes_of_its_frame(graph: Listener, tmp_path: Path) -> None:
    """0.5 m/s along x of a frame that is turned by a quarter: along y."""
    with running(tmp_path, 0.0) as run:
        motion = Motion(graph, "Box-1")
        twists = publisher(graph, run, TwistStamped, "/box_1/twist")
        twist = TwistStamped()
        twist.header.frame_id, twist.twist.linear.x, twist.twist.angular.z = "turned", 0.5, 0.2
        twists.publish(twist)
        graph.spin_until(lambda: motion.rows and motion.rows[-1][2] > 0.1, "the box to move")
        motion.wait_for(0.5)
        moving = [row for row in motion.rows if row[2] > 0.1]
        first, last = moving[0], moving[-1]
        assert (last[2] - first[2]) / (last[0] - first[0]) == pytest.approx(0.5, rel=1e-6)
        assert last[1] == pytest.approx(0.0, abs=1e-6)


def test_rotor_speeds_and_attitudes_fly_a_vehicle_without_an_autopilot(graph: Listener, tmp_path: Path) -> None:
    with running(tmp_path, -G) as run:
        motion = Motion(graph, "quad")
        speeds = publisher(graph, run, Float64MultiArray, "/drone/command/motor_speed")
        thrusts = publisher(graph, run, Float64, "/drone/setpoint_attitude/thrust")
        attitudes = publisher(graph, run, PoseStamped, "/drone/setpoint_attitude/attitude")
        # Streams, as controllers send them.
        stream = graph.node.create_timer(0.02, lambda: speeds.publish(Float64MultiArray(data=[HOVER] * 3)))
        graph.spin_until(lambda: "3 speeds; the vehicle has 4 rotors" in run.output, "a refusal")
        graph.node.destroy_timer(stream)
        stream = graph.node.create_timer(0.02, lambda: speeds.publish(Float64MultiArray(data=[HOVER] * 4)))
        # It falls on at the speed that it has.
        graph.spin_until(lambda: motion.rows and abs(motion.acceleration(2)) < 1e-3, "the thrust to be the weight")
        tilt = math.radians(5)
        attitude = PoseStamped()
        attitude.pose.orientation.y, attitude.pose.orientation.w = math.sin(tilt / 2), math.cos(tilt / 2)
        thrust = Float64(data=MASS * G / math.cos(tilt) / (4 * THRUST * 1500**2))
        graph.node.destroy_timer(stream)
        graph.node.create_timer(0.02, lambda: (thrusts.publish(thrust), attitudes.publish(attitude)))
        expected = G * math.tan(tilt)
        graph.spin_until(lambda: motion.acceleration(0) == pytest.approx(expected, rel=5e-3), "g tan of the tilt")
