"""Textures of URDF models: where they lie in MuJoCo's pictures and on the page, and what is told of the others."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh
from nightly import only
from PIL import Image

from sim_node.viewing import RenderRequest, draw
from sim_node.viewing.browser.textured import textured_glb
from sim_node.viewing.messages.robot_descriptions import described
from sim_node.viewing.shapes import shapes_of
from sim_node.world import World, WorldWarning, lay_out, load

pytestmark = pytest.mark.usefixtures("opengl")
SIZE = (320, 240)
RED, GREEN, BLUE = np.eye(3, dtype=np.uint8) * 255
# Red and green above blue and black.
QUARTERS = np.array([[RED, GREEN], [BLUE, 0 * RED]]).repeat(32, axis=0).repeat(32, axis=1)
# A square that faces -y, with the whole image on it.
SHEET = """v -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3\nf 1/1 3/3 4/4\n"""
OBJ = '<mesh filename="sheet.obj"/>'
BOX = '<box size="2 2 2"/>'
BALL = '<sphere radius="1"/>'
COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
  <library_images><image id="im"><init_from>quarters.png</init_from></image></library_images>
  <library_effects><effect id="e"><profile_COMMON>
    <newparam sid="su"><surface type="2D"><init_from>im</init_from></surface></newparam>
    <newparam sid="sa"><sampler2D><source>su</source></sampler2D></newparam>
    <technique sid="t"><phong><diffuse><texture texture="sa" texcoord="u"/></diffuse></phong></technique>
  </profile_COMMON></effect></library_effects>
  <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="12">-1 0 -1 1 0 -1 1 0 1 -1 0 1</float_array>
      <technique_common><accessor source="#pa" count="4" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
      </accessor></technique_common></source>
    <source id="t"><float_array id="ta" count="8">0 0 1 0 1 1 0 1</float_array>
      <technique_common><accessor source="#ta" count="4" stride="2">
        <param name="S" type="float"/><param name="T" type="float"/>
      </accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="2" material="mm"><input semantic="VERTEX" source="#v" offset="0"/>
      <input semantic="TEXCOORD" source="#t" offset="1" set="0"/><p>0 0 1 1 2 2 0 0 2 2 3 3</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"><bind_material>
    <technique_common><instance_material symbol="mm" target="#m"/></technique_common>
  </bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""
# What a visual has, and what the robot has beside it.
MATERIALS = {
    "own": ('<material name="m"><texture filename="quarters.png"/></material>', ""),
    "of the robot": ('<material name="m"/>', '<material name="m"><texture filename="quarters.png"/></material>'),
    "of a package": ('<material name="m"><texture filename="package://looks/quarters.png"/></material>', ""),
    "instead of its colour": (
        '<material name="m"><color rgba="0 1 1 1"/><texture filename="quarters.png"/></material>',
        "",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of a robot, in a package's folder beside it, too."""
    (tmp_path / "looks").mkdir()
    for each in (tmp_path, tmp_path / "looks"):
        Image.fromarray(QUARTERS).save(each / "quarters.png")
    (tmp_path / "sheet.obj").write_text(SHEET)
    (tmp_path / "bare.obj").write_text("v -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nf 1 2 3\nf 1 3 4\n")
    (tmp_path / "sheet.dae").write_text(COLLADA)
    (tmp_path / "world.yaml").write_text(
        "world: w\ninclude:\n  - {file: robot.urdf, prefix: r, packages: {looks: looks}, pose: {position: [0, 0, 2]}}\n"
    )
    return tmp_path


def robot(folder: Path, geometry: str, material: str = MATERIALS["own"][0], more: str = "") -> Path:
    visual = f'<visual name="v"><geometry>{geometry}</geometry>{material}</visual>'
    (folder / "robot.urdf").write_text(f'<robot name="r">{more}\n<link name="base">\n{visual}\n{visual}</link></robot>')
    return folder / "world.yaml"


def quarter_colours(world: World, eye: str = "0,-5,2") -> list[list[bool]]:
    """Which of red, green and blue are bright around the middle of a picture: above left, above right, below left."""
    request = RenderRequest(camera=f"{eye}@0,0,2,40", size=SIZE, has_time=False, frames=())
    (image,) = draw(world, request, [0])
    row, column = SIZE[1] // 2, SIZE[0] // 2
    places = (row - 25, column - 25), (row - 25, column + 25), (row + 25, column - 25), (row + 25, column + 25)
    return [(image[at] > 100).tolist() for at in places]


PURE = [[True, False, False], [False, True, False], [False, False, True], [False, False, False]]


@pytest.mark.parametrize("material", only(MATERIALS, 3))
def test_the_texture_of_a_material_is_drawn(folder: Path, material: str) -> None:
    world = load(robot(folder, OBJ, *MATERIALS[material]))
    assert quarter_colours(world) == PURE


# Each side has the same four corners of the image.
@pytest.mark.parametrize("eye", only(["0,-5,2", "0,5,2", "5,0,2", "-5,0,2"], 1))
def test_an_image_is_upright_on_each_side_of_a_box(folder: Path, eye: str) -> None:
    assert quarter_colours(load(robot(folder, BOX)), eye) == PURE


@pytest.mark.parametrize("geometry", only([BALL, '<cylinder radius="1" length="2"/>'], 1))
def test_an_image_is_around_balls_and_cylinders(folder: Path, geometry: str) -> None:
    """Its left edge and its middle are on the x axis: y is positive on its left half."""
    world = load(robot(folder, geometry))
    assert quarter_colours(world, "-5,0,2") == [PURE[row] for row in (0, 1, 2, 3)]
    assert quarter_colours(world, "5,0,2") == [PURE[row] for row in (1, 0, 3, 2)]


