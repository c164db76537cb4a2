"""Numbers that are written into a compiled model, beside models that are compiled for them."""

from __future__ import annotations

from functools import cache
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from key_paths import numbers_of
from nightly import only

from sim_node import Simulation, World, WorldError, load, loads
from sim_node.extensions.sweep.in_place import SECTIONS, Writer, find_in_place

LIFT = """\
world: lift
bodies:
  - {name: floor, geometry: [{plane: true, friction: 0.7}]}
  - name: box
    joint: {type: free, qd: [1, 0, 0, 0.1, 0, 0]}
    pose: {position: [0, 0, 0.2]}
    inertial: {mass: 2.0, inertia: [0.1, 0.2, 0.25]}
    geometry: [{box: [0.2, 0.2, 0.2], friction: 0.4}]
  - name: arm
    pose: {position: [2, 0, 1]}
    joint: {type: ry, damping: 0.2, armature: 0.03, spring_stiff: 3.0, spring_zero: 0.1, friction_loss: 0.05}
    geometry: [{cylinder: [0.03, 0.8], mass: 0.6}, {sphere: 0.1, mass: 0.3, pose: {position: [0, 0, 0.4]}}]
actuators:
  - {joint: arm, type: position, stiffness: 20.0, damping: 1.5, target: 0.3}
"""
SHIPPED = ("cart_pole", "all_joints")
# What must be written in place: masses, gains, friction, and the initial state.
MUST = (
    "bodies[box].inertial.mass",
    "bodies[arm].geometry[0].mass",
    "bodies[arm].geometry[1].mass",
    "bodies[floor].geometry[0].friction",
    "bodies[box].geometry[0].friction",
    "bodies[arm].joint.damping",
    "bodies[arm].joint.armature",
    "bodies[arm].joint.spring_stiff",
    "bodies[arm].joint.friction_loss",
    "bodies[box].joint.qd[0]",
    "actuators[arm].stiffness",
    "actuators[arm].damping",
)


@cache
def world_of(name: str) -> World:
    return loads(LIFT) if name == "lift" else load(name)


@cache
def paths_of(name: str) -> list[str]:
    return [path for path in numbers_of(world_of(name)) if path.partition("[")[0].partition(".")[0] in SECTIONS]


def model_bytes(simulation: Simulation) -> bytes:
    """The whole model as MuJoCo itself saves it."""
    model: Any = simulation.engines["rigid_bodies"].model  # type: ignore[attr-defined]
    buffer = np.zeros(mujoco.mj_sizeModel(model), dtype=np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


def assert_same(world: World, samples: dict[str, list[float]], values: dict[str, float]) -> bool:
    """Whether the numbers are written in place; fails if the result differs from a fresh compile."""
    where = find_in_place(world, samples)
    if where is None:
        return False
    compiled, written = Simulation(world.with_values(values), sensors=False), Simulation(world, sensors=False)
    writer = Writer(written, where)
    writer.write({path: max(each) for path, each in samples.items()})  # what was written before leaves no trace
    writer.write(values)
    assert model_bytes(compiled) == model_bytes(written)
    for simulation in (compiled, written):
        simulation.reset(3)
        simulation.step(20)
    assert compiled.state == written.state
    assert compiled.snapshot().poses.tobytes() == written.snapshot().poses.tobytes()
    return True


# Takes seconds: make test has masses, gains and friction, each against a fresh compile.
@pytest.mark.nightly
@given(st.data())
# Not shrunk: each example compiles a dozen models.
@settings(max_examples=6, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
def test_numbers_written_in_place_equal_a_fresh_compile_to_the_bit(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from((*SHIPPED, "lift")))
    world = world_of(name)
    chosen = data.draw(st.lists(st.sampled_from(paths_of(name)), min_size=1, max_size=2, unique=True))
    samples, values = {}, {}
    for path in chosen:
        base = float(world.at(path))
        low, high = sorted((base * 0.7, base * 1.3)) if base else (-0.01, 0.02)
        samples[path] = [low, high]
        values[path] = data.draw(st.floats(low, high))
    try:
        for at in (min, max):
            Simulation(world.with_values({path: at(each) for path, each in samples.items()}), sensors=False)
    except WorldError:
        assume(False)
    assert_same(world, samples, values)


@pytest.mark.parametrize("some", only([(MUST[:6],), (MUST[6:],)], 0), ids=["masses and friction", "joints and gains"])
def test_masses_gains_and_friction_are_written_in_place(some: tuple[str, ...]) -> None:
    world = loads(LIFT)
    samples = {path: [0.8 * float(world.at(path)), 1.1 * float(world.at(path))] for path in some}
    assert assert_same(world, samples, {path: 0.93 * float(world.at(path)) for path in some})


@pytest.mark.parametrize(
    ("name", "path", "values"),
    [
        ("cart_pole", "bodies[pole].pose.position[2]", [0.05, 0.1]),  # moves a mounting
        ("cart_pole", "bodies[pole].geometry[0].cylinder[1]", [0.5, 1.0]),  # changes mass and inertia
        ("cart_pole", "time.step", [0.01, 0.02]),
        ("buoys", "bodies[0].geometry[0].mass", [1.0, 2.0]),  # force elements read it
    ],
)
def test_other_numbers_are_compiled(name: str, path: str, values: list[float]) -> None:
    assert find_in_place(load(name), {path: values}) is None
