"""The states of commanded joints on topics: which joints, when, and their numbers against the closed form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from sim_node.messages.joint_state_sink import JointStateSink, joint_state_topics, stated_groups
from sim_node.messages.topic import Send, Topic
from sim_node.simulation import Simulation
from sim_node.simulation.physics.joint_states import JOINT_STATE
from sim_node.world import loads

STORE = get_typestore(Stores.ROS2_JAZZY)
WORLD = """
world: arm
time: {{step: 0.002}}
physics: {{gravity: [0, 0, 0], contact: false}}
bodies:
  - {{name: arm/base, geometry: [{{box: [0.1, 0.1, 0.1]}}]}}
  - {{name: arm/slide, parent: arm/base, joint: px, geometry: [{{box: [0.1, 0.1, 0.1], mass: 2}}]}}
  - name: arm/loose
    parent: arm/base
    joint: {{type: rz, q: 0.25, qd: -1.5}}
    geometry: [{{box: [0.1, 0.1, 0.1], mass: 1}}]
  - {{name: other, joint: rx, geometry: [{{box: [0.1, 0.1, 0.1], mass: 1}}]}}
actuators:
  - {{joint: arm/slide, type: effort, target: 3}}
  - {{joint: other, kp: 10}}
joint_commands:
  - {{name: arm{more}}}
"""


@dataclass
class Heard:
    """An outlet that keeps what it is sent."""

    messages: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)

    def advertise(self, topic: Topic) -> Send:
        heard = self.messages.setdefault(topic.name, [])
        return lambda stamp_ns, data: heard.append((stamp_ns, STORE.deserialize_cdr(data, topic.type)))


def world(more: str = "", sensors: str = "") -> Any:
    return loads(WORLD.format(more=more) + sensors)


def run(described: Any, steps: int, then: Callable[[Simulation], None] = lambda simulation: None) -> Heard:
    heard = Heard()
    simulation = Simulation(described)
    sink = JointStateSink(heard)
    sink.open(simulation.world, simulation.frames)
    for _ in range(steps):
        sink.write(simulation.present())
        simulation.step()
    then(simulation)
    sink.write(simulation.present())
    return heard


def test_all_joints_below_the_name_with_position_velocity_and_effort() -> None:
    heard = run(world(), 100)
    assert heard.messages.keys() == {"arm/joint_states"}
    stamp_ns, last = heard.messages["arm/joint_states"][-1]
    time = stamp_ns * 1e-9
    assert time == pytest.approx(0.2)
    assert last.name == ["arm/slide", "arm/loose"], "other is not below arm"
    acceleration = 3.0 / 2.0
    assert last.position == pytest.approx([acceleration * time**2 / 2.0, 0.25 - 1.5 * time], abs=1e-6)
    assert last.velocity == pytest.approx([acceleration * time, -1.5], abs=1e-9)
    assert last.effort == pytest.approx([3.0, 0.0])


@pytest.mark.parametrize("rate", [100.0, 50.0, 500.0, 30.0])
def test_as_often_as_the_group_says(rate: float) -> None:
    """A message in each period of a second of 500 steps."""
    stamps = [stamp for stamp, _ in run(world(f", states: {rate}"), 500).messages["arm/joint_states"]]
    assert len(stamps) == rate + 1
    assert all(math.floor(stamp * rate / 1e9) == period for period, stamp in enumerate(stamps))


def test_a_reset_is_published_at_once() -> None:
    heard = run(world(), 3, lambda simulation: simulation.reset())
    (first, start), (again, state) = heard.messages["arm/joint_states"]
    assert first == again == 0
    np.testing.assert_array_equal(start.position, state.position)


def test_a_named_group_has_its_joints_alone() -> None:
    [(_, joints)] = stated_groups(world(", joints: [arm/slide]"))
    assert joints == ("arm/slide",)


def test_none_where_a_sensor_measures_a_joint_or_the_rate_is_zero() -> None:
    assert [topic.name for topic in joint_state_topics(world())] == ["arm/joint_states"]
    assert joint_state_topics(world(", states: 0")) == []
    sensor = "sensors:\n  - {name: arm/STATE, parent: arm/base, type: joint_states, joints: [slide]}\n"
    assert joint_state_topics(world(sensors=sensor)) == []
    elsewhere = "sensors:\n  - {name: STATE, parent: other, type: joint_states}\n"
    assert len(joint_state_topics(world(sensors=elsewhere))) == 1


def test_the_column_has_a_row_for_each_joint() -> None:
    simulation = Simulation(world())
    column = simulation.columns.column(JOINT_STATE)
    assert column.entities == ("arm/slide", "arm/loose", "other")
    assert simulation.columns[JOINT_STATE][1, :2].tolist() == [0.25, -1.5]


def test_the_base_on_the_page_drives_as_diff_drive_controller_computes() -> None:
    """v = r (left + right) / 2 and w = r (right - left) / separation, by the numbers of the page."""
    page = (Path(__file__).parents[2] / "docs" / "joints.md").read_text(encoding="utf-8")
    text = re.search(r"```yaml\n(world: cart\n.*?)```", page, re.DOTALL)
    numbers = {key: re.search(rf"{key}: ([\d.]+)", page) for key in ("wheel_separation", "wheel_radius")}
    assert text
    separation, radius = (float(found[1]) for found in numbers.values() if found)
    simulation = Simulation(loads(text[1]))
    cart, left, right = simulation.bodies["cart"], simulation.joints["cart/left"], simulation.joints["cart/right"]
    left.target = right.target = 5.0
    simulation.run(1.0)
    before = cart.pose.copy()
    simulation.run(1.0)
    assert (cart.pose - before)[:2] == pytest.approx([5.0 * radius, 0.0], abs=0.005)
    left.target, right.target = -2.0, 2.0
    simulation.run(1.0)
    first = Rotation.from_quat(cart.pose[3:])
    simulation.run(1.0)
    turn = (first.inv() * Rotation.from_quat(cart.pose[3:])).as_rotvec()
    assert turn == pytest.approx([0.0, 0.0, 4.0 * radius / separation], abs=0.01)
