"""Triggers of a world on the graph: what matches, what is sent, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs rclpy")

import rclpy
from geometry_msgs.msg import Pose
from hypothesis import given
from hypothesis import strategies as st
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Bool, Float32, Int32, Int32MultiArray
from waiting import until

from sim_node import loads
from sim_node.ros.message_triggers import matcher
from sim_node.ros.message_values import BadValue
from sim_node.ros.simulation import SimulationNode
from sim_node.world.triggers import TriggerMatch

WORLD = """
world: w
time: {step: 0.1}
bodies:
  - {name: ship, joint: free, geometry: [{sphere: 0.1, mass: 1}]}
  - {name: box, parent: ship, joint: frozen, geometry: [{sphere: 0.1, mass: 1}]}
triggers:
  - name: later
    topic: /in
    type: std_msgs/msg/Int32
    matches: [{field: data, value: "87"}]
    outputs: [{topic: /out, type: std_msgs/msg/Bool, message: "{data: true}"}]
    detach: [box]
    delay: 5.0
"""


# What gz-sim's test/integration/triggered_publisher.cc sends, and which of it triggers an output.
@pytest.mark.parametrize(
    ("match", "sent", "found"),
    [
        (TriggerMatch("{data: true}"), Bool(data=True), True),
        (TriggerMatch("{data: true}"), Bool(data=False), False),
        (TriggerMatch("{data: 0}", negated=True), Int32(data=0), False),
        (TriggerMatch("{data: 0}", negated=True), Int32(data=1), True),
        (TriggerMatch("{data: 0.5}", tolerance=0.15), Float32(data=0.4), True),
        (TriggerMatch("{data: 0.5}", tolerance=0.15), Float32(data=0.7), False),
        (TriggerMatch("{data: 0.1}"), Float32(data=0.1), True),
        (TriggerMatch("1", "data"), Int32MultiArray(data=[0, 1]), True),
        (TriggerMatch("2", "data"), Int32MultiArray(data=[0, 1]), False),
        (TriggerMatch("[1, 0]", "data"), Int32MultiArray(data=[0, 1]), True),
        (TriggerMatch("{data: [0, 1]}"), Int32MultiArray(data=[1, 0]), False),
    ],
)
def test_what_matches_in_gazebo_matches(match: TriggerMatch, sent: Any, found: bool) -> None:
    assert matcher(type(sent), match)(sent) is found


@given(z=st.floats(-1e6, 1e6), tolerance=st.floats(0.01, 10.0), wanted=st.floats(-1e6, 1e6))
def test_a_number_matches_within_the_tolerance_and_not_beyond(z: float, tolerance: float, wanted: float) -> None:
    pose = Pose()
    pose.position.z = z
    found = matcher(Pose, TriggerMatch(repr(wanted), "position.z", tolerance=tolerance))(pose)
    assert found is (abs(z - wanted) <= tolerance)


def test_a_field_that_does_not_exist_is_named() -> None:
    with pytest.raises(BadValue, match="no field 'positions'"):
        matcher(Pose, TriggerMatch("1", "positions.z"))


@pytest.fixture
def node(ros_domain: int) -> Iterator[SimulationNode]:
    rclpy.init()
    node = SimulationNode(loads(WORLD), {"start_paused": True, "simulation_interfaces": ""})
    yield node
    node.destroy_node()
    rclpy.shutdown()


def test_a_trigger_sends_and_detaches_after_its_delay_and_not_before(node: SimulationNode) -> None:
    node.loop.start()
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    received: list[int] = []
    loop, simulation = node.loop, node.loop.simulation
    node.create_subscription(Bool, "/out", lambda message: received.append(simulation.time_ns), 10)
    publisher = node.create_publisher(Int32, "/in", 10)

    def heard() -> bool:
        executor.spin_once(timeout_sec=0.01)
        return bool(publisher.get_subscription_count())

    until(heard, "the subscription of the trigger")
    publisher.publish(Int32(data=86))
    publisher.publish(Int32(data=87))

    def sent() -> bool:
        executor.spin_once(timeout_sec=0.01)
        loop.call(lambda: loop.step(1))
        return bool(received)

    until(sent, "the message")
    assert received[0] >= 5_000_000_000

    def detached() -> bool:
        executor.spin_once(timeout_sec=0.01)
        frames = simulation.frames
        return bool(frames.parents[frames.names.index("box")] == 0)

    until(detached, "that the box is detached")
    assert len(received) == 1
    executor.shutdown()
