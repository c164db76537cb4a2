"""Textures of shapes in the browser lie where MuJoCo's own renderer has them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
import trimesh
from nightly import rows
from PIL import Image

from sim_node.spatial.geometry import poses
from sim_node.viewing import RenderRequest, draw
from sim_node.viewing.browser.textured import plane_glb, textured_glb
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.shapes import shapes_of
from sim_node.viewing.view import looking
from sim_node.world import World, lay_out, load

pytestmark = pytest.mark.usefixtures("opengl")
SIZE = (400, 300)
EYES = ([3.1, -2.0, 2.2], [-2.6, 2.9, -1.9])
# Light from all around, so that colours are those of the image.
FILE = """
<mujoco>
  <visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>
  <asset>
    <texture name="flat" type="2d" file="image.png"/>
    <texture name="cube" type="cube" {sides}/>
    <mesh name="sheet" inertia="shell" vertex="-1 -1 0.2  1 -1 -0.3  1 1 0  -1 1 0.4" face="0 1 2 0 2 3"
      texcoord="0 0  2 0  2 1  0 1"/>
    <material name="it" {material}/>
  </asset>
  <worldbody><body name="it">
    <geom {geom} material="it" contype="0" conaffinity="0"/>
  </body></worldbody>
</mujoco>
"""
BOX = 'type="box" size="1 0.6 0.4"'
BALL = 'type="ellipsoid" size="0.9 0.7 0.5"'
CYLINDER = 'type="cylinder" size="0.6 0.8"'
CAPSULE = 'type="capsule" size="0.5 0.6"'
CASES = {
    "capsule, cube map": (CAPSULE, 'texture="cube"'),
    "capsule, cube map in metres": (CAPSULE, 'texture="cube" texuniform="true"'),
    "capsule, repeated": (CAPSULE, 'texture="flat" texrepeat="2 1.5"'),
    "capsule in metres": (CAPSULE, 'texture="flat" texrepeat="2 1.5" texuniform="true"'),
    "box, cube map": (BOX, 'texture="cube"'),
    "box, cube map in metres": (BOX, 'texture="cube" texuniform="true"'),
    "ball, cube map": (BALL, 'texture="cube"'),
    "ball, cube map in metres": (BALL, 'texture="cube" texuniform="true"'),
    "cylinder, cube map": (CYLINDER, 'texture="cube"'),
    "cylinder, cube map in metres": (CYLINDER, 'texture="cube" texuniform="true"'),
    "box, repeated": (BOX, 'texture="flat" texrepeat="2 1.5"'),
    "box, in metres": (BOX, 'texture="flat" texrepeat="2 1.5" texuniform="true"'),
    "cylinder, repeated": (CYLINDER, 'texture="flat" texrepeat="1 2"'),
    "plane": ('type="plane" size="1 0.8 0.1"', 'texture="flat" texrepeat="1 2"'),
    "plane in metres": ('type="plane" size="1 0.8 0.1"', 'texture="flat" texrepeat="1 2" texuniform="true"'),
    "ball, repeated": (BALL, 'texture="flat" texrepeat="3 2"'),
    "mesh": ('type="mesh" mesh="sheet"', 'texture="flat" texrepeat="2 0.5"'),
}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six images of large cells in random pure colours, like no other when turned or mirrored."""
    folder, random = tmp_path_factory.mktemp("images"), np.random.default_rng(5)
    colours = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255]], dtype=np.uint8)
    for name in ("image", "right", "left", "up", "down", "front", "back"):
        cells = colours[random.integers(0, 3, (4, 4))]
        Image.fromarray(cells.repeat(32, axis=0).repeat(32, axis=1)).save(folder / f"{name}.png")
    return folder


def world_of(images: Path, geom: str, material: str) -> World:
    sides = " ".join(f'file{side}="{side}.png"' for side in ("right", "left", "up", "down", "front", "back"))
    path = images / "model.xml"
    path.write_text(FILE.format(sides=sides, geom=geom, material=material), encoding="utf-8")
    return load(path)


def glb_of(shape: DrawnShape) -> bytes:
    assert shape.finish is not None
    return plane_glb(shape.finish, 0.5 * shape.scale[:2], 9.0) if shape.kind == "plane" else textured_glb(shape)


def strongest(colours: np.ndarray) -> np.ndarray:
    return np.asarray(np.argmax(colours, axis=-1))


USUAL = ("plane", "mesh", "cylinder, repeated")


