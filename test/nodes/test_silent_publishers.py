"""Every command topic of a run whose publisher falls silent, or stamps its commands by another clock."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from waiting import until

pytest.importorskip("tf2_msgs.msg", reason="needs rclpy and tf2_msgs")

import rclpy
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped, WrenchStamped
from rcl_interfaces.msg import Log
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sim_node.ros.participant import start_spinning
from sim_node.ros.simulation import SimulationNode
from sim_node.simulation import Simulation
from sim_node.world.load import loads

WORLD = """
world: silence
time: {step: 0.01}
physics: {integrator: implicitfast, gravity: [0, 0, 0]}
bodies:
  - {name: box, joint: free, inertial: {mass: 2, inertia: [0.1, 0.1, 0.1]}}
  - {name: quad, joint: free, pose: {position: [0, 9, 9]}, inertial: {mass: 2, inertia: [0.02, 0.02, 0.04]}}
  - {name: amr/base_link, joint: free, pose: {position: [0, -9, 0]}, geometry: [{sphere: 0.2, mass: 3}]}
  - {name: arm/p, joint: rx, pose: {position: [9, 0, 0]}, inertial: {mass: 1, inertia: [1, 1, 1]}}
  - {name: arm/v, joint: rx, pose: {position: [9, 9, 0]}, inertial: {mass: 1, inertia: [1, 1, 1]}}
  - {name: arm/e, joint: {type: rx, damping: 9}, pose: {position: [9, 18, 0]}, inertial: {mass: 1, inertia: [1, 1, 1]}}
  - {name: winch, joint: rx, pose: {position: [9, 27, 0]}, inertial: {mass: 1, inertia: [1, 1, 1]}}
actuators:
  - {joint: arm/p, kp: 400, kv: 40}
  - {joint: arm/v, type: velocity, kv: 20}
  - {joint: arm/e, type: effort}
  - {joint: winch, type: velocity, kv: 20}
vehicles:
  - name: drone
    body: quad
    rotor: {thrust_coefficient: 1.0e-5, moment_coefficient: 0.02, max_speed: 1500}
    rotors:
      - {position: [0.2, -0.2, 0], spin: ccw}
      - {position: [-0.2, 0.2, 0], spin: ccw}
      - {position: [0.2, 0.2, 0], spin: cw}
      - {position: [-0.2, -0.2, 0], spin: cw}
bases:
  - {name: amr, body: amr/base_link, type: differential, wheel_radius: 0.1, track: 0.4, drive: kinematic}
