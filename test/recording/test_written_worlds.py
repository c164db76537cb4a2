"""Worlds made in Python, recorded with their bags."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from recorded_runs import sinks_into

from sim_node.recording.changes import recorded_worlds
from sim_node.recording.opening import open_bag
from sim_node.recording.recorder import Recorder
from sim_node.recording.settings import RecordingSettings
from sim_node.recording.worlds import Attached, attachments_of, custom_data
from sim_node.simulation import Loop, Simulation
from sim_node.world import (
    Body,
    Geometry,
    Ground,
    Heightmap,
    Inertial,
    Material,
    StaticFrame,
    World,
    WorldWarning,
    load,
)
from sim_node.world.bodies import Marker

CUBE = (
    "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1)) + "f 1 2 4\nf 1 3 4\nf 5 6 8\nf 1 5 6\n"
)


def recorded(world: World, folder: Path) -> tuple[Attached, ...]:
    simulation = Simulation(world)
    attached = attachments_of(world, 0, False)
    made = Recorder(folder, RecordingSettings(spare_bytes=0), attached, custom_data(world, 0), warn=pytest.fail)
    sinks = sinks_into(made)
    loop = Loop(simulation, sinks, real_time_factor=0.0, paused=True)
    loop.start()
    loop.step(3)
    loop.stop()
    return attached


def test_a_world_made_in_python_is_loaded_from_its_bag(tmp_path: Path) -> None:
    """With a mesh, and a model whose meshes stand in a folder of its own."""
    for folder in ("a", "b/meshes"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "cube.obj").write_text(CUBE)
    shape = '<collision><geometry><mesh filename="meshes/cube.obj"/></geometry></collision>'
    (tmp_path / "b" / "r.urdf").write_text(f'<robot name="r"><link name="base">{shape}</link></robot>')
    (tmp_path / "w.yaml").write_text("include: [{file: b/r.urdf, prefix: r}]")
    cube = Geometry("mesh", np.ones(3), mass=1.0, file=tmp_path / "a" / "cube.obj")
    ball = Body("ball", "map", "free", inertial=Inertial(0.5, 0.001 * np.eye(3)))
    world = World(
        "../yard",
        bodies=(ball, Body("cube", "map", "free", q=np.array([0.0, 0, 9, 0, 0, 0, 1]), geometry=(cube,))),
        models=load(tmp_path / "w.yaml").models,
    )
    attached = recorded(world, tmp_path / "bag")
    assert [each.name for each in attached] == [
        *("run.json", "world/_yard.yaml", "world/0/cube.obj", "world/1/r.urdf", "world/1/meshes/cube.obj"),
    ]
    with open_bag(tmp_path / "bag") as bag, recorded_worlds(bag) as worlds:
        again = worlds[0]
        assert again is not None
        assert again.name == "../yard"
        assert again.bodies[0] == ball
        geometry = again.bodies[1].geometry[0]
        assert geometry.file is not None
        assert geometry.file.read_text() == CUBE
        assert geometry == replace(cube, file=geometry.file)
        (model,), (expected,) = again.models, world.models
        assert (model.prefix, model.links, model.source) == (expected.prefix, expected.links, expected.source)


def test_images_and_arrays_of_a_world_made_in_python_are_in_its_bag(tmp_path: Path) -> None:
    np.save(tmp_path / "hills.npy", np.arange(6.0).reshape(2, 3))
    Image.new("RGB", (4, 4), (9, 8, 7)).save(tmp_path / "wall.png")
    hills = Heightmap(np.array([3.0, 2.0]), file=tmp_path / "hills.npy")
    box = Geometry("box", np.ones(3), material=Material(tmp_path / "wall.png", roughness=0.3))
    world = World("yard", ground=Ground(heightmap=hills), bodies=(Body("box", "map", geometry=(box,)),))
    attached = recorded(world, tmp_path / "bag")
    assert {"world/0/wall.png", "world/1/hills.npy"} < {each.name for each in attached}
    with open_bag(tmp_path / "bag") as bag, recorded_worlds(bag) as worlds:
        again = worlds[0]
        assert again is not None
        heightmap: Any = again.ground.heightmap
        np.testing.assert_array_equal(heightmap.grid(), np.arange(6.0).reshape(2, 3))
        material: Any = again.bodies[0].geometry[0].material
        assert material.texture.read_bytes() == (tmp_path / "wall.png").read_bytes()


def test_a_world_with_other_values_is_recorded_as_it_is(tmp_path: Path) -> None:
    world = load("buoys").with_values({"bodies[buoy].inertial.mass": 30.0})
    recorded(world, tmp_path / "bag")
    with open_bag(tmp_path / "bag") as bag, recorded_worlds(bag) as worlds:
        again = worlds[0]
        assert again == world


def test_a_world_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    world = World(
        "w",
        bodies=(Body("b", "map", marker=Marker("omc", 1)),),
        frames=(StaticFrame("a", "b", np.array([0.0] * 6 + [1.0])),),
    )
    with pytest.warns(
        WorldWarning, match=r"world 'w' is not recorded: bodies\[0\]\.marker: a world file cannot express marker"
    ):
        (about,) = attachments_of(world, 0, False)
    assert json.loads(about.data)["unwritten"] == ["bodies[0].marker: a world file cannot express marker"]
