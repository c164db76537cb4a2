"""Every command topic of a run: a message of it, what acts of that, and what is left once its publisher is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from subprocess import Popen
from typing import Any, NamedTuple

import pytest
import rclpy
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped, WrenchStamped
from publishing import Publication, publisher
from rcl_interfaces.msg import Log
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from waiting import until

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

    def publications(self, names: Sequence[str]) -> list[Publication]:
        """What a process of its own publishes of these cases."""
        halves = [half for name in names for half in CASES[name].beside]
        return [*halves, *((name.split()[0], CASES[name].message) for name in names)]

    def until_all_act(self, names: Sequence[str]) -> None:
        """Commanded from elsewhere."""
        before = {name: self.acts(CASES[name]) for name in names}
        left = set(names)

        def acting() -> bool:
            self.loop.step(1)
            for name in tuple(left):
                active, value = CASES[name].active, self.acts(CASES[name])
                if value != before[name] if active is None else value == pytest.approx(active, rel=1e-3):
                    left.discard(name)
            return not left

        until(acting, f"{left} to act")

    def until_all_have_ended(self, names: Sequence[str]) -> None:
        """Well before DDS misses a publisher that was killed, which takes it 20 s."""

        def ended() -> bool:
            self.loop.step(LONG_STEPS)
            return all(self.acts(CASES[name]) == pytest.approx(CASES[name].silent, abs=1e-9) for name in names)

        until(ended, f"the end of {names}", patience=10.0)


def interrupt(graph: Graph, cut: Callable[[Popen[bytes]], None], mend: Callable[[Popen[bytes]], None]) -> None:
    """Cut off a publisher of each case, and let it go on: its commands end, and act again. Then it is killed."""
    for names in together():
        with publisher(graph.publications(names)) as process:
            graph.until_all_act(names)
            cut(process)
            graph.until_all_have_ended(names)
            mend(process)
            graph.until_all_act([name for name in names if CASES[name].silent == 0.0])
            process.kill()
            graph.until_all_have_ended(names)


def together() -> Iterator[list[str]]:
    """Names of cases that command different things, until there was each."""
    left = dict(CASES)
    while left:
        names = list({case.acts: name for name, case in left.items()}.values())
        yield names
        for name in names:
            del left[name]


@contextmanager
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
