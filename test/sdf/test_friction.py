"""Friction of SDF where surfaces of two kinds touch: Coulomb's law with the coefficients that DART takes."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from PIL import Image

from sim_node.simulation import Simulation
from sim_node.simulation.physics.rigid_bodies import RigidBodyEngine
from sim_node.world import WorldWarning, load, loads
from sim_node.world.model import World

G = 9.8
BALL = "<geometry><sphere><radius>0.1</radius></sphere></geometry>"
INERTIAL = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
PLANE = "<geometry><plane/></geometry>"


def surface(mu: float | None, more: str = "") -> str:
    return "" if mu is None else f"<surface><friction><ode><mu>{mu}</mu></ode></friction>{more}</surface>"


def model(name: str, shape: str, own: str = "", *, at: str = "0 0 0", static: bool = False) -> str:
    return (
        f'<model name="{name}"><pose>{at} 0 0 0</pose><static>{static:d}</static><link name="l">{INERTIAL}'
        f'<collision name="c">{shape}{own}</collision></link></model>'
    )


def world(*models: str, gravity: str = f"0 0 {-G}") -> World:
    return loads(
        f'<sdf version="1.9"><world name="w"><gravity>{gravity}</gravity>{"".join(models)}</world></sdf>', ".sdf"
    )


@pytest.mark.parametrize(
    ("ground", "box", "expected"),
    [(0.3, 0.6, 0.3), (0.6, 0.3, 0.3), (None, 0.4, 0.4), (0.4, None, 0.4), (0.2, 100000, 0.2), (0, 0.5, 0)],
)
def test_a_box_slides_down_a_slope_by_the_smaller_coefficient(
    ground: float | None, box: float | None, expected: float
) -> None:
    """Of 30 degrees: the impulses along and across it are in the ratio of the coefficient."""
    along, across = G * np.sin(np.pi / 6.0), G * np.cos(np.pi / 6.0)
    flat = "<geometry><box><size>0.4 0.4 0.02</size></box></geometry>"
    models = model("g", PLANE, surface(ground), static=True), model("m", flat, surface(box), at="0 0 0.01")
    run = Simulation(world(*models, gravity=f"{along} 0 {-across}"))
    run.run(0.2)
    before = run.bodies["m/l"].twist[:3]
    run.run(0.5)
    gained = run.bodies["m/l"].twist[:3] - before
    assert (0.5 * along - gained[0]) / (0.5 * across + gained[2]) == pytest.approx(expected, rel=2e-3, abs=1e-4)


def test_a_surface_without_friction_has_a_coefficient_of_1() -> None:
    """A wheel with much friction spins on a ground that says nothing as on one with 1."""
    spins = []
    for ground in (None, 1.0):
        run = Simulation(
            world(model("g", PLANE, surface(ground), static=True), model("m", BALL, surface(5), at="0 0 0.1"))
        )
        run.bodies["m/l"].twist = [0.0, 0.0, 0.0, 0.0, 50.0, 0.0]
        run.run(0.2)
        spins.append(run.bodies["m/l"].twist)
    np.testing.assert_array_equal(spins[0], spins[1])
    # Sliding friction alone accelerates it.
    assert spins[0][0] == pytest.approx(0.2 * G + spins[0][2], rel=2e-3)


def test_nothing_bounces_on_a_ground_without_restitution() -> None:
    """DART multiplies them; here, contacts of two that bounce have the product."""
    bouncing = surface(0.5, "<bounce><restitution_coefficient>0.9</restitution_coefficient></bounce>")
    rests = []
    for own in (surface(0.5), bouncing):
        run = Simulation(world(model("g", PLANE, surface(0.7), static=True), model("m", BALL, own, at="0 0 1.1")))
        run.run(1.0)
        rests.append(run.bodies["m/l"].pose[2])
    assert rests[0] == rests[1] == pytest.approx(0.1, abs=0.01)


def test_models_in_world_files_leave_other_bodies_as_they_are(tmp_path: Path) -> None:
    """Bodies of world files take the larger coefficient among themselves, and the smaller one with a model of SDF."""
    (tmp_path / "m.sdf").write_text(f'<sdf version="1.9">{model("m", BALL, surface(0.5))}</sdf>')
    text = (
        "world: w\ntime: {step: 0.001}\nphysics: {integrator: implicitfast}\n"
        "ground: {friction: 0.3, restitution: 0.5}\nbodies:\n"
        "- {name: a, joint: {type: free, q: [0, 0, 0.2, 0, 0, 0, 1], qd: [3, 1, 0, 5, 0, 9]}, geometry: "
        "[{box: [0.2, 0.2, 0.2], mass: 1, friction: {sliding: 0.7, torsional: 0.01}}]}\n"
    )
    runs, include = [], "include: [{file: m.sdf, pose: {position: [0, 5, 0.0999]}}]\n"
    for each in ("", include):
        (tmp_path / "w.yaml").write_text(text + each)
        runs.append(Simulation(load(tmp_path / "w.yaml")))
        runs[-1].run(1.0)
    alone, together = (run.bodies["a"] for run in runs)
    np.testing.assert_allclose(together.pose, alone.pose, rtol=0, atol=1e-9)  # one solver has both
    (engine,) = runs[1].engines.values()
    assert isinstance(engine, RigidBodyEngine)
    own = engine.model.body("m/l").id
    friction = [
        float(contact.friction[0]) for contact in engine.data.contact if own in engine.model.geom_bodyid[contact.geom]
    ]
    assert friction == [0.3]


def test_the_ground_of_a_heightmap_has_friction(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((9, 9), dtype=np.uint8)).save(tmp_path / "h.png")
    field = "<geometry><heightmap><uri>h.png</uri><size>20 20 1</size></heightmap></geometry>"
    both = "<surface><friction><ode><mu>0.2</mu><mu2>0.1</mu2></ode></friction></surface>"
    models = model("g", field, both, static=True), model("m", BALL, surface(0.6), at="0 0 0.099")
    path = tmp_path / "w.sdf"
    path.write_text(f'<sdf version="1.9"><world name="w">{"".join(models)}</world></sdf>')
    with pytest.warns(WorldWarning, match="the ground has the friction of mu in all directions here"):
        (engine,) = Simulation(load(path)).engines.values()
    assert isinstance(engine, RigidBodyEngine)
    mujoco.mj_forward(engine.model, engine.data)
    assert {float(contact.friction[0]) for contact in engine.data.contact} == {0.2}