@pytest.mark.parametrize("case", rows(CASES, USUAL))
def test_a_texture_lies_where_mujoco_has_it(images: Path, case: str) -> None:
    """The colour of a point in the GLB, by its texture coordinates, is that of its pixel in MuJoCo's picture."""
    world = world_of(images, *CASES[case])
    shapes = shapes_of(world, lay_out(world).frames)
    seen = [matches(world, shape, is_capsule="capsule" in case) for shape in shapes]
    assert min(seen) > 300


def matches(world: World, shape: DrawnShape, *, is_capsule: bool) -> int:
    """Compare a shape with MuJoCo's pictures. Return the number of points that were compared."""
    mesh = trimesh.load(io.BytesIO(glb_of(shape)), file_type="glb").to_geometry()
    image = np.asarray(mesh.visual.material.baseColorTexture)
    scale = np.ones(3) if shape.kind in ("plane", "mesh") else shape.scale
    corners, uv = mesh.vertices[mesh.faces] * scale, mesh.visual.uv[mesh.faces]
    # Points on large triangles, not at their corners.
    shares = np.random.default_rng(1).dirichlet((2.0, 2.0, 2.0), 3 if len(mesh.faces) > 100 else 200)
    points = poses.apply(shape.pose, np.einsum("sk,fkd->fsd", shares, corners).reshape(-1, 3))
    places = np.einsum("sk,fkd->fsd", shares, uv).reshape(-1, 2)
    normals = np.repeat(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), len(shares), axis=0)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    columns = (places[:, 0] % 1.0 * image.shape[1]).astype(int) % image.shape[1]
    rows = ((1.0 - places[:, 1]) % 1.0 * image.shape[0]).astype(int) % image.shape[0]
    expected = strongest(image[rows, columns])
    # Lids and the inner halves of balls are within a capsule.
    outside = (np.abs(points[:, 2]) < 0.599) == (shape.kind == "cylinder") if is_capsule else np.isfinite(points[:, 0])
    seen = 0
    for eye in EYES if shape.kind not in ("plane", "mesh") else EYES[:1]:
        view = looking(np.array(eye), np.zeros(3), SIZE, np.radians(45.0))
        camera = ",".join(map(str, eye)) + "@0,0,0,45"
        (drawn,) = draw(world, RenderRequest(camera=camera, size=SIZE, has_time=False, frames=()), [0])
        pixels, _ = view.project(points)
        towards = np.array(eye) - points
        faces_us = outside & (np.sum(normals * towards, axis=1) > 0.35 * np.linalg.norm(towards, axis=1))
        at = np.round(pixels[faces_us]).astype(int)
        found = strongest(drawn[at[:, 1], at[:, 0]].astype(int))
        # Those at the edges of cells may be of the next one.
        assert np.mean(found == expected[faces_us]) > 0.95, (shape.kind, eye)
        seen += int(faces_us.sum())
    return seen


@pytest.mark.parametrize("geom", [BOX, BALL, CYLINDER])
def test_positions_and_normals_share_no_memory(images: Path, geom: str) -> None:
    """A browser drew nothing of a ball whose positions and normals were one array."""
    world = world_of(images, geom, 'texture="cube"')
    (shape,) = shapes_of(world, lay_out(world).frames)
    data = glb_of(shape)
    # glTF 2.0, binary: a header of 12 bytes, the length and type of the first chunk, and its JSON.
    tree = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
    attributes = tree["meshes"][0]["primitives"][0]["attributes"].values()
    accessors = [tree["accessors"][each] for each in attributes]
    views = [(each["bufferView"], each.get("byteOffset", 0)) for each in accessors]
    assert len(set(views)) == len(views) == 3


def test_materials_of_a_model_are_those_of_the_glb(images: Path) -> None:
    world = world_of(images, BOX, 'rgba="0.5 0.25 1 0.75" metallic="0.8" roughness="0.3"')
    (shape,) = shapes_of(world, lay_out(world).frames)
    mesh = trimesh.load(io.BytesIO(glb_of(shape)), file_type="glb").to_geometry()
    material = mesh.visual.material
    assert (material.metallicFactor, material.roughnessFactor) == pytest.approx((0.8, 0.3))
    # glTF has linear colours: IEC 61966-2-1 of 0.5 and 0.25 are 0.2140 and 0.0509.
    assert np.asarray(material.baseColorFactor) / 255.0 == pytest.approx([0.2140, 0.0509, 1.0, 0.75], abs=0.003)


def test_a_colour_alone_is_no_finish(images: Path) -> None:
    world = world_of(images, BOX, 'rgba="0.5 0.25 1 1"')
    (shape,) = shapes_of(world, lay_out(world).frames)
    assert shape.finish is None
