"""Meshes of models, for contacts and to be seen, and visuals with their materials."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim_node.assembly import assemble
from sim_node.messages import MarkerType
from sim_node.simulation import Simulation
from sim_node.viewing.markers import markers_of
from sim_node.viewing.shapes import shapes_of
from sim_node.world import World, WorldError, WorldWarning, lay_out, load
from sim_node.world.bodies import Body

# The corners of a box of 2 m by 1 m by 0.5 m, from its middle.
CORNERS = [(x, y, z) for x in (-1.0, 1.0) for y in (-0.5, 0.5) for z in (-0.25, 0.25)]
VERTICES = ", ".join(f"{{{x}, {y}, {z}}}" for x, y, z in CORNERS)
# Each side of the box as two triangles.
FACES = [(0, 1, 3), (0, 3, 2), (4, 7, 5), (4, 6, 7), (0, 5, 1), (0, 4, 5), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4)]
FACES += [(1, 7, 3), (1, 5, 7)]
INDICES = ", ".join(str(corner) for face in FACES for corner in face)
OBJ = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS) + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES)
SCENE = """\
Part is Physics3D.Bodies.RigidBody:
    kinematics.local_transform.position: {{0, 0, 1}}
    shape is Physics3D.Geometries.{shape}
Scene is Physics3D.System:
    floor is Physics3D.Geometries.Box:
        size: {{10, 10, 0.2}}
        local_transform.position.z: -0.1
    part is Part
"""
CONVEX = f"ConvexMesh:\n        vertices: [{VERTICES}]"
TRIMESH = f"TriMesh:\n        vertices: [{VERTICES}]\n        indices: [{INDICES}]"
EXTERNAL = 'ExternalTriMeshGeometry:\n        path: @"box.obj"'


@pytest.fixture
def scene(tmp_path: Path) -> Callable[..., World]:
    (tmp_path / "box.obj").write_text(OBJ, encoding="utf-8")

    def made(shape: str) -> World:
        path = tmp_path / "scene.openplx"
        path.write_text(SCENE.format(shape=shape), encoding="utf-8")
        return load(path)

    return made


def part_of(world: World) -> Body:
    bodies: tuple[Body, ...] = assemble(world).bodies
    return next(body for body in bodies if body.name == "Scene/part")


@pytest.mark.parametrize("shape", [CONVEX, TRIMESH, EXTERNAL], ids=["convex", "triangles", "file"])
def test_a_mesh_of_a_box_weighs_and_rests_as_a_box(scene: Callable[..., World], shape: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world = scene(shape)
    inertial = part_of(world).inertial
    assert inertial is not None
    assert inertial.mass == pytest.approx(1000.0, rel=1e-6)
    np.testing.assert_allclose(inertial.inertia, np.diag([1.25, 4.25, 5.0]) * 1000.0 / 12.0, rtol=1e-6, atol=1e-4)
    run = Simulation(world)
    run.run(2.0)
    assert run.bodies["Scene/part"].pose[2] == pytest.approx(0.25, abs=5e-3)


def test_a_scale_and_a_density_count(scene: Callable[..., World]) -> None:
    more = "\n        scale: {1, 2, 3}\n        material.density: 500"
    inertial = part_of(scene(EXTERNAL + more)).inertial
    assert inertial is not None
    assert inertial.mass == pytest.approx(3000.0, rel=1e-6)


def test_what_is_not_convex_or_not_closed_is_told_of(scene: Callable[..., World]) -> None:
    """Without a lid the box has the mass of its hull; with a corner pushed in, contacts of the hull."""
    lidless = TRIMESH.replace(f"[{INDICES}]", f"[{INDICES.rpartition(', 1, 7, 3')[0]}]")
    with pytest.warns(WorldWarning, match=r"part.shape: its triangles are not closed; its mass is that of its convex"):
        world = scene(lidless)
    inertial = part_of(world).inertial
    assert inertial is not None
    assert inertial.mass == pytest.approx(1000.0, rel=1e-6)
    with pytest.warns(
        WorldWarning, match=r"it makes contact by its convex hull, whose volume is 1\.\d\d times its own"
    ):
        scene(TRIMESH.replace("{1.0, 0.5, 0.25}", "{0.1, 0.1, 0.0}"))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("ConvexMesh:\n        vertices: [{0, 0, 0}, {1, 0, 0}]", "vertices: its vertices span no volume"),
        ("ConvexMesh", "shape: vertices has no value"),
        (TRIMESH.replace("[0, 1, 3,", "[0, 1, 9,"), "indices: no vertex 9; there are 8, from 0"),
        (TRIMESH.replace("[0, 1, 3,", "[0, 1,"), "indices: 35 indices are not triangles"),
        (EXTERNAL.replace("box", "bix"), "path: no file 'bix.obj' beside scene.openplx; did you mean box.obj?"),
        (EXTERNAL.replace("box.obj", "../x.obj"), "path: '../x.obj' is outside the world's folder"),
        (EXTERNAL.replace("box.obj", "scene.openplx"), "'scene.openplx' is not a supported mesh; allowed: .stl, .obj"),
        ("ExternalTriMeshGeometry", "shape: path has no value"),
    ],
)
def test_faults_of_meshes(scene: Callable[..., World], shape: str, message: str) -> None:
    with pytest.raises(WorldError) as error:
        scene(shape)
    assert message in str(error.value).replace('"', "'")


VISUALS = """\
Red is Visuals.Materials.Material:
    with Visuals.Materials.SurfaceFeatures.BaseColor
    with Visuals.Materials.SurfaceFeatures.Roughness
    base_color_tint: {{1, 0.25, 0, 0.5}}
    roughness: 0.2
