"""Meshes on bodies: volumes and moments of solids, hulls that touch, files that are only shown, faults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mujoco import MjModel

from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.world import World, WorldError, load

# A unit cube with a face left out, its corner at the origin.
OPEN_CUBE = (
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nv 0 0 1\nv 1 0 1\nv 0 1 1\nv 1 1 1\n"
    "f 1 3 4 2\nf 1 2 6 5\nf 2 4 8 6\nf 4 3 7 8\nf 3 1 5 7\n"
)
FALLING = "bodies: [{{name: b, joint: free, geometry: [{{mesh: {file}, mass: 6{more}}}]}}]"


def model_of(world: World) -> MjModel:
    (engine,) = Simulation(world).engines.values()
    assert isinstance(engine, RigidBodyEngine)
    return engine.model


def test_a_mesh_weighs_as_its_hull_scaled(write: Callable[..., Path]) -> None:
    """m (b^2 + c^2) / 12 about the centre, though a face is missing."""
    write(OPEN_CUBE, "cube.obj")
    model = model_of(load(write(FALLING.format(file="cube.obj", more=", scale: [1, 2, 3]"))))
    assert model.body("b").mass[0] == pytest.approx(6)
    np.testing.assert_allclose(model.body("b").ipos, [0.5, 1, 1.5], atol=1e-6)
    np.testing.assert_allclose(sorted(model.body("b").inertia), np.array([5, 10, 13]) / 2, rtol=1e-5)


def test_a_mesh_rests_on_the_ground_by_its_hull(write: Callable[..., Path]) -> None:
    write(OPEN_CUBE, "cube.obj")
    world = load(
        write(
            "physics: {integrator: implicitfast}\n"
            + FALLING.format(file="cube.obj", more="")[:-1]
            + ", {name: g, geometry: [{plane: true}]}]"
        )
    )
    simulation = Simulation(world)
    simulation.run(1.0)
    assert simulation.snapshot().poses[simulation.frames.index("b"), 2] == pytest.approx(0.0, abs=2e-3)


def test_a_glb_is_no_part_of_the_physics(write: Callable[..., Path]) -> None:
    write(b"glTF\2\0\0\0", "hull.glb")
    world = load(write("bodies: [{name: b, joint: px, geometry: [{mesh: hull.glb}, {sphere: 1, mass: 1}]}]"))
    assert world.bodies[0].geometry[0].is_shown_only
    assert model_of(world).ngeom == 1


@pytest.mark.parametrize(
    ("shape", "line"),
    [
        (
            "{mesh: cub.obj, mass: 1}",
            "w.yaml:1:38: bodies[0].geometry[0].mesh: no file 'cub.obj' beside w.yaml; did you mean cube.obj?",
        ),
        ("{mesh: ../x.obj}", "w.yaml:1:38: bodies[0].geometry[0].mesh: '../x.obj' is outside the world's folder"),
        ("{mesh: rubbish.stl}", "w.yaml:1:38: bodies[0].geometry[0].mesh: 'rubbish.stl': MuJoCo: stl_decoder"),
        ("{mesh: rubbish.glb}", "w.yaml:1:38: bodies[0].geometry[0].mesh: 'rubbish.glb' is not GLB"),
        (
            "{mesh: w.yaml}",
            "w.yaml:1:38: bodies[0].geometry[0].mesh: 'w.yaml' is not a supported mesh; allowed: .stl",
        ),
        ("{mesh: cube.obj, scale: 0}", "bodies[0].geometry[0].scale: found 0; a scale must be above zero"),
        ("{box: [1, 1, 1], scale: 2}", "bodies[0].geometry[0]: only meshes have a scale"),
    ],
)
def test_a_fault_is_reported_at_its_place(write: Callable[..., Path], shape: str, line: str) -> None:
    write(OPEN_CUBE, "cube.obj")
    write(b"rubbish", "rubbish.stl")
    write(b"rubbish", "rubbish.glb")
    with pytest.raises(WorldError) as error:
        load(write(f"bodies: [{{name: b, geometry: [{shape}]}}]"))
    assert line in str(error.value)
