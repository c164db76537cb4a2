"""Bridges beside a simulation: they come and go with the vehicles of the world that the run has."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from functools import partial

import pytest

pytest.importorskip("rclpy", reason="needs rclpy")

import rclpy
from claims import free_instance
from rclpy.executors import SingleThreadedExecutor
from waiting import PATIENCE

from sim_node import loads
from sim_node.ros.simulation import SimulationNode

FLOWN = """\
world: one
origin: {{latitude: 47, longitude: 8, altitude: 500}}
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.002}}
vehicles: [{{name: one, model: iris, autopilot: {{type: mavlink_builtin, instance: {instance}}}}}]
"""


@pytest.fixture
def instance() -> int:
    return free_instance()


@pytest.fixture
def node(ros_domain: int, instance: int) -> Iterator[SimulationNode]:
    rclpy.init()
    node = SimulationNode(loads(FLOWN.format(instance=instance)), {"simulation_interfaces": ""})
    yield node
    node.loop.stop()
    node.destroy_node()
    rclpy.shutdown()


def test_the_first_bridge_ends_with_the_last_of_its_vehicles(node: SimulationNode, instance: int) -> None:
    """Its port is free then, for another vehicle."""
    executor = SingleThreadedExecutor()
    ended: list[str] = []
    for each in (node, *node.beside):
        executor.add_node(each)
        each.loop.start(ended=partial(ended.append, each.get_name()))
    (first,) = node.beside
    assert first.get_name() == "bridge"
    ask = node.session.requests.ask

    assert ask("unload") == "unloaded the world"
    for _ in range(int(PATIENCE / 0.05)):
        if not node.beside:
            break
        executor.spin_once(timeout_sec=0.05)
    assert node.beside == ()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 14540 + instance))
    names = {name for name, _ in node.get_node_names_and_namespaces()}
    assert not any(name.startswith("bridge") for name in names)
    assert ended == [], "that would end the program"
    executor.shutdown()
