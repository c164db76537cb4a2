"""Topics of a robot that is not ours in the viewer, as a page sees them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pymap3d
import pytest
from page import Page, camera, opened
from robot_topics import GRID, ORIGIN, a, header, jpeg, marker, pose, robot, stamped, transforms, written
from waiting import PATIENCE

from sim_node.session import Session
from sim_node.session.bag_view import BagView
from sim_node.viewing.browser import drawn_source
from sim_node.viewing.browser.drawn_source import THINNED
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.messages.drawing import Drawing, Points
from sim_node.viewing.messages.readers import READERS, ReaderContext
from sim_node.viewing.schematic import read_schematic
from sim_node.world.frame_table import table_of

AT_HOME = np.array([[0.0, 0, 0, 0, 0, 0, 1]])
AWAY = (30.0, 40.0, 12.0)
DRAWN = ["/camera/compressed", "/fix", "/goal", "/imu", "/map", "/markers", "/odom", "/particles", "/plan", "/points"]


class Shown:
    """The bag at 2 s."""

    def __init__(self, page: Page, reports: list[str]) -> None:
        self.page, self.reports = page, reports

    def node(self, topic: str) -> str:
        """Topics have nodes in the order of their names."""
        return f"/world/topics/{DRAWN.index(topic)}"

    def label(self, topic: str) -> str:
        """What the list of sources says of one."""
        said: list[str] = [m["updates"]["_markdown"] for m in self.page.messages if "_markdown" in m.get("updates", {})]
        return next(line[2:] for text in reversed(said) for line in text.splitlines() if line.startswith(f"- {topic} "))

    def array(self, topic: str, part: str, name: str, shape: tuple[int, ...]) -> np.ndarray:
        return np.asarray(self.page.prop(f"{self.node(topic)}/{part}", name)).reshape(shape)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    fix = pymap3d.enu2geodetic(*AWAY, *ORIGIN)
    bag = robot(tmp_path_factory.mktemp("bag") / "rover", (float(fix[0]), float(fix[1]), float(fix[2])))
    reports: list[str] = []
    viewer = Viewer(0, "test")
    view = BagView(bag, viewer, reports.append)
    view.start(paused=True)
    view.seek(2 * 10**9)
    with opened(viewer.url) as page:
        page.until(lambda page: any("/fix" in m.get("props", {}).get("text", "") for m in page.messages))
        page.come_to_rest()
        yield Shown(page, reports)
    view.close()


def test_a_coloured_cloud_keeps_its_colours_and_its_frame(shown: Shown) -> None:
    """The rover has gone 0 m when the cloud was measured, and is shown where it was measured."""
    assert shown.array("/points", "points", "colors", (2, 3)).tolist() == [[255, 0, 0], [0, 0, 255]]
    assert shown.label("/points") == "/points · chassis (PointCloud2)"


def test_fixes_are_in_enu_about_the_first_one(shown: Shown) -> None:
    """pymap3d as the reference."""
    at = shown.array("/fix", "points", "points", (1, 3))
    assert at[0] == pytest.approx(AWAY, abs=1e-3)
    assert shown.label("/fix") == "/fix · WGS84 to ENU about 47.397742, 8.545594, 488.0 m (NavSatFix)"


def test_odometry_in_ned_is_turned(shown: Shown) -> None:
    """1 m north, 2 m east, 3 m up; and the axes of NED: x north, z down."""
    assert shown.array("/odom", "axes", "batched_positions", (1, 3))[0] == pytest.approx([2.0, 1.0, 3.0])
    w, x, y, z = shown.array("/odom", "axes", "batched_wxyzs", (4,))
    assert np.abs([w, x, y, z]) == pytest.approx([0.0, 0.5**0.5, 0.5**0.5, 0.0], abs=1e-6)
    assert any("odom_ned" in report and "NED to ENU" in report for report in shown.reports)
    assert shown.label("/odom") == "/odom · odom_ned · NED to ENU (Odometry)"


def test_the_attitude_of_an_frd_body_is_of_flu_in_enu(shown: Shown) -> None:
    """No rotation from FRD to NED faces north: a quarter turn to the left from east (REP 103)."""
    w, x, y, z = shown.array("/imu", "axes", "batched_wxyzs", (4,))
    assert abs(w) == pytest.approx(0.5**0.5)
    assert [x, y, z * np.sign(w)] == pytest.approx([0.0, 0.0, 0.5**0.5], abs=1e-6)
    assert shown.label("/imu").endswith("NED to ENU (Imu)")


def test_poses_paths_and_arrays(shown: Shown) -> None:
    assert shown.array("/goal", "axes", "batched_positions", (3,)).tolist() == [7.0, 8.0, 9.0]
    assert shown.array("/plan", "lines", "points", (2, 3)).tolist() == [[0, 0, 0], [3, 0, 4]]
    assert len(shown.array("/particles", "axes", "batched_positions", (-1, 3))) == 2


def test_a_grid_lies_where_its_origin_says(shown: Shown) -> None:
    """3 x 2 cells of half a metre from (-1, -2)."""
    node = f"{shown.node('/map')}/raster/0"
    *_, image = shown.page.all("ImageMessage", name=node)
    assert (image["props"]["render_width"], image["props"]["render_height"]) == (1.5, 1.0)
    [at] = [m["position"] for m in shown.page.all("SetPositionMessage", name=node)][-1:]
    assert at == pytest.approx([-0.25, -1.5, 0.0])


def test_markers_stay_until_they_are_deleted(shown: Shown) -> None:
    """The cube of 1 x 2 x 3 m is there, the sphere has been deleted."""
    node = f"{shown.node('/markers')}/solids/0"
    assert shown.array("/markers", "solids/0", "batched_scales", (3,)).tolist() == [1.0, 2.0, 3.0]
    assert shown.page.placed(f"{shown.node('/markers')}/solids/0")[:3].tolist() == [4.0, 5.0, 6.0]
    assert not shown.page.has("BatchedMeshesMessage", name=node.replace("solids/0", "solids/1"))


def test_a_described_robot_is_on_its_links_and_what_is_missing_is_told(shown: Shown) -> None:
    """A magenta box half a metre above the chassis, which is at 20 m."""
    node = next(
        m["name"]
        for m in shown.page.all("BatchedMeshesMessage")
        if m["props"]["batched_colors"].reshape(-1, 3).tolist() == [[255, 0, 255]]
    )
    assert shown.page.placed(node)[:3] == pytest.approx([20.0, 0.0, 0.5])
    assert np.asarray(shown.page.prop(node, "batched_scales")) == pytest.approx([2.0, 1.0, 0.25])
    [told] = [report for report in shown.reports if "robot_description" in report]
    assert "mast" in told
    assert "nobody" in told


def test_sources_are_switched_off_by_their_names(shown: Shown) -> None:
    switch = shown.page.element("/goal")
    shown.page.send({"type": "GuiUpdateMessage", "uuid": switch["uuid"], "updates": {"value": False}})
    node = shown.node("/goal")
    shown.page.until(lambda page: any(not m["visible"] for m in page.all("SetSceneNodeVisibilityMessage", name=node)))


def test_a_bag_without_transforms_is_shown_in_the_frames_that_it_names(tmp_path: Path) -> None:
    bag = written(
        tmp_path / "poses", [("/goal", 0.0, stamped("odom", (1, 2, 3))), ("/goal", 1.0, stamped("odom", (1, 2, 4)))]
    )
    reports: list[str] = []
    viewer = Viewer(0, "test")
    view = BagView(bag, viewer, reports.append)
    view.start(paused=True)
    view.seek(10**9)
    with opened(viewer.url) as page:
        page.until(lambda page: any(m.get("props", {}).get("text") == "/goal · odom" for m in page.messages))
    view.close()
    assert reports == ["no transform has the frame 'odom': drawn at map"]


@pytest.mark.parametrize("names", [("/a", "/b"), ("/b", "/a")])
def test_labels_say_the_same_in_whatever_order_topics_arrive(names: tuple[str, str], tmp_path: Path) -> None:
    poses = [(name, 0.5 * number, stamped("odom", (1, 2, 3))) for number, name in enumerate(names)]
    view = BagView(written(tmp_path / "poses", poses), viewer := Viewer(0, "test"), print)
    try:
        view.start(paused=True)
        view.seek(view.span[1])
        with opened(viewer.url) as page:
            texts: list[str] = []

            def joined(page: Page) -> bool:
                texts[:] = [m["props"]["text"] for m in page.all("LabelMessage") if ", " in m["props"]["text"]]
                return bool(texts)

            page.until(joined)
        assert texts[-1] == "/a · odom, /b · odom"
    finally:
        view.close()


def shown_points(count: int) -> tuple[Viewer, Instant]:
    """A page with a topic of points, and the first instant that has them."""
    viewer = Viewer(0, "test")
    viewer.set_scene(table_of({}, set(), ["map"]), AT_HOME, sources={"/points": "sensor_msgs/msg/PointCloud2"})
    drawing = Drawing("map", (Points("map", np.zeros((count, 3))),))
    return viewer, Instant(0, AT_HOME, {"/points": (drawing, AT_HOME)})


def test_labels_come_with_what_they_are_about() -> None:
    viewer, instant = shown_points(1)
    viewer.show(instant)
    with opened(viewer.url) as page:
        page.until(lambda page: any(m.get("props", {}).get("text") == "/points · map" for m in page.messages))
    viewer.close()


def test_pages_are_sent_what_there_is_while_a_large_cloud_is_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a lidar with a million points got no pictures: one cloud followed the other."""
    viewer, instant = shown_points(THINNED + 1)
    arrived = threading.Event()

    def placing(count: int) -> Any:
        viewer.server.scene.add_frame("/meanwhile")
        assert arrived.wait(PATIENCE)
        return np.arange(count)

    monkeypatch.setattr(drawn_source, "spread", placing)
    shows = threading.Thread(target=viewer.show, args=(instant,))
    with opened(viewer.url) as page:
        shows.start()
        page.until(lambda page: any(m.get("name") == "/meanwhile" for m in page.messages))
        arrived.set()
        page.until(lambda page: any(m.get("props", {}).get("text") == "/points · map" for m in page.messages))
    shows.join()
    viewer.close()


