"""What markers show of worlds, read from their bytes by the real rclpy, against the numbers of the world files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import trimesh
from nightly import only, rows
from rclpy.serialization import deserialize_message
from visualization_msgs.msg import Marker, MarkerArray

from sim_node.assembly import assemble
from sim_node.messages.marker_messages import MarkerArrays
from sim_node.simulation import Simulation
from sim_node.viewing.markers import markers_of
from sim_node.world import World, load
from sim_node.world.layout import lay_out
from sim_node.world.locate import shipped_worlds


def markers(world: World, prefix: str = "") -> list[Marker]:
    arrays = MarkerArrays()
    arrays.renew(world.fixed_frame, markers_of(world, lay_out(world).frames, prefix))
    data = arrays.all()
    return list(deserialize_message(data, MarkerArray).markers[1:])


def of(found: list[Marker], frame: str, group: str) -> list[Marker]:
    return [marker for marker in found if (marker.header.frame_id, marker.ns) == (frame, group)]


def xyz(vector: object) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z  # type: ignore[attr-defined]


def points(marker: Marker) -> np.ndarray:
    return np.array([xyz(point) for point in marker.points])


@pytest.fixture
def yard(tmp_path: Path) -> World:
    trimesh.creation.box((1, 2, 3)).export(tmp_path / "crate.stl")
    painted = trimesh.creation.icosphere(subdivisions=1)
    painted.visual.face_colors = [255, 0, 0, 255]
    painted.export(tmp_path / "ball.glb")
    (tmp_path / "yard.yaml").write_text("""
world: yard
bodies:
  - {name: ground, geometry: [{plane: true}]}
  - name: thing
    pose: {position: [0, 0, 2]}
    geometry:
      - {box: [0.1, 0.2, 0.3], mass: 1, pose: {position: [1, 2, 3]}, color: [0.25, 0.5, 0.75]}
      - {sphere: 0.4, mass: 1}
      - {cylinder: [0.5, 0.6], mass: 1}
      - {ellipsoid: [0.1, 0.2, 0.3], mass: 1}
      - {capsule: [0.05, 0.4], mass: 1, pose: {rpy_deg: [90, 0, 0]}}
  - {name: crate, geometry: [{mesh: crate.stl, scale: [0.5, 0.5, 0.5], mass: 1}]}
  - {name: ball, geometry: [{mesh: ball.glb, scale: 2}]}
motions:
  - frame: cart
    keyframes: [{t: 0, position: [0, 0, 0]}, {t: 1, position: [4, 0, 0]}, {t: 2, position: [4, 4, 0]}]
  - frame: bird
    parent: cart
    interpolation: smooth
    after: pingpong
    keyframes: [{t: 0, position: [0, 0, 1]}, {t: 1, position: [1, 1, 2]}, {t: 2, position: [2, 0, 1]}]
  - frame: wheel
    keyframes: [{t: 0, position: [1, 1, 1]}, {t: 1, position: [1, 1, 1], rpy_deg: [0, 0, 90]}]
sensors:
  - {name: cart/CAM, parent: cart, type: camera, width: 640, height: 480, horizontal_fov: 1.2, rate: 5}
  - {name: cart/LIDAR, parent: cart, type: lidar_2d, angle_min: -1, angle_max: 2, range_max: 7, rate: 5}
  - {name: cart/SONAR, parent: cart, type: rangefinder, range_max: 3, field_of_view: 0.5, rate: 5}
  - {name: cart/IMU, parent: cart, type: imu, rate: 100}
