"""Joints of a real node, commanded on its topics and its action as ros2_control does, and received as joint states."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy.qos as ros_qos
from forked_programs import program
from listening import Listener, listener
from processes import Program, sim_node
from scipy.interpolate import CubicHermiteSpline
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

pytestmark = pytest.mark.usefixtures("ros_domain")

WORLD = """
world: arm
time: {step: 0.002}
physics: {gravity: [0, 0, 0], integrator: implicitfast, contact: false}
bodies:
  - {name: arm/base, geometry: [{box: [0.1, 0.1, 0.1]}]}
  - {name: arm/shoulder, parent: arm/base, joint: ry, geometry: [{capsule: [0.03, 0.4], mass: 1}]}
  - {name: arm/elbow, parent: arm/base, joint: rx, geometry: [{capsule: [0.03, 0.4], mass: 1}]}
actuators:
  - {joint: arm/shoulder, kp: 2000, kv: 0}
  - {joint: arm/shoulder, type: velocity, kv: 20}
  - {joint: arm/elbow, type: velocity, kv: 20}
joint_commands:
  - {name: arm, accept: [joint_state, float64, trajectory], timeout: 0.3, goal_tolerance: 0.001, goal_time: 0.5}
sensors:
  - {name: arm/STATE, parent: arm/base, type: joint_states, position: none, velocity: none, effort: none, rate: 100}