body_commands: [{body: box}]
vehicle_commands: [{vehicle: drone}]
joint_commands: [{name: arm, accept: [joint_state, float64, trajectory]}]
signals: [{name: winch/speed, of: winch, quantity: target, input: true}]
"""
# Simulated time (1.2 s) after which what does not hold has ended: the time-outs are 0.5 s, and a base brakes.
LONG_STEPS = 120
QUIET = {"publish_rate": 1.0, "markers": False, "paths": False, "robot_descriptions": False}
DOCS = Path(__file__).parents[2] / "docs" / "commands.md"


class Case(NamedTuple):
    """A command on a topic: what acts of it, and what is left of it in the end, by the documentation."""

    message: Any
    acts: Callable[[Simulation], float]
    # At first; None for what changes all the time.
    active: float | None
    silent: float
    # What has to be published beside it, by topic.
    beside: tuple[tuple[str, Any], ...] = ()


def wrench() -> WrenchStamped:
    message = WrenchStamped()
    message.wrench.force.x = 3.0
    return message


def twist(kind: Any) -> Any:
    message = kind()
    (message.twist if kind is TwistStamped else message).linear.x = 0.5
    return message


def level() -> PoseStamped:
    message = PoseStamped()
    message.pose.orientation.w = 1.0
    return message


def trajectory() -> JointTrajectory:
    """Ends after 1 s: later than any time-out."""
    point = JointTrajectoryPoint(positions=[0.7])
    point.time_from_start.sec = 1
    return JointTrajectory(joint_names=["arm/p"], points=[point])


def motors(simulation: Simulation) -> float:
    return float(simulation.vehicles["drone"].command.mean())


def speed(simulation: Simulation) -> float:
    return float(simulation.vehicles["amr"].twist[0])


@cache
def target(joint: str, kind: str) -> Callable[[Simulation], float]:
    return lambda simulation: float(simulation.joints[joint].targets[kind])


ATTITUDE, THRUST = "/drone/setpoint_attitude/attitude", "/drone/setpoint_attitude/thrust"
HALF = Float64(data=0.25)
ARM = "/arm/joint_commands"
CASES: dict[str, Case] = {
    "/box/wrench": Case(wrench(), lambda run: float(run.bodies["box"].wrench[0]), 3.0, 0.0),
    "/drone/command/motor_speed": Case(Float64MultiArray(data=[750.0] * 4), motors, 0.5, 0.0),
    ATTITUDE: Case(level(), motors, 0.5, 0.0, ((THRUST, HALF),)),
    THRUST: Case(HALF, motors, 0.5, 0.0, ((ATTITUDE, level()),)),
    "/amr/cmd_vel": Case(twist(Twist), speed, 0.5, 0.0),
    "/amr/cmd_vel_stamped": Case(twist(TwistStamped), speed, 0.5, 0.0),
    ARM: Case(JointState(name=["arm/v"], velocity=[0.3]), target("arm/v", "velocity"), 0.3, 0.0),
    f"{ARM} position": Case(JointState(name=["arm/p"], position=[0.3]), target("arm/p", "position"), 0.3, 0.3),
    f"{ARM} effort": Case(JointState(name=["arm/e"], effort=[0.3]), target("arm/e", "effort"), 0.3, 0.0),
    "/arm/p/cmd_pos": Case(Float64(data=0.4), target("arm/p", "position"), 0.4, 0.4),
    "/arm/v/cmd_vel": Case(Float64(data=0.4), target("arm/v", "velocity"), 0.4, 0.0),
    "/arm/e/cmd_effort": Case(Float64(data=0.4), target("arm/e", "effort"), 0.4, 0.0),
    "/arm/joint_trajectory": Case(trajectory(), target("arm/p", "position"), None, 0.7),
    "/winch/speed": Case(Float64(data=0.6), target("winch", "velocity"), 0.6, 0.6),
}
# Actions have goals, and clients that wait for their results.
ACTIONS = {"/arm/follow_joint_trajectory"}


class Graph:
    """A paused simulation in this process, and a node that commands it."""

    def __init__(self, node: SimulationNode, other: Node) -> None:
        self.node, self.other, self.loop = node, other, node.loop
        self.log: list[str] = []
        other.create_subscription(Log, "/rosout", lambda message: self.log.append(message.msg), 100)
        self._publishers: dict[str, Any] = {}

    def publish(self, topic: str, message: Any) -> None:
        if topic not in self._publishers:
            self._publishers[topic] = publisher = self.other.create_publisher(type(message), topic, 10)
            until(publisher.get_subscription_count, f"the subscription to {topic}")
        self._publishers[topic].publish(message)

    def acts(self, case: Case) -> float:
        return self.loop.call(lambda: case.acts(self.loop.simulation))

    def command(self, name: str) -> None:
        """Publish a command until it acts: discovery takes its time."""
        case, topic = CASES[name], name.split()[0]
        before = self.acts(case)

        def acting() -> bool:
            for other, message in case.beside:
                self.publish(other, message)
            self.publish(topic, case.message)
            self.loop.step(1)
            return self.acts(case) != pytest.approx(before, abs=1e-6)

        until(acting, f"{name} to act")
        assert case.active is None or self.acts(case) == pytest.approx(case.active, rel=1e-3)


@pytest.fixture
def graph() -> Iterator[Graph]:
    rclpy.init()
    node = SimulationNode(loads(WORLD), {"start_paused": True, **QUIET})
    context = Context()
    rclpy.init(context=context)
    other = rclpy.create_node("planner", context=context)
    executors = [SingleThreadedExecutor(), SingleThreadedExecutor(context=context)]
    stops = []
    for executor, each in zip(executors, (node, other), strict=True):
        executor.add_node(each)
        stops.append(start_spinning(executor))
    node.loop.start()
    try:
        yield Graph(node, other)
    finally:
        for stop in stops:
            stop()
        node.destroy_node()
        other.destroy_node()
        rclpy.shutdown(context=context)
        rclpy.shutdown()


def absolute(graph: Graph) -> set[str]:
    return {graph.node.resolve_topic_name(topic) for topic in graph.node._commands.topics}


def test_what_each_topic_does_when_its_publisher_falls_silent(graph: Graph) -> None:
    """As the documentation has it: a topic that is not in its table, or not here, fails."""
    topics = absolute(graph) - ACTIONS
    assert topics == {name.split()[0] for name in CASES}
    text = DOCS.read_text(encoding="utf-8").partition("## When a publisher falls silent")[2]
    rows = [
        re.findall(r"`([A-Z]+(?:/[a-z_/]+)?)`", line.split("|")[1]) for line in text.splitlines() if line[:3] == "| `"
    ]
    documented = [name for row in rows for name in row]
    for topic in topics | ACTIONS:
        last = [name for name in documented if "/" in name and topic.endswith(name[name.index("/") :])]
        assert last or topic == "/winch/speed", f"{topic} is not in the table"
    left = dict(CASES)
    while left:  # those together that command different things
        together = {case.acts: name for name, case in left.items()}
        for name in together.values():
            graph.command(name)
        graph.loop.step(LONG_STEPS)
        for name in together.values():
            case = left.pop(name)
            assert graph.acts(case) == pytest.approx(case.silent, abs=1e-9), name


def test_half_of_an_attitude_is_not_kept_alive_by_the_other(graph: Graph) -> None:
    """First it does not act at all; then it ends, although thrusts, or attitudes, go on."""
    case, message = CASES[ATTITUDE], level()

    def refused() -> bool:
        graph.publish(ATTITUDE, message)
        return any("attitude without thrust" in line for line in graph.log)

    until(refused, "a refusal")
    graph.loop.step(1)
    assert graph.acts(case) == 0.0
    for topic, half in ((ATTITUDE, message), (THRUST, HALF)):
        graph.command(ATTITUDE)

        def ended(topic: str = topic, half: Any = half) -> bool:
            graph.publish(topic, half)
            graph.loop.step(1)
            return graph.acts(case) == 0.0

        until(ended, f"the end, while {topic} goes on")
        graph.loop.step(LONG_STEPS)


@pytest.mark.parametrize("clock", ["old", "wall"])
def test_stamps_of_another_clock_are_refused_aloud(graph: Graph, clock: str) -> None:
    graph.loop.step(400)
    stamped = {name: case for name, case in CASES.items() if hasattr(case.message, "header") and " " not in name}
    assert len(stamped) == 5
    for topic, case in stamped.items():
        message = type(case.message)()
        for field in message.get_fields_and_field_types():
            setattr(message, field, getattr(case.message, field))
        message.header.stamp.sec = 1 if clock == "old" else int(time.time())
        is_start = isinstance(message, JointTrajectory)
        words = ("it ends in the past" if clock == "old" else "it starts in") if is_start else "its stamp is"
        for other, half in case.beside:
            graph.publish(other, half)

        def refused(topic: str = topic, message: Any = message, words: str = words) -> bool:
            graph.publish(topic, message)
            return any(line.startswith(f"{topic.lstrip('/')}: a command is refused: {words}") for line in graph.log)

        until(refused, f"a refusal of {topic}")
        graph.loop.step(1)
        assert graph.acts(case) == 0.0
        message.header.stamp.sec = 0  # it means now

    for name in stamped:
        graph.command(name)