def test_a_collada_file_keeps_its_texture(folder: Path) -> None:
    pytest.importorskip("collada")
    world = load(robot(folder, '<mesh filename="sheet.dae"/>', '<material name="m"><color rgba="1 1 0 1"/></material>'))
    assert quarter_colours(world) == PURE


def test_a_glb_file_keeps_its_texture(folder: Path) -> None:
    material = trimesh.visual.material.PBRMaterial(baseColorTexture=Image.fromarray(QUARTERS))
    visual = trimesh.visual.TextureVisuals(uv=[[0, 0], [1, 0], [1, 1], [0, 1]], material=material)
    corners = [[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]]
    trimesh.Trimesh(corners, [[0, 1, 2], [0, 2, 3]], visual=visual, process=False).export(folder / "sheet.glb")
    mesh = f'<mesh filename="{(folder / "sheet.glb").as_uri()}"/>'
    assert quarter_colours(load(robot(folder, '<mesh filename="sheet.glb"/>', ""))) == PURE
    text = f'<robot name="r"><link name="l"><visual><geometry>{mesh}</geometry></visual></link></robot>'
    (shape,) = described(text).links["l"]
    assert shape.finish is not None
    assert shape.finish.texture is not None
    assert np.array_equal(shape.finish.texture.pixels, QUARTERS)
    # The corner at the image's bottom left, from the top.
    assert shape.mesh is not None
    assert shape.mesh.uv is not None
    at = np.flatnonzero(np.all(shape.mesh.vertices[shape.mesh.faces].reshape(-1, 3) == [-1, 0, -1], axis=1))[0]
    assert shape.mesh.uv.reshape(-1, 2)[at].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("geometry", only([OBJ, BOX, BALL, '<capsule radius="0.5" length="1"/>'], 0, 1))
def test_the_page_has_the_image(folder: Path, geometry: str) -> None:
    world = load(robot(folder, geometry))
    for shape in shapes_of(world, lay_out(world).frames):
        assert shape.colour == pytest.approx((0.25, 0.25, 0.25, 1.0), abs=0.01)
        mesh = trimesh.load(io.BytesIO(textured_glb(shape)), file_type="glb").to_geometry()
        image = np.asarray(mesh.visual.material.baseColorTexture)
        for colour in ([255, 0, 0], [0, 255, 0], [0, 0, 255], [0, 0, 0]):
            assert (image == colour).all(axis=-1).any(), colour
        assert np.asarray(mesh.visual.material.baseColorFactor).tolist() == [255, 255, 255, 255]


@pytest.mark.parametrize(
    ("geometry", "reference", "message"),
    [
        (BOX, "missing.png", "no file 'missing.png' beside robot.urdf; the texture is not drawn"),
        (BOX, "../far.png", "is outside the world's folder"),
        (BOX, "package://nowhere/far.png", "nowhere"),
        (BOX, "sheet.obj", "'sheet.obj' is not a supported image; allowed: .png, .jpg, .jpeg; the texture"),
        (BOX, "broken.png", "'broken.png' cannot be read"),
        ('<mesh filename="bare.obj"/>', "quarters.png", "'bare.obj' has no texture coordinates; it has the texture's"),
    ],
)
def test_what_is_not_drawn_is_told_once(folder: Path, geometry: str, reference: str, message: str) -> None:
    """Both visuals of the robot refer to the texture."""
    (folder.parent / "far.png").write_bytes((folder / "quarters.png").read_bytes())
    (folder / "broken.png").write_bytes((folder / "quarters.png").read_bytes()[:60])
    more = f'\n<material name="m"><color rgba="0 0 1 1"/><texture filename="{reference}"/></material>'
    world_file = robot(folder, geometry, '<material name="m"/>', more)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        world = load(world_file)
    lines = [str(each.message) for each in told if each.category is WorldWarning]
    # Besides it, names of visuals and a colour that a texture replaces have no effect.
    (warning,) = [line for line in lines if "has no effect here" not in line]
    assert f"robot.urdf:2:{more.index('filename')}: texture.filename: " in warning
    assert message in warning
    expected = (0.25, 0.25, 0.25, 1.0) if "bare" in geometry else (0.0, 0.0, 1.0, 1.0)
    for shape in shapes_of(world, lay_out(world).frames):
        assert shape.finish is None
        assert shape.colour == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("geometry", [BOX, BALL, '<cylinder radius="1" length="2"/>'])
def test_a_description_on_the_graph_has_the_textures_of_its_model(folder: Path, geometry: str) -> None:
    world = load(robot(folder, geometry))
    (expected, _) = shapes_of(world, lay_out(world).frames)
    (shape, _) = described(world.models[0].urdf).links["base"]
    assert textured_glb(shape) == textured_glb(expected)
    assert shape.colour == pytest.approx(expected.colour, abs=0.01)


def test_a_texture_on_the_graph_that_is_not_found_is_told_and_its_colour_stays(folder: Path) -> None:
    material = '<material name="m"><color rgba="0 0 1 1"/><texture filename="file:///nowhere/a.png"/></material>'
    visual = f"<visual><geometry>{BOX}</geometry>{material}</visual>"
    found = described(f'<robot name="r"><link name="l">{visual}</link></robot>')
    (fault,) = found.faults
    assert fault == "link l: the texture file:///nowhere/a.png: No such file or directory; the texture is not drawn"
    (shape,) = found.links["l"]
    assert (shape.colour, shape.finish) == ((0.0, 0.0, 1.0, 1.0), None)