""")
    return load(tmp_path / "yard.yaml")


def test_shapes_have_the_sizes_and_places_of_the_file(yard: World) -> None:
    """visualization_msgs/Marker: scale is the whole size along x, y, z."""
    box, ball, wheel, egg, *capsule = of(markers(yard), "thing", "shapes")
    assert (box.type, ball.type, wheel.type, egg.type) == (Marker.CUBE, Marker.SPHERE, Marker.CYLINDER, Marker.SPHERE)
    assert xyz(box.scale) == pytest.approx((0.1, 0.2, 0.3))
    assert xyz(box.pose.position) == pytest.approx((1.0, 2.0, 3.0))
    assert (box.color.r, box.color.g, box.color.b, box.color.a) == (0.25, 0.5, 0.75, 1.0)
    assert xyz(ball.scale) == pytest.approx((0.8, 0.8, 0.8))
    assert xyz(wheel.scale) == pytest.approx((1.0, 1.0, 0.6))
    assert xyz(egg.scale) == pytest.approx((0.2, 0.4, 0.6))
    middle, *ends = capsule
    assert middle.type == Marker.CYLINDER
    assert xyz(middle.scale) == pytest.approx((0.1, 0.1, 0.4))
    # Turned by 90 degrees about x, its axis lies along -y.
    assert sorted(end.pose.position.y for end in ends) == pytest.approx([-0.2, 0.2])
    assert all(xyz(end.scale) == pytest.approx((0.1, 0.1, 0.1)) for end in ends)


def test_a_ground_reaches_as_high_as_its_plane(yard: World) -> None:
    (ground,) = of(markers(yard), "ground", "shapes")
    assert ground.pose.position.z + ground.scale.z / 2.0 == pytest.approx(0.0, abs=1e-12)


def test_meshes_that_rviz_reads_are_files_and_others_triangles(yard: World, tmp_path: Path) -> None:
    (crate,) = of(markers(yard), "crate", "shapes")
    assert (crate.type, crate.mesh_resource) == (Marker.MESH_RESOURCE, (tmp_path / "crate.stl").resolve().as_uri())
    assert xyz(crate.scale) == (0.5, 0.5, 0.5)
    (ball,) = of(markers(yard), "ball", "shapes")
    assert ball.type == Marker.TRIANGLE_LIST
    corners = points(ball)
    assert len(corners) == 3 * 80, "an icosahedron, each face in four"
    np.testing.assert_allclose(np.linalg.norm(corners, axis=1), 1.0, atol=1e-6)
    assert xyz(ball.scale) == (2.0, 2.0, 2.0)
    assert (ball.color.r, ball.color.g, ball.color.b) == (1.0, 0.0, 0.0)


def test_paths_go_through_the_keyframes_as_the_frames_do(yard: World) -> None:
    (cart,) = of(markers(yard), "map", "keyframes")
    assert cart.type == Marker.LINE_STRIP
    np.testing.assert_allclose(points(cart), [[0, 0, 0], [4, 0, 0], [4, 4, 0]])
    (bird,) = of(markers(yard), "cart", "keyframes")
    way = points(bird)
    simulation = Simulation(yard, sensors=False)
    row = simulation.frames.index("bird")
    flown = np.array([simulation.seek(round(t * 1e9)).poses[row, :3] for t in np.linspace(0.0, 2.0, 41)])
    # Every place of the frame lies on the line: nearest point of its parts.
    a, b = way[:-1], way[1:]
    u = np.clip(np.sum((flown[:, None] - a) * (b - a), -1) / np.sum((b - a) ** 2, -1), 0.0, 1.0)
    gaps = np.linalg.norm(flown[:, None] - (a + u[..., None] * (b - a)), axis=-1).min(axis=1)
    assert gaps.max() < 0.005


def test_a_frustum_holds_what_is_in_the_picture(yard: World) -> None:
    """The pinhole's half angles: 0.6 rad across, atan(3/4 tan 0.6) upwards."""
    (frustum,) = of(markers(yard), "cart/CAM", "fields_of_view")
    corners = points(frustum)[1:8:2]
    np.testing.assert_allclose(np.abs(corners[:, 1]) / corners[:, 0], math.tan(0.6))
    np.testing.assert_allclose(np.abs(corners[:, 2]) / corners[:, 0], 0.75 * math.tan(0.6))
    assert len({(y > 0, z > 0) for _, y, z in corners}) == 4


def test_a_fan_ends_at_the_angles_and_the_range(yard: World) -> None:
    (fan,) = of(markers(yard), "cart/LIDAR", "fields_of_view")
    arc = points(fan)[np.linalg.norm(points(fan), axis=1) > 0.0]
    np.testing.assert_allclose(np.linalg.norm(arc, axis=1), 7.0)
    angles = np.arctan2(arc[:, 1], arc[:, 0])
    assert (angles.min(), angles.max()) == pytest.approx((-1.0, 2.0))


def test_a_cone_is_as_wide_as_its_field_of_view(yard: World) -> None:
    (cone,) = of(markers(yard), "cart/SONAR", "fields_of_view")
    rim = points(cone)[np.linalg.norm(points(cone), axis=1) > 0.0]
    np.testing.assert_allclose(np.arccos(rim[:, 0] / 3.0), 0.25)


