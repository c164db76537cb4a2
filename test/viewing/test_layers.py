"""A world, a bag and the running graph on one page: what is drawn where, and what is told of what they share."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from page import Page, opened, script, told
from robot_topics import a, stamped, transforms, written
from scipy.spatial.transform import Rotation
from sending import sending
from waiting import until

from sim_node.assembly import assemble
from sim_node.session.bag_view import BagView
from sim_node.viewing.browser.layers import Layers
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.schematic import read_schematic
from sim_node.world import FrameTable, World, load
from sim_node.world.frame_table import table_of
from sim_node.world.layout import lay_out

# The drone of the world flies elsewhere than that of the bag; the bag knows nothing of the pad.
WORLD = """
world: hall
frames:
  - {name: pad, pose: {position: [5, 0, 0]}}
motions:
  - {frame: drone, keyframes: [{t: 0, position: [0, -9, 0]}, {t: 9, position: [9, -9, 0]}]}
  - {frame: gate, keyframes: [{t: 0, position: [0, 0, 4]}, {t: 9, position: [0, 0, 0]}]}
bodies:
  - {name: ball, parent: drone, geometry: [{sphere: 0.4, color: [1, 0, 1]}]}
  - {name: drone/arm, parent: drone, geometry: [{box: [1, 0.1, 0.1], color: [1, 1, 0]}]}
sensors:
  - {name: pad/CAM_FRONT, parent: pad, type: camera, rate: 10}
"""
# A box for the arm, which the world draws otherwise, and one for the cart, of which the world knows nothing.
URDF = """<robot name="cart">
  <link name="drone/arm"><visual><geometry><box size="9 9 9"/></geometry></visual></link>
  <link name="cart"><visual><geometry><box size="2 1 0.5"/></geometry></visual></link>