def test_a_bag_that_begins_paused_shows_its_first_messages(tmp_path: Path) -> None:
    bag = written(tmp_path / "poses", [("/goal", float(at_s), stamped("odom", (at_s, 0, 0))) for at_s in (0, 1)])
    view = BagView(bag, viewer := Viewer(0, "test"), print)
    view.start(paused=True)
    with opened(viewer.url) as page:
        page.until(lambda page: any(m.get("props", {}).get("text") == "/goal · odom" for m in page.messages))
        assert np.asarray(page.prop("/world/topics/0/axes", "batched_positions")).tolist() == [0.0, 0.0, 0.0]
    view.close()


def test_axes_of_topics_are_no_larger_than_the_robot_beside_them(tmp_path: Path) -> None:
    """Of a drone that is 0.9 m wide, in a scene of 24 m."""
    with Session("quadrotor", record=tmp_path / "run", real_time_factor=0.0) as session:
        session.run(1.0)
    view = BagView(tmp_path / "run", viewer := Viewer(0, "test"), print)
    view.start(paused=True)
    view.seek(view.span[1])
    scales: list[float] = []

    def drawn(page: Page) -> bool:
        axes = (m for m in page.all("BatchedAxesMessage") if m["name"].startswith("/world/topics/"))
        scales[:] = [length for m in axes for length in np.ravel(m["props"]["batched_scales"])]
        return len(scales) >= 2

    with opened(viewer.url) as page:
        page.until(drawn)
    view.close()
    assert max(scales) <= 0.45


