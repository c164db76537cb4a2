"""What is drawn of a world, against what its file says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sim_node.assembly import assemble
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.surroundings import DARK, LIGHT
from sim_node.viewing.meshes import MOVING, PLAIN, DrawnShape
from sim_node.viewing.shapes import discs_of, shapes_of
from sim_node.world import load
from sim_node.world.layout import lay_out
from sim_node.world.locate import shipped_worlds
from sim_node.world.vehicles import Multirotor, Rotor


def shapes_in(path: Path | str) -> dict[str, list[DrawnShape]]:
    """The shapes of a world by the names of their frames."""
    world = assemble(load(path))
    frames = lay_out(world).frames
    found: dict[str, list[DrawnShape]] = {}
    for shape in shapes_of(world, frames):
        found.setdefault(frames.names[shape.row], []).append(shape)
    return found


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_shape_has_the_size_of_the_file(tmp_path: Path) -> None:
    shapes = shapes_in(
        written(
            tmp_path,
            "all.yaml",
            """
world: all
bodies:
  - {name: a, geometry: [{box: [1, 2, 3], pose: {position: [4, 5, 6]}, color: [0.1, 0.2, 0.3]}]}
  - {name: b, geometry: [{sphere: 0.5}]}
  - {name: c, geometry: [{cylinder: [0.5, 2]}]}
  - {name: d, geometry: [{ellipsoid: [0.1, 0.2, 0.3]}]}
  - {name: e, geometry: [{plane: true}]}
""",
        )
    )
    (box,), (ball,), (cylinder,), (ellipsoid,), (plane,) = (shapes[name] for name in "abcde")
    assert (box.kind, box.scale.tolist(), box.pose[:3].tolist()) == ("box", [1, 2, 3], [4, 5, 6])
    assert box.colour == pytest.approx((0.1, 0.2, 0.3, 1.0))
    assert (ball.kind, ball.scale.tolist()) == ("sphere", [0.5] * 3)
    assert (cylinder.kind, cylinder.scale.tolist()) == ("cylinder", [0.5, 0.5, 2.0])
    assert (ellipsoid.kind, ellipsoid.scale.tolist()) == ("sphere", [0.1, 0.2, 0.3])
    assert plane.kind == "plane"


def test_a_capsule_is_a_cylinder_between_two_balls_at_its_ends(tmp_path: Path) -> None:
    text = "world: w\nbodies:\n  - {name: a, geometry: [{capsule: [0.1, 2], pose: {rpy_deg: [0, 90, 0]}}]}\n"
    cylinder, *balls = shapes_in(written(tmp_path, "w.yaml", text))["a"]
    assert cylinder.scale.tolist() == pytest.approx([0.1, 0.1, 2.0])
    assert [ball.pose[:3].tolist() for ball in balls] == [pytest.approx([-1, 0, 0]), pytest.approx([1, 0, 0])]


def test_a_mesh_keeps_the_corners_of_its_file(tmp_path: Path) -> None:
    """MuJoCo turns meshes into their principal axes; what is drawn has to be back where the file has it."""
    written(
        tmp_path,
        "wedge.obj",
        "v 0 0 0\nv 3 0 0\nv 0 2 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
    )
    text = "world: w\nbodies:\n  - {name: a, geometry: [{mesh: wedge.obj, scale: 2, mass: 1}]}\n"
    (mesh,) = shapes_in(written(tmp_path, "w.yaml", text))["a"]
    assert mesh.mesh is not None
    x, y, z, w = mesh.pose[3:]
    turned = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    corners = mesh.mesh.vertices @ turned.T + mesh.pose[:3]
    for corner in ([0, 0, 0], [6, 0, 0], [0, 4, 0], [0, 0, 2]):
        assert np.linalg.norm(corners - corner, axis=1).min() < 1e-5


def test_a_height_field_rises_where_its_file_says(tmp_path: Path) -> None:
    """MuJoCo's XML reference: rows along y, columns along x, elevations scaled to size[2] at the highest."""
    text = """
<mujoco>
  <asset><hfield name="h" nrow="2" ncol="3" size="3 1 4 0.1" elevation="0 0 0  0 0 1"/></asset>
  <worldbody><geom name="ground" type="hfield" hfield="h"/></worldbody>
</mujoco>"""
    shapes = [shape for shapes in shapes_in(written(tmp_path, "h.xml", text)).values() for shape in shapes]
    (field,) = (shape for shape in shapes if shape.mesh is not None)
    assert field.mesh is not None
    top = field.mesh.vertices[field.mesh.vertices[:, 2].argmax()]
    # MuJoCo's first row is the one at the top of the text, which is the farthest along y.
    assert np.abs(top[:2]).tolist() == pytest.approx([3.0, 1.0])
    assert top[2] == pytest.approx(4.0)


