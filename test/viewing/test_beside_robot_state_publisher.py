"""What a run leaves to robot_state_publisher: the links that it publishes by a description's joints, and no others."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

from sim_node.messages.tf_sink import TfSink
from sim_node.messages.topic import Topic
from sim_node.simulation import Simulation
from sim_node.viewing.robots import robots_of
from sim_node.viewing.urdf import UrdfWriter, described_rows
from sim_node.world import load, loads

MIXED = """
world: mixed
physics: {timestep: 0.002}
bodies:
  - {name: r/base, joint: free, geometry: [{box: [0.4, 0.4, 0.2], mass: 5}]}
  - {name: r/arm, parent: r/base, joint: ry, geometry: [{box: [0.1, 0.1, 0.4], mass: 1}]}
  - {name: r/lift, parent: r/arm, joint: pz, geometry: [{box: [0.1, 0.1, 0.1], mass: 1}]}
  - {name: r/ball, parent: r/lift, joint: spherical, geometry: [{sphere: 0.1, mass: 1}]}
frames:
  - {name: r/tool, parent: r/lift, pose: {position: [0, 0, 0.1]}}
"""


def published(simulation: Simulation, **how: Any) -> set[str]:
    """The children of all transforms on /tf and /tf_static."""
    children: set[str] = set()

    def advertise(topic: Topic) -> Any:
        def lay_out(parents: Sequence[str], below: Sequence[str]) -> Any:
            children.update(below)
            return lambda stamp_ns, poses: None

        return lay_out

    sink = TfSink(advertise, **how)
    sink.open(simulation.world, simulation.frames)
    sink.write(simulation.snapshot())
    return children


def moved_by_a_description(simulation: Simulation) -> set[str]:
    """The child links of all joints but floating ones, which robot_state_publisher does not publish."""
    writer = UrdfWriter(simulation.world, simulation.frames)
    found: set[str] = set()
    for robot in robots_of(simulation.world, simulation.frames):
        names = {robot.link(name): name for name in simulation.frames.names}
        for joint in ET.fromstring(writer.robot(robot)).iter("joint"):
            if joint.get("type") != "floating":
                child = joint.find("child")
                assert child is not None
                found.add(names[str(child.get("link"))])
    return found


def test_links_by_any_kind_of_joint() -> None:
    simulation = Simulation(loads(MIXED), sensors=False)
    everything, rest = published(simulation), published(simulation, left_out=described_rows)
    assert everything - rest == {"r/arm", "r/lift", "r/tool"} == moved_by_a_description(simulation)
    assert {"r/base", "r/ball"} <= rest


def test_an_arm_of_urdf() -> None:
    """Its sensors are not in the model's file: they stay on /tf."""
    simulation = Simulation(load("arm"), sensors=False)
    everything, rest = published(simulation), published(simulation, left_out=described_rows)
    assert everything - rest == moved_by_a_description(simulation)
    assert "arm/CAM_WRIST" in rest
    assert "arm/flange" not in rest
