"""Actors: where they are, what is drawn of them, and what is said of the rest."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from sim_node import Simulation
from sim_node.world import World, load
from sim_node.world.problems import WorldError, WorldWarning

WALK = (
    '<script><trajectory id="0" type="walk"><waypoint><time>0</time><pose>0 0 0 0 0 0</pose></waypoint>'
    "<waypoint><time>2</time><pose>4 0 0 0 0 0</pose></waypoint></trajectory></script>"
)
HAT = (
    '<link name="hat"><pose>0 0 1.8 0 0 0</pose><visual name="v"><pose>0 0 0.1 0 0 0</pose><geometry>'
    "<cylinder><radius>0.2</radius><length>0.3</length></cylinder></geometry></visual>{}</link>"
)
SKIN = "<skin><filename>walk.dae</filename><scale>{}</scale></skin>"
# One triangle, which is bound to a joint by a matrix that doubles it and moves it by (5, 0, 0): COLLADA 1.4.1, <skin>.
WALKER = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><created>2020-01-01T00:00:00</created><modified>2020-01-01T00:00:00</modified><unit meter="1"/>
<up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="9">0 0 0 1 0 0 0 1 0</float_array>
<technique_common><accessor source="#a" count="3" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source><vertices id="v"><input semantic="POSITION"
source="#p"/></vertices><triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries>
<library_controllers><controller id="c"><skin source="#g">
<bind_shape_matrix>2 0 0 5 0 2 0 0 0 0 2 0 0 0 0 1</bind_shape_matrix>
<source id="j"><Name_array id="ja" count="1">hip</Name_array><technique_common><accessor source="#ja" count="1"
stride="1"><param name="JOINT" type="name"/></accessor></technique_common></source>
<source id="m"><float_array id="ma" count="16">1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</float_array><technique_common>
<accessor source="#ma" count="1" stride="16"><param name="TRANSFORM" type="float4x4"/></accessor></technique_common>
</source><source id="w"><float_array id="wa" count="1">1</float_array><technique_common><accessor source="#wa" count="1"
stride="1"><param name="WEIGHT" type="float"/></accessor></technique_common></source>
<joints><input semantic="JOINT" source="#j"/><input semantic="INV_BIND_MATRIX" source="#m"/></joints>
<vertex_weights count="3"><input semantic="JOINT" source="#j" offset="0"/><input semantic="WEIGHT" source="#w"
offset="1"/><vcount>1 1 1</vcount><v>0 0 0 0 0 0</v></vertex_weights></skin></controller></library_controllers>
<library_visual_scenes><visual_scene id="s"><node id="hip" name="hip" sid="hip" type="JOINT"/><node id="n">
<instance_controller url="#c"><skeleton>#hip</skeleton></instance_controller></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def world_of(folder: Path, inside: str) -> World:
    """Return the world of an actor."""
    path = folder / "w.sdf"
    path.write_text(f'<sdf version="1.9"><world name="w"><actor name="walker">{inside}</actor></world></sdf>')
    return load(path)


def test_the_visuals_of_its_links_move_with_it(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world = world_of(tmp_path, HAT.format("") + WALK)
    (hat,) = world.bodies
    assert (hat.name, hat.parent) == ("walker/hat", "walker")
    (shape,) = hat.geometry
    assert (shape.shape, shape.only) == ("cylinder", "visual")
    np.testing.assert_allclose(shape.pose[:3], [0.0, 0.0, 0.1])
    simulation = Simulation(world, seed=0)
    simulation.run(0.5)
    snapshot, names = simulation.snapshot(), list(simulation.frames.names)
    np.testing.assert_allclose(snapshot.poses[names.index("walker")][:3], [1.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(snapshot.poses[names.index("walker/hat")][:3], [0.0, 0.0, 1.8], atol=1e-9)


def test_its_skin_is_drawn_as_it_is_bound_and_moves_as_a_whole(tmp_path: Path) -> None:
    pytest.importorskip("collada")
    (tmp_path / "walk.dae").write_text(WALKER)
    with pytest.warns(WorldWarning, match="an actor's skin moves as a whole here"):
        world = world_of(tmp_path, SKIN.format(0.5) + WALK)
    (skin,) = world.bodies
    assert (skin.name, skin.parent) == ("walker/skin", "walker")
    (shape,) = skin.geometry
    assert shape.triangles is not None
    corners = shape.triangles.vertices[shape.triangles.faces[0]]
    np.testing.assert_allclose(corners, 0.5 * np.array([[5.0, 0.0, 0.0], [7.0, 0.0, 0.0], [5.0, 2.0, 0.0]]), atol=1e-6)
    assert shape.only == "visual"


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (SKIN.format(1), r"w\.sdf:1:\d+: .*no file 'walk\.dae'.*the skin is not drawn"),
        ("<skin/>", "filename is missing; the skin is not drawn"),
        ('<animation name="a"><filename>walk.dae</filename></animation>', "without its animation"),
        (HAT.format('<collision name="c"><geometry><sphere/></geometry></collision>'), "an actor touches nothing here"),
        (HAT.format('<sensor name="s" type="imu"/>'), "an actor has no sensors here"),
        (WALK.replace("<script>", "<script><auto_start>false</auto_start>"), "moves from the start of a run"),
    ],
)
def test_what_is_not_drawn_is_said(tmp_path: Path, inside: str, message: str) -> None:
    with pytest.warns(WorldWarning, match=message):
        world = world_of(tmp_path, inside + WALK)
    assert [each.frame for each in world.motions] == ["walker"]


@pytest.mark.parametrize("time", ["1e300", "inf", "-3e9"])
def test_times_that_no_stamp_has_are_refused(time: str, tmp_path: Path) -> None:
    walk = WALK.replace("<time>2</time>", f"<time>{time}</time>").replace(
        "<script>", f"<script><delay_start>{time}</delay_start>"
    )
    with pytest.raises(WorldError) as error:
        world_of(tmp_path, walk)
    told = [str(each) for each in error.value.problems]
    assert len(told) == 2
    assert all("is out of range; allowed: -2147483647 to 2147483647" in each for each in told)