"""


class Robot:
    """A running arm, its states, and a node that commands it."""

    def __init__(self, node: Program, ears: Listener) -> None:
        self.node, self.ears = node, ears
        self.states = ears.subscribe(JointState, "/arm/state/joint_states", ros_qos.qos_profile_sensor_data)
        ears.spin_until(lambda: self.states, what="joint states")

    def publisher(self, kind: Any, topic: str) -> Any:
        made = self.ears.node.create_publisher(kind, topic, 10)
        self.ears.spin_until(made.get_subscription_count, what=f"a subscription of {topic}")
        return made

    def now(self) -> float:
        return stamp(self.states[-1][1])

    def velocity(self, joint: str) -> float:
        message = self.states[-1][1]
        return float(message.velocity[list(message.name).index(joint)])

    def position(self, joint: str) -> float:
        message = self.states[-1][1]
        return float(message.position[list(message.name).index(joint)])


def stamp(message: Any) -> float:
    return float(message.header.stamp.sec + message.header.stamp.nanosec * 1e-9)


@contextmanager
def robot(tmp_path: Path) -> Iterator[Robot]:
    path = tmp_path / "arm.yaml"
    path.write_text(WORLD)
    with program(sim_node("run", path)) as node, listener() as ears:
        yield Robot(node, ears)
        assert node.stop() == 0, node.output


def test_joint_states_command_joints_until_they_stop_coming(tmp_path: Path) -> None:
    with robot(tmp_path) as arm:
        commands = arm.publisher(JointState, "/arm/joint_commands")

        def is_fast() -> bool:
            # As topic-based hardware sends it: a position for the one, a velocity for the other.
            commands.publish(JointState(name=["arm/shoulder", "arm/elbow"], position=[0.4], velocity=[0.0, 1.5]))
            return abs(arm.velocity("arm/elbow") - 1.5) < 1e-3 and abs(arm.position("arm/shoulder") - 0.4) < 1e-3

        arm.ears.spin_until(is_fast, what="both joints at their targets")
        arm.ears.spin_until(lambda: abs(arm.velocity("arm/elbow")) < 1e-3, what="the timeout of the velocity")
        assert arm.position("arm/shoulder") == pytest.approx(0.4, abs=1e-3), "positions are held"


def test_each_joint_has_a_topic_for_each_of_its_actuators(tmp_path: Path) -> None:
    with robot(tmp_path) as arm:
        arm.publisher(Float64, "/arm/shoulder/cmd_pos").publish(Float64(data=-0.3))
        arm.ears.spin_until(lambda: abs(arm.position("arm/shoulder") + 0.3) < 1e-3, what="the position")
        elbow = arm.publisher(Float64, "/arm/elbow/cmd_vel")

        def is_fast() -> bool:
            elbow.publish(Float64(data=0.5))
            return abs(arm.velocity("arm/elbow") - 0.5) < 1e-3

        arm.ears.spin_until(is_fast, what="the velocity")


def test_what_does_not_fit_is_refused_with_one_line_for_each_publisher(tmp_path: Path) -> None:
    with robot(tmp_path) as arm:
        commands = arm.publisher(JointState, "/arm/joint_commands")

        def reported() -> list[str]:
            return [line for line in arm.node.lines if "a command is refused" in line]

        def is_refused() -> bool:
            # The subscription is best effort: it drops what comes before it has discovered this publisher.
            commands.publish(JointState(name=["arm/elbo"], velocity=[1.0]))
            return any("(published by /listener)" in line for line in reported())

        arm.ears.spin_until(is_refused, what="a refusal that names the publisher")
        for message in (
            JointState(name=["arm/elbow"], velocity=[float("inf")]),
            JointState(name=["arm/elbow"], velocity=[1.0, 2.0]),
            JointState(),
        ):
            for _ in range(10):
                commands.publish(message)

        def still_works() -> bool:
            commands.publish(JointState(name=["arm/elbow"], velocity=[0.7]))
            return abs(arm.velocity("arm/elbow") - 0.7) < 1e-3

        arm.ears.spin_until(still_works, what="a good command after the others")
        first, *later = [line for line in reported() if "(published by /listener)" in line]
        assert "there is no commanded joint 'arm/elbo'; did you mean arm/elbow" in first
        # None, unless ten seconds have passed.
        assert all("more like this since the last one" in line for line in later)


TIMES, POSITIONS, VELOCITIES = [0.0, 0.4, 1.0], [0.0, 0.5, 0.2], [0.0, 0.3, 0.0]


def trajectory(start: float = 0.0, joint: str = "arm/shoulder") -> Any:
    messages = pytest.importorskip("trajectory_msgs.msg", reason="needs trajectory_msgs")
    made = messages.JointTrajectory(joint_names=[joint])
    made.header.stamp.sec, made.header.stamp.nanosec = divmod(round(start * 1e9), 10**9)
    for time, position, velocity in zip(TIMES, POSITIONS, VELOCITIES, strict=True):
        point = messages.JointTrajectoryPoint(positions=[position], velocities=[velocity])
        point.time_from_start.nanosec = round(time * 1e9) % 10**9
        point.time_from_start.sec = round(time * 1e9) // 10**9
        made.points.append(point)
    return made


def assert_followed(arm: Robot, start: float) -> None:
    curve = CubicHermiteSpline(TIMES, POSITIONS, VELOCITIES)
    on_the_way = [m for _, m in arm.states if start <= stamp(m) <= start + TIMES[-1]]
    assert len(on_the_way) > 50
    errors = [abs(m.position[list(m.name).index("arm/shoulder")] - float(curve(stamp(m) - start))) for m in on_the_way]
    assert max(errors) < 5e-3


def test_a_joint_trajectory_is_followed(tmp_path: Path) -> None:
    pytest.importorskip("trajectory_msgs.msg", reason="needs trajectory_msgs")
    with robot(tmp_path) as arm:
        topic = arm.publisher(type(trajectory()), "/arm/joint_trajectory")
        start = arm.now() + 1.0
        topic.publish(trajectory(start))
        arm.ears.spin_until(lambda: arm.now() > start + 1.2, what="the end of the trajectory")
        assert_followed(arm, start)
        topic.publish(trajectory(joint="arm/elbow"))
        arm.node.wait_for("'arm/elbow' has no position actuator, which a trajectory needs")


@pytest.mark.peers
def test_the_action_follows_cancels_and_reports_what_went_wrong(tmp_path: Path) -> None:
    action = pytest.importorskip("control_msgs.action", reason="sim_node build control_msgs").FollowJointTrajectory
    tolerance = pytest.importorskip("control_msgs.msg").JointTolerance
    from action_msgs.msg import GoalStatus
    from rclpy.action import ActionClient

    with robot(tmp_path) as arm:
        client = ActionClient(arm.ears.node, action, "/arm/follow_joint_trajectory")
        arm.ears.spin_until(client.server_is_ready, what="the action server")
        feedback: list[Any] = []

        def send(goal: Any) -> Any:
            sent = client.send_goal_async(goal, lambda message: feedback.append(message.feedback))
            arm.ears.spin_until(sent.done, what="an answer to the goal")
            return sent.result()

        def result_of(handle: Any) -> Any:
            asked = handle.get_result_async()
            arm.ears.spin_until(asked.done, what="the result")
            return asked.result()

        start = arm.now() + 1.0
        ended = result_of(send(action.Goal(trajectory=trajectory(start))))
        assert (ended.status, ended.result.error_code) == (GoalStatus.STATUS_SUCCEEDED, action.Result.SUCCESSFUL)
        assert_followed(arm, start)
        assert feedback
        assert feedback[-1].joint_names == ["arm/shoulder"]
        np.testing.assert_allclose(
            feedback[-1].error.positions[0],
            feedback[-1].desired.positions[0] - feedback[-1].actual.positions[0],
            atol=1e-15,
        )

        for limits, what in (
            ({"position": 1e-9}, "'arm/shoulder' is"),
            ({"velocity": 1e-9}, "the velocity of"),
        ):
            strict = action.Goal(trajectory=trajectory(), path_tolerance=[tolerance(name="arm/shoulder", **limits)])
            ended = result_of(send(strict))
            assert ended.status == GoalStatus.STATUS_ABORTED
            assert ended.result.error_code == action.Result.PATH_TOLERANCE_VIOLATED
            assert ended.result.error_string.startswith(what)

        running = send(action.Goal(trajectory=trajectory(arm.now() + 30.0)))
        cancelled = running.cancel_goal_async()
        arm.ears.spin_until(cancelled.done, what="the cancellation")
        assert result_of(running).status == GoalStatus.STATUS_CANCELED

        assert not send(action.Goal(trajectory=trajectory(joint="arm/elbow"))).accepted
        arm.node.wait_for("INVALID_JOINTS")

        pushed, two = action.Goal(trajectory=trajectory()), action.Goal(trajectory=trajectory())
        pushed.trajectory.points[1].effort = [1.0]
        two.component_path_tolerance.append(importlib.import_module("control_msgs.msg").JointComponentTolerance())
        jerky = action.Goal(trajectory=trajectory(), goal_tolerance=[tolerance(name="arm/shoulder", acceleration=1.0)])
        for goal in (jerky, pushed, two):
            assert not send(goal).accepted


# Takes seconds: make test has commands of joints.
@pytest.mark.nightly
def test_the_script_of_the_docs_balances_the_pole(tmp_path: Path) -> None:
    """In slow motion, because the machine of the tests may be busy."""
    page = (Path(__file__).parents[2] / "docs" / "joints.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (world,) = re.findall(r"^```yaml\n(world: balanced\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for name, text in (("balance.py", script), ("balanced.yaml", world)):
        (tmp_path / name).write_text(text)
    command = sim_node("run", tmp_path / "balanced.yaml", "--paused", "--speed", "0.1")
    with (
        program([sys.executable, tmp_path / "balance.py"]) as balance,
        program(command) as node,
        listener() as ears,
    ):
        states = ears.subscribe(JointState, "/encoders/joint_states", ros_qos.qos_profile_sensor_data)

        def have_met() -> bool:
            topics = ("/encoders/joint_states", "/joint_commands")
            met = [(ears.node.count_publishers(topic), ears.node.count_subscribers(topic)) for topic in topics]
            return met == [(1, 2), (1, 1)]

        ears.spin_until(have_met, what=f"script and node on both topics\n{balance.output}\n{node.output}")
        ears.call(Trigger, "/simulation/resume", Trigger.Request())

        def is_upright() -> bool:
            if not states:
                return False
            message = states[-1][1]
            pole = list(message.name).index("pole")
            assert abs(message.position[pole]) < 0.5, "it fell"
            return stamp(message) > 2.0 and abs(message.position[pole]) < 0.02

        ears.spin_until(is_upright, what="the pole upright")
        assert node.stop() == 0, node.output