def test_a_robot_with_visuals_is_drawn_without_its_collision_shapes(tmp_path: Path) -> None:
    text = """
<robot name="r">
  <link name="base">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><geometry><sphere radius="0.3"/></geometry></visual>
    <collision><geometry><box size="1 1 1"/></geometry></collision>
  </link>
</robot>"""
    shapes = [shape for shapes in shapes_in(written(tmp_path, "r.urdf", text)).values() for shape in shapes]
    assert [(shape.kind, shape.scale.tolist()) for shape in shapes] == [("sphere", [0.3] * 3)]


def test_a_propeller_has_a_disc_across_its_axis() -> None:
    discs = [shape for shape in shapes_in("quadrotor")["drone/base_link"] if shape.colour[3] < 1.0]
    assert sorted(disc.pose[:2].tolist() for disc in discs) == [
        [-0.1515, -0.1875],
        [-0.1515, 0.1875],
        [0.1515, -0.245],
        [0.1515, 0.245],
    ]
    assert all(disc.pose[3:].tolist() == [0, 0, 0, 1] for disc in discs)


def test_discs_are_smaller_than_half_the_way_to_their_neighbours_and_coaxial_ones_count_as_one() -> None:
    """Two rotors above each other at each end of a beam of 0.6 m: a disc of 0.3 m would touch the other end's."""
    rotors = [Rotor(np.array([0.0, y, z]), "ccw", 1e-5, 0.01, 1000.0) for y in (-0.3, 0.3) for z in (0.0, 0.1)]
    radii = [disc.radius for disc in discs_of(Multirotor("v", "v/base_link", tuple(rotors)))]
    assert len(radii) == 4
    assert all(0.25 < radius < 0.3 for radius in radii)


@pytest.mark.parametrize("world", shipped_worlds())
def test_every_shipped_world_can_be_drawn(world: str) -> None:
    for shapes in shapes_in(world).values():
        for shape in shapes:
            assert np.isfinite(shape.pose).all()
            assert np.isfinite(shape.scale).all()


def lab(colour: Sequence[float], light: float = 1.0) -> FloatArray:
    """CIELAB (CIE 15, 1976) of an sRGB colour, 0 to 1 (IEC 61966-2-1), in so much light."""
    parts = np.array(colour[:3])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(light * linear, 0.0, 1.0) / to_xyz.sum(axis=1)
    root = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116.0 * root[1] - 16.0, 500.0 * (root[0] - root[1]), 200.0 * (root[1] - root[2])])


# Measured on pages: the sides of a box that are upright, and that which is up.
@pytest.mark.parametrize("light", [0.77, 1.7])
def test_what_has_no_colour_differs_from_the_grounds_of_day_and_night_and_what_moves_from_what_stands(
    light: float,
) -> None:
    """A difference of 2.3 is just noticeable: Mahy et al., Evaluation of uniform color spaces, 1994."""
    for one, other in (
        *((lab(colour, light), lab(palette.ground)) for colour in (PLAIN, MOVING) for palette in (LIGHT, DARK)),
        (lab(PLAIN, light), lab(MOVING, light)),
    ):
        assert np.linalg.norm(one - other) > 15.0


def test_only_what_has_no_colour_gets_one_by_whether_it_moves(tmp_path: Path) -> None:
    shapes = shapes_in(
        written(
            tmp_path,
            "hands.yaml",
            """
world: hands
bodies:
  - {name: face, geometry: [{cylinder: [0.1, 0.01]}]}
  - {name: hand, parent: face, joint: {type: rz}, geometry: [{box: [0.1, 0.01, 0.01], mass: 1.0}]}
  - {name: red, parent: hand, geometry: [{sphere: 0.01, color: [1, 0, 0]}]}
""",
        )
    )
    assert [shapes[name][0].colour for name in ("face", "hand", "red")] == [PLAIN, MOVING, (1.0, 0.0, 0.0, 1.0)]
