"""A simulation node whose world changes, on a real graph: its publishers, subscriptions, transforms and diagnostics."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from changing import yard
from waiting import until

pytest.importorskip("tf2_msgs.msg", reason="needs rclpy and tf2_msgs")

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node, NodeNameNonExistentError
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from sensor_msgs.msg import Imu, JointState
from visualization_msgs.msg import MarkerArray

from sim_node.messages.topic import LATCHED
from sim_node.ros.participant import start_spinning
from sim_node.ros.publishers import profile
from sim_node.ros.simulation import SimulationNode
from sim_node.ros.tf2 import Buffer, TransformListener

COMMANDS = """
joint_commands: [{name: hands, joints: [arm], accept: [joint_state]}]
body_commands: [{body: load, duration: 0}]
"""


STREAM = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class Graph:
    """A running, paused simulation, and a node that listens to it."""

    def __init__(self, node: SimulationNode, listener: Node) -> None:
        self.node, self.listener, self.loop = node, listener, node.loop

    def names(self) -> set[str]:
        """The topics that the simulation publishes or subscribes to now, as others see it."""
        of = self.node.get_name(), self.node.get_namespace()
        try:
            found = self.listener.get_publisher_names_and_types_by_node(*of)
            found += self.listener.get_subscriber_names_and_types_by_node(*of)
        except NodeNameNonExistentError:  # not discovered yet
            return set()
        return {name for name, _ in found}

    def __str__(self) -> str:
        own = sorted(each.topic_name for each in (*self.node.publishers, *self.node.subscriptions))
        return f"the node has {own}; of {self.listener.get_node_names()}, it is seen with {sorted(self.names())}"

    def received(self, kind: Any, topic: str, qos: QoSProfile = STREAM) -> list[Any]:
        messages: list[Any] = []
        self.listener.create_subscription(kind, topic, messages.append, qos)
        return messages

    def step_until(self, done: Callable[[], Any]) -> None:
        def stepped() -> Any:
            self.loop.step(5)
            return done()

        until(stepped)


@pytest.fixture
def graph() -> Iterator[Graph]:
    rclpy.init()
    node = SimulationNode(yard(), {"start_paused": True, "publish_rate": 100.0})
    context = Context()
    rclpy.init(context=context)
    listener = rclpy.create_node("listener", context=context)
    executors = [SingleThreadedExecutor(), SingleThreadedExecutor(context=context)]
    stops = []
    for executor, each in zip(executors, (node, listener), strict=True):
        executor.add_node(each)
        stops.append(start_spinning(executor))
    node.loop.start()
    graph = Graph(node, listener)
    try:
        # Participants of one process may miss what changes while they discover each other.
        until(lambda: "/clock" in graph.names(), graph)
        yield graph
    finally:
        for stop in stops:
            stop()
        node.destroy_node()
        listener.destroy_node()
        rclpy.shutdown(context=context)
        rclpy.shutdown()


def test_topics_and_transforms_follow_and_a_subscriber_loses_nothing(graph: Graph) -> None:
    loop = graph.loop
    imu = graph.received(Imu, "/ball/imu/data_raw")
    markers = graph.received(MarkerArray, "/simulation/markers", profile(LATCHED))
    buffer = Buffer()
    listeners = [TransformListener(buffer, graph.listener, spin_thread=False)]
    graph.step_until(lambda: imu and buffer.can_transform("map", "ball", Time()))
    until(lambda: imu and imu[-1].header.stamp.nanosec // 10_000_000 == loop.simulation.steps % 100)
    first = len(imu)
    loop.change(yard("table", "table/IMU", "arm", "load on the ball", more=COMMANDS))
    added = {"/table/imu/data_raw", "/arm/robot_description", "/hands/joint_commands", "/load/wrench"}
    until(lambda: added <= graph.names(), graph)
    loop.step(20)
    until(lambda: len(imu) >= first + 20)
    stamps = [each.header.stamp.sec * 10**9 + each.header.stamp.nanosec for each in imu]
    assert set(np.diff(stamps)) == {10_000_000}, "none is lost"
    until(lambda: buffer.can_transform("ball", "load", Time()) and buffer.can_transform("map", "table", Time()))
    # Somebody who comes now gets all static frames from one message.
    late = Buffer()
    listeners.append(TransformListener(late, graph.listener, spin_thread=False))
    until(lambda: all(late.can_transform("map", frame, Time()) for frame in ("floor", "table")))
    until(lambda: len(markers) == 2)

    loop.change(yard("free load"))
    until(lambda: not added & graph.names(), graph)
    loop.step(20)
    until(lambda: len(markers) == 3)
    # Static transforms come on a topic of their own, perhaps later.
    until(
        lambda: (
            buffer.can_transform("map", "load", Time())
            and buffer.lookup_transform("map", "load", Time()).transform.translation.y == pytest.approx(5.0)
        )
    )
    assert "/ball/imu/data_raw" in graph.names()
    for each in listeners:
        each.unregister()


def test_commands_of_what_comes_and_stays_are_carried_out(graph: Graph) -> None:
    loop, simulation = graph.loop, graph.loop.simulation
    loop.change(yard("arm", "free load", more=COMMANDS))
    until(lambda: {"/hands/joint_commands", "/load/wrench"} <= graph.names(), graph)
    push = graph.listener.create_publisher(WrenchStamped, "/load/wrench", 10)
    until(lambda: push.get_subscription_count())
    message = WrenchStamped()
    message.wrench.force.x = 1.0
    push.publish(message)
    graph.step_until(lambda: simulation.bodies["load"].twist[0] > 0.0)
    # It goes on after a change elsewhere: 1 N on 0.1 kg.
    loop.change(yard("arm", "free load", "table", more=COMMANDS))
    before = loop.call(lambda: float(simulation.bodies["load"].twist[0]))
    loop.step(10)
    after = loop.call(lambda: float(simulation.bodies["load"].twist[0]))
    assert after - before == pytest.approx(10.0 * 0.1)
    turn = graph.listener.create_publisher(JointState, "/hands/joint_commands", 10)
    until(lambda: turn.get_subscription_count())
    turn.publish(JointState(name=["arm"], effort=[1.0]))
    graph.step_until(lambda: abs(loop.call(lambda: float(simulation.joints["arm"].velocity[0]))) > 1e-3)


def test_a_topic_that_cannot_exist_is_refused_and_the_run_goes_on(graph: Graph) -> None:
    diagnostics = graph.received(DiagnosticArray, "/diagnostics", QoSProfile(depth=10))
    frames = graph.loop.simulation.frames
    with pytest.raises(ValueError, match="fixed_frame"):
        graph.loop.change(yard(more="fixed_frame: elsewhere"))
    assert graph.loop.simulation.frames is frames
    until(lambda: diagnostics)


# Takes seconds: make test has commands of what comes and goes.
@pytest.mark.nightly
def test_changes_leave_no_publishers_subscriptions_or_threads(graph: Graph) -> None:
    worlds = [yard("table", "table/IMU", "arm", "free load", more=COMMANDS), yard()]

    def sizes() -> tuple[int, ...]:
        gc.collect()
        node = graph.node
        lists = (node.publishers, node.subscriptions, node.waitables, node.guards, node.timers)
        return (*(len(list(each)) for each in lists), threading.active_count())

    for world in worlds:
        graph.loop.change(world)
    until(lambda: "/load/wrench" not in graph.names() and "/table/imu/data_raw" not in graph.names())
    before = sizes()
    for number in range(10):
        graph.loop.change(worlds[number % 2])
    until(lambda: sizes() == before)
