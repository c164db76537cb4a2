"""Surfaces, materials and solver options in world files: located errors, and the way through the writer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sim_node.world import Body, Geometry, Physics, World, WorldError, lay_out, load
from sim_node.world.declared import holder_of
from sim_node.world.surfaces import COMBINE, CONES, FLAGS, SOLVERS, Material, Surface
from sim_node.world.writers.yaml import to_yaml


def test_every_key_is_read(read: Callable[..., World], write: Callable[..., Path]) -> None:
    Path("t.png").parent.mkdir(exist_ok=True)
    Image.new("RGB", (4, 4), (255, 0, 0)).save("t.png")
    world = read(
        """
        physics: {cone: elliptic, impratio: 5, solver: cg, iterations: 50, flags: {warmstart: false}}
        bodies:
          - name: a
            geometry:
              - {plane: true, friction: 0.7, material: {texture: t.png, texture_size: 2, roughness: 0.9}}
              - {sphere: 1, friction: {torsional: 0.01, rolling: 0.002}, restitution: 0.5, contact_time: 0.1}
              - {sphere: 1, layer: robot, touches: [robot, default], only: collision}
              - {sphere: 1, only: visual, color: [1, 0, 0]}
        """
    )
    physics = world.physics
    assert (physics.cone, physics.impratio, physics.solver, physics.iterations) == ("elliptic", 5.0, "cg", 50)
    assert physics.flags == {"warmstart": False}
    plane, ball, robot, drawn = world.bodies[0].geometry
    assert plane.surface == Surface(sliding=0.7)
    assert plane.material is not None
    assert plane.material == Material(plane.material.texture, 2.0, 0.9)
    assert plane.material.texture is not None
    assert plane.material.texture.name == "t.png"
    assert ball.surface == Surface(torsional=0.01, rolling=0.002, restitution=0.5, contact_time=0.1)
    assert (robot.surface, robot.only) == (Surface(layer="robot", touches=("robot", "default")), "collision")
    assert (drawn.surface, drawn.material, drawn.only) == (None, None, "visual")


FAULTS = [
    ("friction: -1", "friction: -1 is out of range; allowed: 0 to 100"),
    ("friction: {slidng: 1}", "friction.slidng: unknown key; did you mean sliding?"),
    ("friction: {}", "friction: is empty; allowed: a number, or sliding, torsional, rolling"),
    ("friction: {rolling: -1}", "friction.rolling: -1 is out of range; allowed: 0 to 100"),
    ("restitution: 1", "restitution: 1 is out of range; allowed: 0 to 0.95"),
    ("restitution: 0.5, contact_time: 5", "contact_time: 5 is out of range; allowed: 0.0001 to 1"),
    ("contact_time: 0.1", "contact_time: has no effect without restitution"),
    ("layer: 7", "layer: a text is needed, found the number 7; write it in quotes"),
    ("layer: robot, touches: [robto]", "touches: no shape is in the layer 'robto'; did you mean robot? (layers: "),
    ("touches: robot", "touches: a list is needed, found 'robot'"),
    ("only: visul", "only: found 'visul'; allowed: visual, collision; did you mean visual?"),
    ("only: visual, friction: 1", "friction: a shape that is only shown makes no contact; leave out friction"),
    ("only: visual, layer: a", "layer: a shape that is only shown makes no contact; leave out layer"),
    ("only: visual, touches: []", "touches: a shape that is only shown makes no contact; leave out touches"),
    ("only: visual, mass: 1", "mass: a shape that is only shown has no mass"),
    ("only: collision, color: [1, 0, 0]", "color: a shape with `only: collision` is not drawn; leave out color"),
    ("only: collision, material: {roughness: 1}", "material: a shape with `only: collision` is not drawn"),
    ("material: {rougness: 1}", "material.rougness: unknown key; did you mean roughness?"),
    ("material: {roughness: 2}", "material.roughness: 2 is out of range; allowed: 0 to 1"),
    ("material: {texture_size: 2}", "material.texture_size: needs a texture"),
    ("material: {texture: wall.png}", "material.texture: no file 'wall.png' beside w.yaml; did you mean walls.png?"),
    ("material: {texture: ../x.png}", "material.texture: '../x.png' is outside the world's folder"),
    ("material: {texture: w.yaml}", "material.texture: 'w.yaml' is not a supported image; allowed: .png, .jpg, .jpeg"),
    ("material: {texture: rubbish.png}", "material.texture: 'rubbish.png' cannot be read: "),
    ("material: {texture: cut.jpg}", "material.texture: 'cut.jpg' cannot be read: image file is truncated"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "message"), FAULTS)
def test_each_fault_has_its_place(
    keys: str, message: str, layout_faults: Callable[..., list[str]], write: Callable[..., Path]
) -> None:
    write(b"no image", "rubbish.png")
    Image.new("RGB", (4, 4)).save("walls.png")
    Image.effect_noise((64, 64), 50).save("whole.jpg")
    write(Path("whole.jpg").read_bytes()[:-200], "cut.jpg")
    first, *_ = layout_faults(f"bodies:\n  - name: a\n    geometry:\n      - {{sphere: 1, {keys}}}\n")
    place, _, text = first.partition(": bodies[0].")
    assert place.startswith("w.yaml:")
    assert message in text


def test_the_place_of_a_timestep_that_is_too_large_is_the_restitution(layout_faults: Callable[..., list[str]]) -> None:
    (message,) = layout_faults("bodies: [{name: a, geometry: [{sphere: 1, restitution: 0.8, contact_time: 0.01}]}]")
    assert message.startswith("w.yaml:1:56: bodies[0].geometry[0].restitution: 0.8 needs timesteps of at most")
    assert "with rk4, found 0.001 s; the largest that divides the world's step is physics.timestep: 0.0005" in message


def test_more_than_31_layers_are_refused_at_the_last(layout_faults: Callable[..., list[str]]) -> None:
    shapes = "".join(f"      - {{sphere: 1, layer: l{k}, touches: [l{k}]}}\n" for k in range(31))
    (message,) = layout_faults(f"bodies:\n  - name: a\n    geometry:\n{shapes}")
    assert message.startswith("w.yaml:34:28: bodies[0].geometry[30].layer: the world has 32 groups of shapes")
    assert "allowed: 31" in message


PHYSICS_FAULTS = [
    ("cone: elipic", "physics.cone: found 'elipic'; allowed: pyramidal, elliptic; did you mean elliptic?"),
    ("impratio: 0", "physics.impratio: 0 is out of range; allowed: 0.001 to 1e+06"),
    ("iterations: 1.5", "physics.iterations: a whole number is needed, found 1.5"),
    ("iterations: 0", "physics.iterations: 0 is out of range; allowed: 1 to 100000"),
    ("flags: {contact: false}", "physics.flags.contact: unknown key (known: equality, frictionloss"),
    ("flags: {multicd: true}", "physics.flags.multicd: unknown key; did you mean multiccd?"),
    ("flags: {island: 3}", "physics.flags.island: found '3'; allowed: true"),
]


@pytest.mark.parametrize(("keys", "message"), PHYSICS_FAULTS)
def test_each_fault_of_the_solver_has_its_place(
    keys: str, message: str, layout_faults: Callable[..., list[str]]
) -> None:
    first, *_ = layout_faults(f"physics: {{{keys}}}\n")
    assert first.startswith("w.yaml:1:")
    assert message in first


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (Geometry("sphere", np.ones(1), surface=Surface(sliding=-1.0)), "geometry[0].friction.sliding: -1 is out of"),
        (Geometry("sphere", np.ones(1), surface=Surface(restitution=2.0)), "geometry[0].restitution: 2 is out of"),
        (Geometry("sphere", np.ones(1), only="drawn"), "geometry[0].only: found 'drawn'; allowed: visual, collision"),
        (Geometry("sphere", np.ones(1), material=Material(roughness=7.0)), "geometry[0].material.roughness: 7 is out"),
    ],
)
def test_shapes_made_in_python_are_checked(shape: Geometry, message: str) -> None:
    with pytest.raises(WorldError) as refused:
        lay_out(World("w", bodies=(Body("a", "map", geometry=(shape,)),)))
    assert message in str(refused.value)


def numbers(key: str) -> st.SearchStrategy[float]:
    holds: Any = holder_of(Material if key == "roughness" else Surface, key)
    return st.floats(holds.low, holds.high)


NAMES = st.sampled_from(["default", "robot", "ground", "7", "true", "a b"])
SURFACES = st.builds(
    Surface,
    *(st.none() | numbers(key) for key in ("sliding", "torsional", "rolling")),
    # At 1 ms.
    st.none() | st.floats(0.7, 0.8),
    st.just(0.02) | st.floats(0.05, 1.0),
    NAMES,
    st.none() | st.lists(st.sampled_from(["default", "robot"]), max_size=2).map(tuple),
    combine=st.sampled_from(COMBINE),
).filter(lambda surface: surface.restitution is not None or surface.contact_time == 0.02)
MATERIALS = st.builds(Material, st.none(), st.just(1.0), numbers("roughness"))
SHAPES = st.builds(
    lambda surface, material, only: Geometry(
        "sphere",
        np.ones(1),
        surface=None if only == "visual" or surface == Surface() else surface,
        material=None if only == "collision" else material,
        only=only,
    ),
    st.none() | SURFACES,
    st.none() | MATERIALS,
    st.sampled_from(["", "visual", "collision"]),
)
PHYSICS = st.builds(
    lambda cone, impratio, solver, iterations, flags: Physics(
        cone=cone, impratio=impratio, solver=solver, iterations=iterations, flags=flags, integrator="euler"
    ),
    st.none() | st.sampled_from(CONES),
    st.none() | st.floats(0.001, 1e6),
    st.none() | st.sampled_from(SOLVERS),
    st.none() | st.integers(1, 100_000),
    st.dictionaries(st.sampled_from(FLAGS), st.booleans()),
)


@given(st.lists(SHAPES, min_size=1, max_size=4), PHYSICS)
def test_any_surface_reads_back(
    tmp_path_factory: pytest.TempPathFactory, shapes: list[Geometry], physics: Physics
) -> None:
    here = Geometry("sphere", np.ones(1), surface=Surface(layer="robot"))
    world = World("w", bodies=(Body("a", "map", geometry=(here, *shapes)),), physics=physics)
    path = tmp_path_factory.mktemp("w") / "w.yaml"
    path.write_text(to_yaml(world), encoding="utf-8")
    assert load(path) == world


def test_numbers_of_surfaces_have_key_paths(read: Callable[..., World]) -> None:
    world = read(
        "bodies: [{name: a, geometry: [{sphere: 1, friction: {sliding: 0.5, rolling: 0.1}, restitution: 0.8}]}]"
    )
    assert world.at("bodies[a].geometry[0].friction.rolling") == 0.1
    changed = world.with_values({"bodies[a].geometry[0].friction.sliding": 0.6, "physics.impratio": 3})
    assert changed.bodies[0].geometry[0].surface == Surface(sliding=0.6, rolling=0.1, restitution=0.8)
    assert changed.physics.impratio == 3.0
