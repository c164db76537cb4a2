"""Positions that are set from outside: what is coupled with them follows at once, or they are refused by name."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sim_node.simulation import Simulation
from sim_node.world import Body, Inertial, Mimic, Physics, Transmission, World, WorldError, load

FINGER = """<inertial><mass value="0.1"/>
  <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>"""
GRIPPER = f"""<robot name="gripper"><link name="hand"/>
  <link name="left">{FINGER}</link><link name="right">{FINGER}</link>
  <joint name="left_joint" type="prismatic"><parent link="hand"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="10" velocity="1"/></joint>
  <joint name="right_joint" type="prismatic"><parent link="hand"/><child link="right"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.04" effort="10" velocity="1"/><mimic joint="left_joint"/></joint></robot>"""
PARABOLA = """<mujoco><option gravity="0 0 0"/><worldbody>
    <body name="a"><joint name="a" type="slide"/><geom size=".1"/></body>
    <body name="b"><joint name="b" type="slide"/><geom size=".1"/></body></worldbody>
  <equality><joint joint1="b" joint2="a" polycoef="0.1 2 0.5 0 0"/></equality>
  <keyframe><key name="up" qpos="0.2 0.52"/></keyframe></mujoco>"""
PINNED = """<mujoco><option gravity="0 0 0"/><worldbody>
    <body name="a"><freejoint/><geom size=".1" pos="0.5 0 0"/></body>
    <body name="b" pos="1 0 0"><freejoint/><geom size=".1"/></body></worldbody>
  <equality><weld body1="a" body2="b"/><connect name="pin" body1="a" anchor="0 0 0"/></equality></mujoco>"""


@pytest.fixture
def model(tmp_path: Path) -> Any:
    def made(text: str, start: str = "") -> World:
        name = "model.urdf" if text.startswith("<robot") else "model.xml"
        (tmp_path / name).write_text(text, encoding="utf-8")
        world = tmp_path / "world.yaml"
        world.write_text(f"physics: {{gravity: [0, 0, 0]}}\ninclude:\n  - {{file: {name}{start}}}\n", encoding="utf-8")
        return load(world)

    return made


@pytest.mark.parametrize("joint", ["left_joint", "right_joint"])
def test_fingers_of_a_gripper_move_together(model: Any, joint: str) -> None:
    """By either of them, and for good: 0.03, not the mean with where the other one was."""
    run = Simulation(model(GRIPPER))
    run.joints[joint].position = 0.03
    assert run.joints.positions == pytest.approx([0.03, 0.03], abs=1e-9)
    run.run(0.2)
    assert run.joints.positions == pytest.approx([0.03, 0.03], abs=1e-9)
    run.reset()
    assert run.joints.positions == pytest.approx([0.0, 0.0])


def test_positions_that_contradict_a_mimic_are_refused_by_name_and_change_nothing(model: Any) -> None:
    run = Simulation(model(GRIPPER))
    run.joints.positions = [0.02, 0.02]
    with pytest.raises(ValueError, match=r"by 0\.02 m or rad: 'right_joint' with 'left_joint'"):
        run.joints.positions = [0.01, 0.03]
    with pytest.raises(ValueError, match="'right_joint' with 'left_joint'"):
        run.set_joint_positions({"left_joint": 0.01, "right_joint": 0.03})
    assert run.joints.positions == pytest.approx([0.02, 0.02], abs=1e-12)
    # What a load displaces a mimic by is read and set again as it is.
    run.joints.positions = [0.02, 0.0201]
    assert run.joints.positions == pytest.approx([0.02, 0.0201], abs=1e-12)


@pytest.mark.parametrize("start", [", q: {left_joint: 0.03}", ", q: {right_joint: 0.03}"])
def test_initial_positions_of_a_model_are_those_of_what_follows_too(model: Any, start: str) -> None:
    run = Simulation(model(GRIPPER, start))
    assert run.joints.positions == pytest.approx([0.03, 0.03], abs=1e-9)
    run.run(0.1)
    run.reset()
    assert run.joints.positions == pytest.approx([0.03, 0.03], abs=1e-9)
    frames = run.frames
    assert frames.in_root(run.snapshot().poses)[frames.index("right"), 1] == pytest.approx(-0.03, abs=1e-9)


def test_initial_positions_that_contradict_a_mimic_are_refused_where_they_stand(model: Any) -> None:
    with pytest.raises(WorldError, match=r"world.yaml:3:\d+: include\[0\].q: .*'right_joint' with 'left_joint'"):
        model(GRIPPER, ", q: {left_joint: 0.01, right_joint: 0.03}")


