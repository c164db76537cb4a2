"""Actuators: where they hold a load and how they swing it, by the equations of a driven oscillator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim_node.simulation import Simulation
from sim_node.world import Actuator, World, WorldError, WorldWarning, lay_out, load
from sim_node.world.bodies import Body
from sim_node.world.shapes import Inertial

MASS = Inertial(2.0, np.eye(3))


def slider(*actuators: Actuator, **physics: Any) -> World:
    return World("w", bodies=(Body("cart", "map", "px", inertial=MASS),), actuators=actuators)


def position(simulation: Simulation) -> float:
    return float(simulation.snapshot().poses[simulation.frames.index("cart"), 0])


def test_an_actuator_settles_where_its_stiffness_carries_the_load() -> None:
    """Upright: m g / k below the target."""
    world = World(
        "w", bodies=(Body("cart", "map", "pz", inertial=MASS),), actuators=(Actuator("cart", 400.0, 80.0, target=1.0),)
    )
    simulation = Simulation(world)
    simulation.run(8.0)
    height = simulation.snapshot().poses[simulation.frames.index("cart"), 2]
    assert height == pytest.approx(1.0 - 2.0 * 9.81 / 400.0, abs=1e-9)


def test_a_swinging_target_actuators_an_oscillator() -> None:
    """Steady state of m x'' = k (a sin wt - x) - c x': Landau and Lifshitz, Mechanics, section 26."""
    stiffness, damping, rate = 50.0, 8.0, 2 * np.pi / 1.5
    simulation = Simulation(slider(Actuator("cart", stiffness, damping, amplitude=0.3, period=1.5)))
    simulation.run(15.0)
    found = []
    for _ in range(150):
        simulation.step()
        found.append(position(simulation))
    response = 0.3 * stiffness / (stiffness - 2.0 * rate**2 + 1j * damping * rate)
    t = 15.0 + 0.01 * np.arange(1, 151)
    # The target is held for a timestep of 1 ms: half of one late.
    np.testing.assert_allclose(found, np.imag(response * np.exp(1j * rate * (t - 0.0005))), atol=1e-5)


def test_an_actuator_gives_no_more_than_its_force() -> None:
    """From rest with 3 N on 2 kg: a t^2 / 2."""
    simulation = Simulation(slider(Actuator("cart", 1e4, force=3.0, target=100.0)))
    simulation.run(1.0)
    assert position(simulation) == pytest.approx(0.5 * 1.5, abs=1e-9)


def test_steps_one_by_one_are_steps_at_once_and_states_go_back() -> None:
    once = Simulation(slider(Actuator("cart", 50.0, 1.0, amplitude=0.3)))
    one_by_one = Simulation(once.world)
    state = once.state
    once.step(50)
    for _ in range(50):
        one_by_one.step()
    assert position(once) == position(one_by_one)
    once.restore(state)
    once.step(50)
    assert position(once) == position(one_by_one)


@pytest.mark.parametrize(
    ("actuators", "message"),
    [
        ((Actuator("cat", 1.0),), "'cat' is no joint for an actuator; did you mean cart"),
        ((Actuator("cart", 1.0), Actuator("cart", 2.0)), "a second actuator of 'cart'"),
        ((Actuator("cart", -1.0),), r"actuators\[cart\]\.stiffness: -1 is out of range; allowed: 0 to 1e"),
        ((Actuator("cart", 1.0, period=0.0),), r"actuators\[cart\]\.period: 0 is out of range; allowed: 1e-06 to"),
        ((Actuator("cart", 1.0, type="velocity"),), "a velocity actuator has no stiffness"),
        ((Actuator("cart", type="velocity"),), "a velocity actuator needs a damping above 0"),
        ((Actuator("cart", type="effort", damping=1.0),), "an effort actuator has no damping"),
        ((Actuator("cart", 1.0, speed=0.0),), r"\.speed: 0 is out of range"),
        ((Actuator("cart", type="effrt"),), "found 'effrt'; allowed: position, velocity, effort"),
    ],
)
def test_actuators_made_in_python_are_checked(actuators: Sequence[Actuator], message: str) -> None:
    with pytest.raises(WorldError, match=message):
        lay_out(slider(*actuators))


def test_a_fault_of_a_file_is_reported_at_its_place(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("actuators:\n  - {joint: a, stifness: 1}\n  - {joint: b, stiffness: 1, period: 0}\n")
    with pytest.raises(WorldError) as error:
        load(path)
    assert "w.yaml:2:16: actuators[0].stifness: unknown key; did you mean stiffness?" in str(error.value)
    assert "w.yaml:3:38: actuators[1].period: 0 is out of range" in str(error.value)


def test_the_key_drives_is_still_read(tmp_path: Path) -> None:
    bodies = "bodies: [{name: cart, joint: px, geometry: [{sphere: 0.1, mass: 1}]}]\n"
    entry = "  - {joint: cart, stiffness: 5, target: 0.2}\n"
    for key in ("actuators", "drives"):
        (tmp_path / f"{key}.yaml").write_text(f"{bodies}{key}:\n{entry}")
    now, before = (load(tmp_path / f"{key}.yaml") for key in ("actuators", "drives"))
    assert now.actuators == before.actuators == (Actuator("cart", 5.0, target=0.2),)


URDF = """\
<robot name="slide"><link name="base"/>
  <link name="cart"><inertial>
    <mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="x" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-9" upper="9" effort="1000" velocity="{velocity}"/></joint>
</robot>
"""


@pytest.mark.parametrize(
    ("entry", "reached"),
    [
        ("type: velocity, damping: 500, target: 3", 0.5),
        ("type: velocity, damping: 500, target: 3, implicit: true", 0.5),
        ("type: velocity, damping: 500, target: 3, speed: 0.2", 0.2),
        ("type: velocity, damping: 500, target: 3, speed: 2", 0.5),
        ("type: velocity, damping: 500, target: -0.3", -0.3),
        ("type: position, stiffness: 5000, damping: 200, target: 5", 0.5),
    ],
)
def test_no_actuator_commands_a_joint_of_a_urdf_faster_than_its_limit(
    tmp_path: Path, entry: str, reached: float
) -> None:
    """URDF's limit velocity: the maximum joint velocity. The joint limiter of ros2_control clips commands to it."""
    (tmp_path / "slide.urdf").write_text(URDF.format(velocity=0.5), encoding="utf-8")
    path = tmp_path / "world.yaml"
    path.write_text(
        f"include: [{{file: slide.urdf, prefix: r}}]\nactuators: [{{joint: r/x, {entry}}}]\n", encoding="utf-8"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = Simulation(load(path))
    run.run(2.0)
    assert run.joints["r/x"].velocity[0] == pytest.approx(reached, rel=1e-3)


def test_a_limit_of_velocity_that_is_none_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "slide.urdf"
    path.write_text(URDF.format(velocity=0), encoding="utf-8")
    with pytest.warns(WorldWarning, match=r"slide.urdf:5:\d+: limit.velocity: has no effect here"):
        load(path)