def read(message: Any) -> Any:
    return READERS[message.__msgtype__].open(ReaderContext("/topic"))(message)


def test_a_compressed_image_has_the_colours_of_its_jpeg() -> None:
    [item] = read(jpeg("camera")).items
    assert item.pixels.shape == (16, 32, 3)
    assert np.abs(item.pixels.astype(int) - [0, 200, 0]).max() <= 3


def test_cells_are_light_where_free_and_dark_where_occupied() -> None:
    grid = a("nav_msgs/OccupancyGrid", header=header("map"), data=GRID.ravel())
    grid.info = a("nav_msgs/MapMetaData", resolution=np.float32(0.5), width=3, height=2, origin=pose((0, 0, 0)))
    [raster] = read(grid).items
    brightness = raster.cells[..., :3].astype(int).sum(axis=-1)
    assert brightness[0, 0] > brightness[1, 0] > brightness[0, 1], "0, 50 and 100 of 100"
    assert raster.cells[0, 2, 3] < raster.cells[0, 0, 3], "unknown cells are fainter"


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (a("nav_msgs/OccupancyGrid", data=np.zeros(5, np.int8)), "0 x 0 cells in 5 values"),
        (a("sensor_msgs/CompressedImage", format="png", data=np.zeros(9, np.uint8)), "not an image of JPEG, PNG, WEBP"),
        (a("sensor_msgs/CompressedImage", format="32FC1; compressedDepth"), "compressedDepth"),
        (marker(3, 12, (0, 0, 0)), "a marker of type 12; known: 0 to 11"),
        (marker(3, 10, (0, 0, 0), mesh_resource="https://example.com/a.stl"), "package:// and file:// URIs are read"),
        (marker(3, 10, (0, 0, 0), mesh_resource="file:///etc/passwd"), "the mesh passwd; known: .stl"),
    ],
)
def test_what_cannot_be_shown_says_why(message: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read(message)


def test_a_fix_without_a_position_and_an_imu_without_an_attitude_show_nothing() -> None:
    fix = a("sensor_msgs/NavSatFix", header=header("gps"))
    fix.status.status = -1
    imu = a("sensor_msgs/Imu", header=header("imu"))
    imu.orientation_covariance[0] = -1.0
    assert [read(fix).items, read(imu).items] == [(), ()]


def test_an_arrow_between_two_points_reaches_from_one_to_the_other() -> None:
    arrow = marker(0, 0, (0, 0, 0), points=[a("geometry_msgs/Point"), a("geometry_msgs/Point", x=0.0, y=5.0, z=0.0)])
    [solids] = read(arrow).items
    shaft, head = solids.shapes
    tip = head.pose[:3] + [0.0, head.scale[2], 0.0]
    assert tip == pytest.approx([0.0, 5.0, 0.0])
    assert shaft.scale[2] + head.scale[2] == pytest.approx(5.0)


# Takes seconds: make test has what topics draw.
@pytest.mark.nightly
def test_texts_of_messages_and_names_of_arrows_lie_on_no_other_label(tmp_path: Path) -> None:
    """From afar, one of three at nearly one place is there; from nearby, all are."""
    at = [(0.0, 0.0, 0.0), (0.1, 0.09, 0.08)]
    texts = [marker(number, 9, each, text=f"text {number}") for number, each in enumerate(at)]  # TEXT_VIEW_FACING
    lines = [("/tf_static", 0.0, transforms("map", "far", (30.0, 30.0, 0.0), 0.0))]
    lines += [("/notes", 0.1 * number, text) for number, text in enumerate(texts)]
    bag = written(tmp_path / "run", lines)
    viewer = Viewer(0, "run")
    viewer.schematic = read_schematic("""
        vector_arrow "(-0.1, -0.09, -0.08)" name=wind
        hsplit { viewport pos="(20, 18, 16)" look_at="(0, 0, 0)"; viewport pos="(0.6, -0.4, 0)" look_at="(0, 0, 0)"; }
    """)
    view = BagView(bag, viewer, print)
    try:
        view.start(paused=True)
        view.seek(view.span[1])
        with opened(viewer.url, (20.0, 18.0, 16.0), (0.0, 0.0, 0.0)) as page:
            nodes: dict[str, str] = {}

            def written_all(page: Page) -> bool:
                found = {m["props"]["text"]: m["name"] for m in page.messages if m.get("props", {}).get("text")}
                nodes.update({text: node for text, node in found.items() if text in ("text 0", "text 1", "wind")})
                return len(nodes) == 3

            def hidden(page: Page) -> set[str]:
                last = {m["name"]: m["visible"] for m in page.all("SetSceneNodeVisibilityMessage")}
                return {text for text, node in nodes.items() if last.get(node) is False}

            page.until(written_all)
            page.until(lambda page: len(hidden(page)) == 2)
            page.send(camera((0.6, -0.4, 0.0), (0.0, 0.0, 0.0)))
            page.until(lambda page: not hidden(page))
        # The cameras of viewports are at the origin and look along x; the scene lies in front of them.
        origin, ahead = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)
        with (
            opened(f"{viewer.url}/viewport/0", origin, ahead) as far,
            opened(f"{viewer.url}/viewport/1", origin, ahead) as near,
        ):
            for page in (far, near):
                page.until(written_all)
            far.until(lambda page: len(hidden(page)) == 2)
            # The label of the topic is where text 0 is.
            near.until(lambda page: page.has("SetPositionMessage", name="/world") and hidden(page) == {"text 0"})
            near.come_to_rest()
            assert hidden(near) == {"text 0"}
    finally:
        view.close()