Part is Physics3D.Bodies.RigidBody:
    kinematics.local_transform.position: {{0, 0, 1}}
    shape is Physics3D.Geometries.Box:
        size: {{2, 1, 0.5}}
    body is Visuals.Geometries.{shape}
        material is Red
Scene is Physics3D.System:
    sign is Visuals.Geometries.Cylinder:
        radius: 0.2
        height: 3
    part is Part
"""


@pytest.mark.parametrize("shape", [CONVEX, EXTERNAL, "Sphere:\n        radius: 0.5"], ids=["convex", "file", "sphere"])
def test_visuals_are_seen_instead_of_contact_geometries(tmp_path: Path, shape: str) -> None:
    (tmp_path / "box.obj").write_text(OBJ, encoding="utf-8")
    path = tmp_path / "scene.openplx"
    path.write_text(VISUALS.format(shape=shape), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world = assemble(load(path))
    body = next(each for each in world.bodies if each.name == "Scene/part")
    contact, visual = body.geometry
    assert (contact.only, visual.only) == ("collision", "visual")
    assert visual.colour is not None
    assert visual.colour.tolist() == [1.0, 0.25, 0.0, 0.5]
    assert visual.material is not None
    assert visual.material.roughness == 0.2
    assert body.own_mass() == pytest.approx(1000.0)
    frames = lay_out(world).frames
    drawn = [each for each in shapes_of(world, frames) if frames.names[each.row] == "Scene/part"]
    assert [each.colour for each in drawn] == [pytest.approx((1.0, 0.25, 0.0, 0.5))]
    marks = [each for each in markers_of(world, frames) if each.frame == "Scene/part"]
    kinds = {CONVEX: MarkerType.TRIANGLE_LIST, EXTERNAL: MarkerType.MESH_RESOURCE}
    assert [each.type for each in marks] == [kinds.get(shape, MarkerType.SPHERE)]
    assert [each for each in markers_of(world, frames) if each.frame == "Scene" and each.type == MarkerType.CYLINDER]


def test_a_texture_is_on_its_mesh(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (4, 4), (10, 200, 30)).save(tmp_path / "green.png")
    (tmp_path / "box.obj").write_text(OBJ, encoding="utf-8")
    path = tmp_path / "scene.openplx"
    text = VISUALS.format(shape=EXTERNAL).replace(
        "material is Red", 'material becomes Visuals.Materials.TextureMaterial:\n            path: @"green.png"'
    )
    path.write_text(text, encoding="utf-8")
    (visual,) = [shape for shape in part_of(load(path)).geometry if shape.only == "visual"]
    assert visual.material is not None
    assert visual.material.texture == (tmp_path / "green.png")


def test_an_imported_mesh_is_a_visual(tmp_path: Path) -> None:
    (tmp_path / "box.obj").write_text(OBJ, encoding="utf-8")
    path = tmp_path / "scene.openplx"
    path.write_text('import @"box.obj" as Sign\nScene is Physics3D.System:\n    sign is Sign\n', encoding="utf-8")
    (system,) = load(path).systems
    (visual,) = system.geometries
    assert visual.geometry.file == tmp_path / "box.obj"
    assert visual.geometry.only == "visual"
    path.write_text(path.read_text(encoding="utf-8").replace("box.obj", "bix.obj"), encoding="utf-8")
    with pytest.raises(WorldError, match=r"scene\.openplx:2:\d+: Sign\.path: no file .bix\.obj. beside"):
        load(path)