</robot>"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    path = tmp_path_factory.mktemp("world") / "hall.yaml"
    path.write_text(WORLD, encoding="utf-8")
    return assemble(load(path))


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of three seconds: the drone at (t, 2, 1), the cart at (0, t, 0), and a goal in a frame of the world alone."""
    times = [0.05 * k for k in range(61)]
    messages = [("/tf", t, transforms("map", "drone", (t, 2.0, 1.0), t)) for t in times]
    messages += [("/tf", t, transforms("map", "cart", (0.0, t, 0.0), t)) for t in times]
    messages += [("/tf", t, transforms("drone", "drone/arm", (0.0, 0.0, 0.3), t)) for t in times]
    messages += [("/goal", t, stamped("pad", (0.0, 0.0, 1.0), t)) for t in times[::4]]
    messages += [("/robot_description", 0.0, a("std_msgs/String", data=URDF))]
    return written(tmp_path_factory.mktemp("bag") / "run", sorted(messages, key=lambda each: each[1]))


def at(viewer: Viewer, frame: str) -> list[float]:
    """Where a frame is in the fixed frame."""
    assert viewer.scene is not None
    return [round(each, 6) for each in viewer.scene.in_root[viewer.scene.frames.index(frame), :3].tolist()]


def test_sources_are_shown_apart_under_prefixes(world: World, bag: Path) -> None:
    """The drone of the world is where it starts, that of the bag at (t, 2, 1); its goal is in a frame of its own."""
    viewer, told_ = Viewer(0, "test"), list[str]()
    (_, layer) = Layers(viewer, ["hall", "run"], told_.append, world, ["world/", "bag/"]).layers
    view = BagView(bag, layer, told_.append)
    view.start(paused=True)
    view.seek(2_000_000_000)
    until(lambda: at(viewer, "bag/drone") == pytest.approx([2.0, 2.0, 1.0], abs=0.06), "the instant")
    assert at(viewer, "world/drone") == [0.0, -9.0, 0.0]
    assert viewer.scene is not None
    assert {"world/map", "bag/map", "bag/pad"} <= set(viewer.scene.frames.names)
    drawn_topics = viewer.scene.drawings.sources
    until(lambda: any(name == "/bag/goal" and each.frame for name, each in dict(drawn_topics).items()), "the goal")
    assert drawn_topics["/bag/goal"].frame == "bag/pad"
    assert viewer.texts is not None
    assert "/bag/goal" in viewer.texts.topics()
    view.close()
    assert not any("both have" in text or "connected" in text for text in told_)


def drawn(viewer: Viewer) -> list[tuple[str, str]]:
    assert viewer.scene is not None
    return sorted((viewer.scene.frames.names[shape.row], shape.kind) for shape in viewer.scene.shapes)


def shape_at(page: Page, colour: list[int]) -> list[float]:
    """Where the shape of a colour is on the page."""
    node = next(
        m["name"]
        for m in page.all("BatchedMeshesMessage")
        if m["props"]["batched_colors"].reshape(-1, 3).tolist() == [colour]
    )
    return [round(each, 3) for each in page.placed(node)[:3].tolist()]


def test_a_world_is_moved_by_the_transforms_of_a_bag(world: World, bag: Path) -> None:
    reports: list[str] = []
    viewer = Viewer(0, "test")
    view = BagView(bag, Layers(viewer, ["hall.yaml", "run"], reports.append, world).layers[1], reports.append)
    view.start(paused=True)
    with opened(viewer.url) as page:
        for seconds in (1.5, 0.5):
            view.seek(round(seconds * 1e9))
            page.until(lambda page, x=seconds: shape_at(page, [255, 0, 255]) == [x, 2.0, 1.0])  # type: ignore[misc]
        # What no transform of the bag has stays where the world puts it, and messages are drawn in it.
        assert at(viewer, "pad") == [5.0, 0.0, 0.0]
        assert at(viewer, "gate") == [0.0, 0.0, 4.0]
        page.until(lambda page: page.prop("/world/topics/0/axes", "batched_positions") is not None)
        assert page.prop("/world/topics/0/axes", "batched_positions").tolist() == [5.0, 0.0, 1.0]
        # The camera of the world has no topic in the bag.
        assert any(m["type"] == "CameraFrustumMessage" for m in page.messages)
    assert at(viewer, "cart") == [0.0, 0.5, 0.0]
    assert drawn(viewer) == [("ball", "sphere"), ("cart", "box"), ("drone/arm", "box")]
    assert viewer.scene is not None
    arm = next(each for each in viewer.scene.shapes if viewer.scene.frames.names[each.row] == "drone/arm")
    assert arm.scale.tolist() == [1.0, 0.1, 0.1]
    view.close()
    assert reports == [
        "hall.yaml and run both have the frames drone, drone/arm; poses are those of run, shapes those of hall.yaml",
        "run has no transform of the frame gate, which stay where they start",
    ]


def test_frames_that_nothing_connects_are_told_with_the_nearest_names(world: World, tmp_path: Path) -> None:
    messages = [("/tf", 0.1 * k, transforms("odom", "drone1", (1.0, 0.0, 0.0), 0.1 * k)) for k in range(9)]
    reports: list[str] = []
    viewer = Viewer(0, "test")
    bag = written(tmp_path / "other", messages)
    view = BagView(bag, Layers(viewer, ["hall.yaml", "other"], reports.append, world).layers[1], reports.append)
    view.start(paused=True)
    view.close()
    assert reports[0] == (
        "hall.yaml and other are not connected: map and odom are drawn at one place (drone; did you mean drone1?)"
    )


def test_a_bag_without_transforms_is_drawn_in_the_frames_of_the_world(world: World, tmp_path: Path) -> None:
    reports: list[str] = []
    viewer = Viewer(0, "test")
    bag = written(tmp_path / "goals", [("/goal", 0.1 * k, stamped("pad", (0.0, 1.0, 0.0), 0.1 * k)) for k in range(9)])
    view = BagView(bag, Layers(viewer, ["hall.yaml", "goals"], reports.append, world).layers[1], reports.append)
    view.start(paused=True)
    view.seek(0)
    with opened(viewer.url) as page:
        page.until(lambda page: page.prop("/world/topics/0/axes", "batched_positions") is not None)
        assert page.prop("/world/topics/0/axes", "batched_positions").tolist() == [5.0, 1.0, 0.0]
    view.close()
    assert not any("pad" in report for report in reports)


@pytest.mark.usefixtures("ros_domain")
def test_the_graph_is_above_a_bag_and_a_world(world: World, bag: Path) -> None:
    pytest.importorskip("rclpy", reason="no ROS 2 here")
    from geometry_msgs.msg import PoseStamped, TransformStamped
    from tf2_msgs.msg import TFMessage

    from sim_node.ros.live_view import LiveView

    moved = TransformStamped(child_frame_id="drone")
    moved.header.frame_id, moved.transform.translation.x = "map", 7.0
    moved.transform.rotation.w = 1.0
    goal = PoseStamped()
    goal.header.frame_id, goal.pose.position.x = "drone", 42.0
    reports: list[str] = []
    viewer = Viewer(0, "test")
    viewer.schematic = read_schematic('graph "/goal.pose.position.x"')
    layers = Layers(viewer, ["hall.yaml", "run", "the graph"], reports.append, world).layers
    with sending(("/tf_static", TFMessage(transforms=[moved]), True), ("/goal", goal, False)):
        view = BagView(bag, layers[1], reports.append)
        live = LiveView(layers[2])
        view.start(paused=True)
        view.seek(round(1.5e9))
        until(lambda: viewer.scene is not None and at(viewer, "drone") == [7.0, 0.0, 0.0])
        # The arm is of the bag, on the drone of the graph; the cart is of the bag; the pad is of the world.
        assert at(viewer, "drone/arm") == [7.0, 0.0, 0.3]
        until(lambda: at(viewer, "cart") == [0.0, 1.5, 0.0])
        assert at(viewer, "pad") == [5.0, 0.0, 0.0]
        with opened(viewer.url) as page, script(viewer.url) as foot:
            while (state := told(foot, "state"))["time"] - state["zero"] != pytest.approx(1.5):
                pass
            page.until(
                lambda page: (
                    (found := page.prop("/world/topics/0/axes", "batched_positions")) is not None
                    and found.tolist() == [49.0, 0.0, 0.0]
                )
            )
        # Of the goal, which both have, numbers and texts are those of the graph.
        assert viewer.texts is not None
        assert {"/goal", "/robot_description", "/tf_static"} <= viewer.texts.topics().keys()
        viewer.texts.choose("/goal")
        until(lambda: "x: 42.0" in (viewer.texts.text() or ""))  # type: ignore[union-attr]
        panels = viewer.panels
        assert panels is not None
        until(lambda: [graph[2][-1:] for graph in panels.since({})["graphs"]] == [[[42.0]]])
        live.close()
        view.close()
    assert "run and the graph both have the frame drone; poses are those of the graph" in reports
    assert "run and the graph both have the topic /goal; shown are those of the graph" in reports
    assert len(reports) == len(set(reports))


def test_the_sky_turns_with_the_camera_of_a_viewport(world: World) -> None:
    """A camera that looks straight down has the zenith behind it."""
    viewer = Viewer(0, "test")
    viewer.schematic = read_schematic('viewport pos="(0, 0, 0, 1, 0, 0, 5).rotate_y(90)"')
    layout = lay_out(world)
    viewer.set_scene(layout.frames, layout.poses)
    with opened(f"{viewer.url}/viewport/0") as page:
        until(viewer.server.get_clients)
        viewer.idle()
        page.until(lambda page: page.has("SetOrientationMessage", name="/sky"))
        w, x, y, z = list(page.all("SetOrientationMessage", name="/sky"))[-1]["wxyz"]
    viewer.close()
    assert Rotation.from_quat([x, y, z, w]).apply([0.0, 0.0, 1.0]) == pytest.approx([-1.0, 0.0, 0.0], abs=1e-9)


NAMES = "abcdef"


@st.composite
def trees(draw: st.DrawFn) -> tuple[FrameTable, np.ndarray]:
    """A tree of some frames, with poses."""
    order = draw(st.permutations(NAMES))[: draw(st.integers(2, len(NAMES)))]
    parents = {name: order[draw(st.integers(0, k))] for k, name in enumerate(order[1:])}
    table = table_of(parents, draw(st.sets(st.sampled_from(order))))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    turns = Rotation.random(len(table), random_state=seed).as_quat()
    return table, np.concatenate([random.uniform(-5, 5, (len(table), 3)), turns], axis=1)


@pytest.fixture(scope="module")
def viewer() -> Iterator[Viewer]:
    made = Viewer(0, "test")
    yield made
    made.close()


# Takes seconds: make test has layers one above the other.
@pytest.mark.nightly
@given(below=trees(), above=trees())
def test_the_last_layer_is_seen_as_if_it_were_alone(
    viewer: Viewer, below: tuple[FrameTable, np.ndarray], above: tuple[FrameTable, np.ndarray]
) -> None:
    """Whatever the others have: also where they turn a transform around, or put a frame elsewhere."""
    layers = Layers(viewer, ["below", "above"], lambda text: None).layers
    for layer, (table, poses) in zip(layers, (below, above), strict=True):
        layer.set_scene(table, poses)
    for layer, (_, poses) in zip(layers, (below, above), strict=True):
        layer.show(Instant(0, poses, {}))
    assert viewer.scene is not None
    frames, table = viewer.scene.frames, above[0]
    assert set(frames.names) == {*below[0].names, *table.names}
    assert viewer._instant is not None
    for target in table.names:
        for source in table.names:
            expected = table.lookup(above[1], target, source)
            found = frames.lookup(viewer._instant.poses, target, source)
            assert found[:3] == pytest.approx(expected[:3], abs=1e-9)
            assert abs(found[3:] @ expected[3:]) == pytest.approx(1.0)
    # Of the others, each frame that only they have hangs where they put it, unless that would close a loop.
    for row, name in enumerate(below[0].names):
        parent = int(below[0].parents[row])
        if parent >= 0 and name not in table.names:
            assert frames.names[int(frames.parents[frames.index(name)])] == below[0].names[parent]


# make test has all three in one scene in test/system/test_viewer.py.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
def test_one_command_shows_a_world_a_bag_and_a_foreign_graph_on_the_clock_of_the_bag(bag: Path, tmp_path: Path) -> None:
    """The graph's stamps are those of another clock, years later: they neither move the time line nor hide anything."""
    pytest.importorskip("rclpy", reason="no ROS 2 here")
    from geometry_msgs.msg import PoseStamped, TransformStamped
    from tf2_msgs.msg import TFMessage

    (tmp_path / "hall.yaml").write_text(WORLD, encoding="utf-8")
    moved = TransformStamped(child_frame_id="visitor")
    moved.header.frame_id, moved.header.stamp.sec = "pad", 1_900_000_000
    moved.transform.translation.x, moved.transform.rotation.w = 7.0, 1.0
    mark = PoseStamped()
    mark.header.frame_id, mark.header.stamp.sec, mark.pose.position.x = "visitor", 1_900_000_000, 42.0
    command = [str(Path(sys.executable).with_name("sim_node")), "view", str(tmp_path / "hall.yaml"), str(bag)]
    with sending(("/tf", TFMessage(transforms=[moved]), False), ("/mark", mark, False)):
        view = subprocess.Popen([*command, "--live", "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            assert view.stdout is not None
            url = next(found[0] for line in view.stdout if (found := re.search(r"http://[\w.:]+", line)))
            with opened(url) as page, script(url) as foot:
                # The pad is of the world, the visitor and its mark of the graph, the goal on the pad of the bag.
                page.until(lambda page: {(54.0, 0.0, 0.0), (5.0, 0.0, 1.0)} <= arrows(page))
                state = told(foot, "state")
                assert 0.0 <= state["time"] - state["zero"] <= 3.0
        finally:
            view.terminate()
            view.wait()


def arrows(page: Page) -> set[tuple[float, ...]]:
    """Where the axes of poses are drawn, whichever topic they are of."""
    found = (page.prop(f"/world/topics/{number}/axes", "batched_positions") for number in range(6))
    return {tuple(row) for each in found if each is not None for row in np.reshape(each, (-1, 3)).round(6).tolist()}