def test_every_sensor_has_an_arrow_and_a_name(yard: World) -> None:
    found = markers(yard)
    names = [marker.text for marker in found if marker.ns == "sensor_names"]
    assert sorted(names) == ["CAM", "IMU", "LIDAR", "SONAR"]
    assert sum(marker.ns == "sensors" and marker.type == Marker.ARROW for marker in found) == 4


def test_waypoints_of_a_mission_are_in_the_fixed_frame() -> None:
    """config/worlds/quadrotor.yaml, which flies round for ever."""
    line, *balls = of(markers(load("quadrotor")), "map", "missions")
    around = [[12, 0, 4], [12, 10, 6], [0, 14, 5], [-8, 6, 3], [0, 0, 3]]
    np.testing.assert_allclose(points(line), [*around, around[0]])
    assert [xyz(ball.pose.position) for ball in balls] == [tuple(map(float, each)) for each in around]
    assert balls[-1].scale.x == pytest.approx(0.6), "twice the radius of 0.3 m"


@pytest.mark.parametrize("prefix", only(["", "lab/"], 1))
@pytest.mark.parametrize("name", rows(shipped_worlds(), ("all_joints", "formation", "lidar_room")))
@pytest.mark.filterwarnings("ignore::sim_node.world.WorldWarning")
def test_markers_are_finite_and_on_frames_that_are_published(name: str, prefix: str) -> None:
    """What rviz wants of each: numbers, a scale above zero where it is used, unit quaternions, a colour to be seen."""
    world = assemble(load(name))
    published = {world.fixed_frame, *(prefix + frame for frame in lay_out(world).frames.names[1:])}
    for marker in markers(world, prefix):
        assert marker.header.frame_id in published
        assert np.isfinite(points(marker)).all()
        q = marker.pose.orientation
        assert math.hypot(q.x, q.y, q.z, q.w) == pytest.approx(1.0, abs=1e-9)
        lines = marker.type in (Marker.LINE_LIST, Marker.LINE_STRIP)
        text = marker.type == Marker.TEXT_VIEW_FACING
        assert marker.scale.z > 0.0 if text else marker.scale.x > 0.0 if lines else min(xyz(marker.scale)) > 0.0
        assert marker.color.a > 0.0 or marker.mesh_use_embedded_materials
        assert len(marker.points) % {Marker.TRIANGLE_LIST: 3, Marker.LINE_LIST: 2}.get(marker.type, 1) == 0


ARM = """
<robot name="arm">
  <link name="base"/>
  <link name="hand">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 0.5"/><geometry><mesh filename="hand.dae" scale="3 3 3"/></geometry></visual>
    <collision><geometry><box size="1 1 1"/></geometry></collision>
  </link>
  <joint name="wrist" type="continuous"><parent link="base"/><child link="hand"/><axis xyz="1 0 0"/></joint>
</robot>
"""


def test_what_a_description_shows_is_reported_apart_from_what_is_added_to_it(tmp_path: Path) -> None:
    """A URDF model's own links are in its robot_description, meshes too; a body that is mounted on them is not."""
    trimesh.creation.box().export(tmp_path / "hand.dae")
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "lab.yaml").write_text(
        "world: lab\ninclude:\n  - {file: arm.urdf, prefix: a}\nbodies:\n"
        "  - {name: tool, parent: a/hand, geometry: [{sphere: 0.1, mass: 1}]}\n"
    )
    found = markers(load(tmp_path / "lab.yaml"))
    (mesh,) = of(found, "a/hand", "robots")  # a box of 1 m in a COLLADA file, three times as large, 0.5 m up
    assert mesh.type == Marker.TRIANGLE_LIST
    assert len(mesh.points) == 12 * 3
    corners = np.array(
        [(point.x * mesh.scale.x, point.z * mesh.scale.z + mesh.pose.position.z) for point in mesh.points]
    )
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [[-1.5, -1.0], [1.5, 2.0]], atol=1e-6)
    assert not of(found, "a/hand", "shapes")
    (tool,) = of(found, "tool", "shapes")
    assert xyz(tool.scale) == pytest.approx((0.2, 0.2, 0.2))
