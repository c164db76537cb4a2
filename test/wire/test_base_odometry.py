"""Odometry of bases as ROS reads it: nav_msgs/Odometry, and /tf with odom between the fixed frame and the base."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from nav_msgs.msg import Odometry
from nightly import only
from rclpy.serialization import deserialize_message
from tf2_msgs.msg import TFMessage

from sim_node.messages.odometry import OdometrySink
from sim_node.messages.tf_sink import TfSink, serialised
from sim_node.messages.topic import Send, Topic
from sim_node.session.graph_names import clashes
from sim_node.simulation import Simulation
from sim_node.world import loads

WORLD = """
world: w
fixed_frame: world
time: {step: 0.01}
bodies:
  - name: r/base_link
    joint: {type: free, q: [3, 4, 0, 0, 0, 0.7071067811865476, 0.7071067811865476]}
    geometry: [{sphere: 0.1, mass: 1}]
bases:
  - {name: r, body: r/base_link, type: omni, wheel_radius: 0.1, base_radius: 0.2, drive: kinematic, transforms: KIND}
"""


class Kept:
    """An outlet that keeps the newest message of each topic."""

    def __init__(self) -> None:
        self.newest: dict[str, bytes] = {}

    def advertise(self, topic: Topic) -> Send:
        def send(time_ns: int, data: bytes) -> None:
            self.newest[topic.name] = data

        return send


def published(kind: str) -> tuple[Any, dict[tuple[str, str], Any]]:
    """The odometry and the transforms, by their ends, after a quarter of a circle of 1 m radius, to the left."""
    outlet, run = Kept(), Simulation(loads(WORLD.replace("KIND", kind)))
    sinks = OdometrySink(outlet, prefix="a/"), TfSink(serialised(outlet), prefix="a/")
    for sink in sinks:
        sink.open(run.world, run.frames)
    run.vehicles["r"].cmd_vel(0.5, 0.0, 0.5, timeout=0)
    run.run(math.pi)
    run.step(0)
    for sink in sinks:
        sink.write(run.snapshot("base/odometry"))
    odometry = deserialize_message(outlet.newest["a/r/odom"], Odometry)
    transforms = deserialize_message(outlet.newest["/tf"], TFMessage).transforms
    return odometry, {(each.header.frame_id, each.child_frame_id): each.transform for each in transforms}


def flat(transform: Any) -> list[float]:
    at, turn = transform.translation, transform.rotation
    return [at.x, at.y, 2 * math.atan2(turn.z, turn.w)]


TURNED = 0.5 * 3.14  # of whole steps


def test_odometry_is_in_odom_and_its_twist_in_the_base() -> None:
    found, _ = published("odometry")
    assert (found.header.frame_id, found.child_frame_id) == ("a/r/odom", "a/r/base_link")
    assert found.header.stamp.sec * 10**9 + found.header.stamp.nanosec == 3_140_000_000
    at, turn = found.pose.pose.position, found.pose.pose.orientation
    assert [at.x, at.y, at.z] == pytest.approx([math.sin(TURNED), 1 - math.cos(TURNED), 0.0])
    assert 2 * math.atan2(turn.z, turn.w) == pytest.approx(TURNED)
    assert found.twist.twist.linear.x == pytest.approx(0.5)
    assert found.twist.twist.angular.z == pytest.approx(0.5)
    pose, twist = (np.array(each.covariance).reshape(6, 6) for each in (found.pose, found.twist))
    assert pose[0, 0] == pose[1, 1] == pytest.approx(0.02**2 * 1.57)  # grows with the path
    assert min(np.linalg.eigvalsh(pose).min(), np.linalg.eigvalsh(twist).min()) > 0.0


@pytest.mark.parametrize(
    ("kind", "ends"),
    only(
        [
            ("localised", {("world", "a/r/odom"), ("a/r/odom", "a/r/base_link")}),
            ("odometry", {("a/r/odom", "a/r/base_link")}),
            ("truth", {("a/r/base_link", "a/r/odom"), ("world", "a/r/base_link")}),
        ],
        0,
    ),
)
def test_tf_has_the_tree_that_is_asked_for(kind: str, ends: set[tuple[str, str]]) -> None:
    _, found = published(kind)
    assert set(found) == ends
    if kind != "truth":
        step = flat(found["a/r/odom", "a/r/base_link"])
        assert step == pytest.approx([math.sin(TURNED), 1 - math.cos(TURNED), TURNED])
    if kind == "localised":  # its odometry began where the base was
        assert flat(found["world", "a/r/odom"]) == pytest.approx([3.0, 4.0, math.pi / 2])


def test_two_publishers_of_one_odometry_are_refused() -> None:
    text = WORLD.replace("KIND", "truth") + "sensors: [{name: R, type: ground_truth, parent: r/base_link}]"
    assert ["odometry of r" in str(each) for each in clashes(Simulation(loads(text)).world)] == [True]