@pytest.mark.parametrize("start", [", q: {a: 0.4}", ", keyframe: up, q: {a: 0.4}"])
def test_what_follows_by_a_polynomial_starts_on_it(model: Any, start: str) -> None:
    world = model(PARABOLA, start)
    assert Simulation(world).joints.positions == pytest.approx([0.4, 0.1 + 0.8 + 0.08], abs=1e-9)
    # A number of the world that is set later counts, and not what followed from the one before.
    changed = world.with_values({"include[0].q.a": 0.2})
    assert Simulation(changed).joints.positions == pytest.approx([0.2, 0.52], abs=1e-9)


def test_a_polynomial_is_inverted_or_has_no_solution(model: Any) -> None:
    """b = 0.1 + 2 a + a^2 / 2 is -1.9 or more."""
    run = Simulation(model(PARABOLA))
    run.joints["b"].position = 0.52
    assert run.joints.positions == pytest.approx([0.2, 0.52], abs=1e-9)
    with pytest.raises(ValueError, match="'b' with 'a'"):
        run.joints["b"].position = -3.0
    assert run.joints.positions == pytest.approx([0.2, 0.52], abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(multiplier=st.floats(-3.0, 3.0), offset=st.floats(-1.0, 1.0), position=st.floats(-2.0, 2.0))
def test_chains_of_mimics_and_gears_follow(multiplier: float, offset: float, position: float) -> None:
    """c = m a + o, d = -c, and a gear holds a - 3 e at its initial value 0."""
    assume(abs(multiplier) > 0.01)
    inertial = Inertial(1.0, np.eye(3))
    bodies = (
        Body("a", "map", "rz", inertial=inertial),
        Body("c", "map", "rz", inertial=inertial, q=np.array([offset]), mimic=Mimic("a", multiplier, offset)),
        Body("d", "map", "rz", inertial=inertial, q=np.array([-offset]), mimic=Mimic("c", -1.0)),
        Body("e", "map", "rz", inertial=inertial),
        Body("free", "map", "rz", inertial=inertial),
    )
    gear = Transmission("gear", (("a", 1.0), ("e", -3.0)))
    run = Simulation(World("w", bodies=bodies, transmissions=(gear,), physics=Physics(gravity=np.zeros(3))))
    along = multiplier * position + offset
    expected = [position, along, -along, position / 3.0, 0.0]
    for joint, value in zip("acde", expected, strict=False):
        run.reset()
        run.joints[joint].position = value
        assert run.joints.positions == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("angle", [1.7, 3.5, 6.0, 12.0])
def test_a_four_bar_linkage_follows_its_crank(angle: float) -> None:
    """The pins of crank (0.1 m) and rocker (0.25 m, 0.32 m away) stay a coupler (0.3 m) apart, on the same branch."""
    run = Simulation("four_bar")
    run.joints["linkage/crank"].position = angle
    crank, elbow, rocker = run.joints.positions
    assert crank == pytest.approx(angle, abs=1e-15)
    first = 0.1 * np.exp(1j * crank)
    second = 0.32 + 0.25 * np.exp(1j * rocker)
    assert abs(second - first) == pytest.approx(0.3, abs=1e-8)
    assert second == pytest.approx(first + 0.3 * np.exp(1j * (crank + elbow)), abs=1e-8)
    assert math.sin(rocker) > 0.0


def test_the_output_of_a_linkage_has_positions_that_it_cannot_reach() -> None:
    run = Simulation("four_bar")
    before = run.joints.positions
    with pytest.raises(ValueError, match="'linkage/closing'"):
        run.joints["linkage/rocker"].position = 0.3
    assert run.joints.positions == pytest.approx(before, abs=0.0)


def test_what_is_welded_to_a_body_goes_with_it_unless_it_is_held(model: Any) -> None:
    free = PINNED.replace('<connect name="pin" body1="a" anchor="0 0 0"/>', "")
    run = Simulation(model(free))
    run.bodies["a"].pose = [0, 0, 2, 0, 0, math.sqrt(0.5), math.sqrt(0.5)]
    assert run.bodies["b"].pose == pytest.approx([0, 1, 2, 0, 0, math.sqrt(0.5), math.sqrt(0.5)], abs=1e-8)
    held = Simulation(model(PINNED))
    with pytest.raises(ValueError, match="'pin'"):
        held.bodies["a"].pose = [0, 0, 2, 0, 0, 0, 1]
    assert held.bodies["a"].pose == pytest.approx([0, 0, 0, 0, 0, 0, 1], abs=1e-12)
