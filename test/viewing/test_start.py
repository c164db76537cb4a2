"""Where the camera of a page begins: on a robot, as the world says, or with all in the picture."""

from __future__ import annotations

import numpy as np
import pytest

from sim_node.session import Session
from sim_node.spatial.geometry import quaternions
from sim_node.viewing.browser.overlays import bare_rows, main_rows
from sim_node.viewing.browser.start import PAGE, SHARE, opening, subject_of
from sim_node.viewing.renderer import Renderer
from sim_node.viewing.shapes import shapes_of
from sim_node.world import FrameTable, Viewpoint, WorldError, load, loads
from sim_node.world.frame_table import table_of
from sim_node.world.layout import lay_out

BOX = np.array([[x, y, z] for x in (4.7, 5.3) for y in (-0.3, 0.3) for z in (1.9, 2.1)])


def table(parents: dict[str, str], moving: set[str]) -> FrameTable:
    return table_of(parents, moving, ["map"])


def found(frames: FrameTable) -> tuple[set[str], str | None] | None:
    subject = subject_of(frames, main_rows(frames))
    if subject is None:
        return None
    return {frames.names[row] for row in subject.rows}, None if subject.base is None else frames.names[subject.base]


def test_a_robot_is_what_has_a_moving_base_link() -> None:
    """REP 105. The door moves, too, and the rail carries the cart."""
    parents = {"door": "map", "rail": "map", "cart/base_link": "rail", "cart/lidar": "cart/base_link", "post": "map"}
    frames = table(parents, {"door", "rail"})
    assert found(frames) == ({"cart/base_link", "cart/lidar"}, "cart/base_link")


def test_an_arm_is_seen_with_its_mount_and_is_not_followed() -> None:
    links = [f"arm/link_{number}" for number in range(5)]
    parents = {"arm/base_link": "map", **dict(zip(links, ["arm/base_link", *links], strict=False)), "cube": "map"}
    assert found(table(parents, {*links, "cube"})) == ({"arm/base_link", *links}, None)


def test_a_robot_without_a_base_link_is_followed_by_its_root() -> None:
    """As of a humanoid of MuJoCo: its torso floats free."""
    limbs = dict.fromkeys(("head", "left_arm", "right_arm", "left_leg"), "torso")
    assert found(table({"torso": "map", **limbs, "ball": "map"}, {"torso", *limbs, "ball"})) == (
        {"torso", *limbs},
        "torso",
    )


def test_of_many_things_none_is_the_robot() -> None:
    assert found(table({"a": "map", "b": "map", "c": "map"}, {"a", "b", "c"})) is None
    assert found(table({"a": "map"}, set())) is None


def test_the_robot_fills_its_part_of_a_common_page() -> None:
    """Each corner is projected by a pinhole camera of the textbook; the largest extent counts, of what is free."""
    view = opening(np.zeros((0, 3)), BOX, None).view()
    pixels, depths = view.project(BOX)
    assert (depths > 0.0).all()
    assert pixels.mean(axis=0) == pytest.approx([0.5 * PAGE[0], 0.5 * PAGE[1]], abs=12.0)
    extent = np.ptp(pixels, axis=0) / PAGE
    assert 0.5 * SHARE < extent.max() <= SHARE
    # Three-quarter view, from above.
    assert view.pose[2] > BOX[:, 2].max()


def test_the_world_says_where_the_camera_is() -> None:
    viewpoint = Viewpoint(position=np.array([-3.0, -2.0, 1.5]), follow="drone")
    view = opening(BOX, BOX, viewpoint).view()
    assert view.pose[:3] == pytest.approx([-3.0, -2.0, 1.5])
    ahead = quaternions.rotate(view.pose[3:], np.array([1.0, 0.0, 0.0]))
    assert ahead == pytest.approx(np.array([3.0, 2.0, -1.5]) / np.sqrt(15.25))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{position: [1, 2, 3], follow: dron}", "<text>:3:9: camera.follow: no frame 'dron'; did you mean drone?"),
        (
            "{position: [1, 2, 3], look_at: [1, 2, 3]}",
            "<text>:3:40: camera.look_at: [1.0, 2.0, 3.0] is the position of the camera; it must look elsewhere",
        ),
    ],
)
def test_a_camera_that_cannot_look_is_refused_with_its_place(text: str, line: str) -> None:
    with pytest.raises(WorldError) as refused:
        lay_out(loads(f"world: w\nframes: [{{name: drone}}]\ncamera: {text}\n"))
    assert line in str(refused.value)


def test_axes_are_where_nothing_else_is_seen() -> None:
    """The drone has shapes, and its sensors are on it; the fixed frame and waypoints have nothing else."""
    world = load("quadrotor")
    frames = lay_out(world).frames
    bare = bare_rows(frames, shapes_of(world, frames))
    assert bare[0]
    assert not any(bare[row] for row, name in enumerate(frames.names) if name.startswith("drone/"))


def test_a_page_looks_through_the_table_of_an_arm_and_not_through_its_base() -> None:
    with Session("arm_pick", view=0) as session:
        session.run(0.01)
        assert session.viewer is not None
        walls = np.array([centre for _, centre, *_ in session.viewer.opening()["walls"]])
    # The middles of its first box and of the cylinder of the base, as in the file of the world.
    table, base = [0.35, 0.0, 0.725], [0.0, 0.0, 0.75 + 0.06]
    assert [np.linalg.norm(walls - place, axis=1).min() < 1e-3 for place in (table, base)] == [True, False]


def test_the_name_of_what_carries_a_body_is_above_the_body() -> None:
    text = """
world: w
motions: [{frame: drone, keyframes: [{t: 0, position: [1, 2, 3]}, {t: 1, position: [2, 2, 3]}]}]
bodies: [{name: ball, parent: drone, geometry: [{sphere: 0.4}]}]
"""
    with Session(loads(text), view=0) as session:
        session.run(0.01)
        assert session.viewer is not None
        assert session.viewer.scene is not None
        places = {label.text: place for label, place, _ in session.viewer.scene.names.placed()}
    assert places["drone"] == pytest.approx([1.0, 2.0, 3.4], abs=0.1)
    assert places["drone"][2] > 3.4


def test_views_are_fitted_to_what_stands_on_a_ground_that_ends() -> None:
    """As SDF has it: a plane of 100 m, which is a thin box. The ball is within 0.4 m of the places at both ends."""
    text = """
world: w
bodies:
  - {name: ground, geometry: [{box: [100, 100, 0.001], pose: {position: [0, 0, -0.0005]}}]}
  - {name: ball, joint: free, pose: {position: [1, 2, 0.4]}, geometry: [{sphere: 0.4, mass: 1}]}
physics: {gravity: [0, 0, 0]}
"""
    world = loads(text)
    with Session(world, view=0) as session:
        session.run(0.01)
        assert session.viewer is not None
        corners = np.array(session.viewer.opening()["points"])
    assert (np.abs(corners).max(axis=0) < [1.5, 2.5, 1.3]).all()
    layout = lay_out(world)
    renderer = Renderer(world, layout, (64, 48))
    seen, _ = renderer.corners(layout.frames.in_root(layout.poses)[None])
    assert seen.reshape(-1, 3).min(axis=0) == pytest.approx([0.6, 1.6, 0.0])
    assert seen.reshape(-1, 3).max(axis=0) == pytest.approx([1.4, 2.4, 0.8])
