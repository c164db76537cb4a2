"""The viewer as a page sees it, over its websocket."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import claims
import numpy as np
import pytest
from page import Page, camera, opened, press, script, told
from waiting import PATIENCE, until

from sim_node.session import Session
from sim_node.simulation import Loop, Simulation
from sim_node.viewing.browser.rewind import Rewind
from sim_node.viewing.browser.server import Server
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.view_sink import ViewSink
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.ports import DEFAULT_PORT, HOST, PagePortInUse, free_port
from sim_node.world import World, load, loads

# A box of its own colour that goes along x at 1 m/s and turns, below a cart that goes along y; and a post.
WORLD = """
world: test
time: {step: 0.01}
motions:
  - frame: cart
    keyframes: [{t: 0, position: [0, 0, 0]}, {t: 1000, position: [0, 500, 0]}]
  - frame: crane
    parent: cart
    keyframes:
      - {t: 0, position: [0, 0, 2]}
      - {t: 1, position: [1, 0, 2], rpy_deg: [0, 0, 90]}
      - {t: 2, position: [2, 0, 2], rpy_deg: [0, 0, 180]}
bodies:
  - {name: post, geometry: [{cylinder: [0.1, 1], pose: {position: [3, 0, 0.5]}}]}
  - {name: box, parent: crane, geometry: [{box: [0.2, 0.3, 0.4], pose: {position: [0.5, 0, 0]}, color: [1, 0, 1]}]}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    path = tmp_path / "test.yaml"
    path.write_text(WORLD, encoding="utf-8")
    return load(path)


@pytest.fixture
def run(world: World) -> Iterator[tuple[Loop, str]]:
    """A paused run in the viewer, and where its page is."""
    viewer = Viewer(0, "test")
    sink = ViewSink(viewer)
    loop = Loop(Simulation(world), (sink,), paused=True)
    sink.steer(loop)
    loop.start()
    loop.pause()  # is answered once the world is on the page
    yield loop, viewer.url
    loop.stop()


def matrix(pose: np.ndarray) -> np.ndarray:
    """The textbook's homogeneous matrix of [x y z qx qy qz qw]."""
    x, y, z, w = pose[3:]
    made = np.eye(4)
    made[:3, 3] = pose[:3]
    made[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return made


def box_node(page: Page) -> str:
    """The node of the magenta box."""
    return next(
        str(m["name"])
        for m in page.all("BatchedMeshesMessage")
        if m["props"]["batched_colors"].reshape(-1, 3).tolist() == [[255, 0, 255]]
    )


def steps_to(loop: Loop, page: Page, steps: int) -> None:
    """Steps a paused run, and waits until the page has heard of it."""
    before = len(page.messages)
    loop.step(steps)
    # The axes of the cart, at 0.5 m/s along y, come after the shapes of the same instant.
    there = [0.0, 0.5 * loop.simulation.time_ns / 1e9, 0.0]
    page.until(
        lambda page: any(
            message.get("name") == "/world/axes/1" and np.allclose(message.get("position", np.nan), there, atol=1e-6)
            for message in page.messages[before:]
        )
    )


def test_a_shape_is_where_the_product_of_the_matrices_says(run: tuple[Loop, str]) -> None:
    loop, url = run
    with opened(url) as page:
        node = box_node(page)
        for steps in (50, 70, 30):
            steps_to(loop, page, steps)
            t = loop.simulation.steps * 0.01
            turn = np.pi / 2 * min(t, 2.0) / 2.0
            cart = matrix(np.array([0, 0.5 * t, 0, 0, 0, 0, 1.0]))
            crane = matrix(np.array([min(t, 2.0), 0, 2, 0, 0, np.sin(turn), np.cos(turn)]))
            expected = cart @ crane @ matrix(np.array([0.5, 0, 0, 0, 0, 0, 1.0]))
            assert matrix(page.placed(node)) == pytest.approx(expected, abs=1e-5)


def test_geometry_is_sent_once_and_what_stands_still_never_again(run: tuple[Loop, str]) -> None:
    loop, url = run
    with opened(url) as page:
        made = len(list(page.all("BatchedMeshesMessage")))
        still = {m["name"] for m in page.all("BatchedMeshesMessage")} - {box_node(page)}
        for _ in range(5):
            steps_to(loop, page, 10)
        assert len(list(page.all("BatchedMeshesMessage"))) == made
        assert still
        assert not any(page.has("SceneNodeUpdateMessage", name=name) for name in still)
        assert not any(page.has("SetPositionMessage", name=name) for name in still)
        assert not page.has("SceneNodeUpdateMessage", name=box_node(page)), "its node moves, with labels and frustums"
        assert len(list(page.all("SetPositionMessage", name=box_node(page)))) >= 5


def test_nothing_is_sent_while_nothing_moves(run: tuple[Loop, str]) -> None:
    loop, url = run
    with opened(url) as page:
        steps_to(loop, page, 10)
        page.come_to_rest()
        before = len(page.messages)
        page.take_in(1.0)
        assert [message["type"] for message in page.messages[before:]] == []


def test_solid_shapes_cast_shadows_and_the_sky_does_not(run: tuple[Loop, str]) -> None:
    with opened(run[1]) as page:
        batches = [message["props"] for message in page.all("BatchedMeshesMessage")]
        assert batches
        assert all(batch["cast_shadow"] and batch["receive_shadow"] for batch in batches)
        assert not page.prop("/sky", "cast_shadow")


def test_a_click_on_a_shape_shows_its_frame_pose_mass_and_topics(tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    shapes = "[{box: [0.2, 0.3, 0.4], mass: 1.5, color: [1, 0, 1]}, {sphere: 0.1, mass: 0.25}]"
    path.write_text(
        WORLD + f"  - {{name: load, pose: {{position: [1, 2, 5]}}, joint: free, geometry: {shapes}}}\n"
        "sensors: [{name: load/imu, parent: load, type: imu}]\n",
        encoding="utf-8",
    )
    with Session(path, view=0) as session:
        session.run(0.01)
        assert session.viewer is not None
        with opened(session.viewer.url) as page:
            boxes = [m["name"] for m in page.all("BatchedMeshesMessage") if page.placed(m["name"])[2] > 4.9]
            click = {"type": "SceneNodeClickMessage", "name": boxes[0], "instance_index": 0, "modifier": None}
            ray = {"ray_origin": (0.0, 0.0, 9.0), "ray_direction": (0.0, 0.0, -1.0), "screen_pos": (0.5, 0.5)}
            page.send({**click, **ray, "owner": ""})
            page.until(lambda page: any("`load` in `map`" in str(m) for m in page.all("GuiUpdateMessage")))
            told = next(str(m["updates"]) for m in page.all("GuiUpdateMessage") if "`load` in `map`" in str(m))
    assert "| position, m | 1.000 | 2.000 | " in told
    assert "mass 1.75 kg" in told
    assert "load/imu" in told


def test_shadows_and_the_dark_are_switched_in_the_panel(run: tuple[Loop, str]) -> None:
    with opened(run[1]) as page:
        light = page.prop("/world/ground/0", "cell_color")
        for label, value in (("Shadows", False), ("Dark", True)):
            page.send({"type": "GuiUpdateMessage", "uuid": page.element(label)["uuid"], "updates": {"value": value}})
        page.until(lambda page: page.has("EnableLightsMessage", enabled=True, cast_shadow=False))
        page.until(lambda page: page.has("ThemeConfigurationMessage", dark_mode=True))
        page.until(lambda page: sum(page.prop("/world/ground/0", "cell_color")) < sum(light))


def test_buttons_play_pause_step_and_reset_the_run(run: tuple[Loop, str]) -> None:
    loop, url = run
    with script(url) as foot:
        press(foot, "play")
        until(lambda: not loop.paused and loop.simulation.steps > 20, "it runs")
        press(foot, "pause")
        until(lambda: loop.paused, "it is paused")
        at = loop.simulation.steps
        press(foot, "step")
        # A sixtieth of a second in whole steps of 10 ms.
        until(lambda: loop.simulation.steps == at + 2, "a step")
        press(foot, "reset")
        until(lambda: loop.simulation.steps == 0, "the reset")
        assert loop.paused


def test_a_speed_is_kept(run: tuple[Loop, str]) -> None:
    loop, url = run
    with script(url) as foot:
        press(foot, "speed", 5.0)
        until(lambda: loop.real_time_factor == 5.0, "the speed")


def test_the_page_looks_back_at_a_run_that_goes_on(run: tuple[Loop, str]) -> None:
    """The crane goes along x at 1 m/s: where the box is shows which time the page has."""
    loop, url = run
    with script(url) as foot, opened(url) as page:
        press(foot, "speed", 0.25)  # a busy machine keeps fewer instants: in 0.1 s of the run, it has 0.4 s for one
        press(foot, "play")
        until(lambda: loop.simulation.steps > 40, "it runs")
        press(foot, "seek", 0.3)
        seen = told(foot, "state")
        while seen["live"] or seen["time"] > 0.3:
            seen = told(foot, "state")
        # The last instant in the memory before this one; thirty are kept in a second.
        assert not seen["playing"]
        assert 0.2 < seen["time"] <= 0.3
        at = loop.simulation.steps
        page.until(lambda page: page.placed("/world/axes/2")[0] == pytest.approx(seen["time"], abs=1e-3))
        until(lambda: loop.simulation.steps > at + 20, "it goes on")
        press(foot, "back")
        while (earlier := told(foot, "state"))["time"] == seen["time"]:
            assert not earlier["live"]
        assert seen["time"] - 0.2 < earlier["time"] < seen["time"]
        press(foot, "live")
        while not (now := told(foot, "state"))["live"]:
            assert now["time"] < 0.3
        while now["time"] < 0.01 * at:
            now = told(foot, "state")
        press(foot, "pause")
        until(lambda: loop.paused, "it is paused")


def test_the_memory_of_a_run_forgets_the_oldest() -> None:
    shown = list[Instant]()
    still: Any = SimpleNamespace(playing=True, why="", speed=1.0, speed_set=1.0)
    rewind = Rewind(still, shown.append, lambda: None, size=5 * 2 * 7 * 8)

    def state() -> tuple[bool | None, int, tuple[int, int] | None]:
        return rewind.live, shown[-1].time_ns, rewind.span

    for number in range(8):
        rewind._due = 0.0  # of the wall clock, which has nothing to do with it
        rewind.show(Instant(number, np.full((2, 7), float(number)), {"imu": (np.array([number]), np.zeros((0, 7)))}))
    *_, span = state()
    assert span is not None
    assert span[1] == 7
    assert span[0] >= 3
    rewind.seek(5)
    assert (rewind.live, rewind.playing, shown[-1].time_ns) == (False, False, 5)
    assert shown[-1].poses[0, 0] == 5.0
    assert shown[-1].measurements["imu"][0] == [5]
    assert shown[-1].passed is not None
    assert [each.poses[0, 0] for each in shown[-1].passed] == list(range(span[0], 6)), "how it came there"
    rewind.seek(0)
    assert shown[-1].time_ns == span[0]
    before = len(shown)
    rewind.show(Instant(8, np.full((2, 7), 8.0), {}))
    assert len(shown) == before  # the page looks back
    rewind.to_live()
    assert state()[:2] == (True, 8)
    assert shown[-1].passed is None, "it follows on what was kept"
    rewind.seek(6)
    rewind.show(Instant(0, np.zeros((2, 7)), {}))  # a reset
    assert state() == (True, 0, None)


def test_the_memory_is_read_while_an_instant_is_shown() -> None:
    """By a thread with the page's lock, for which the one that shows may wait."""
    page, showing = threading.Lock(), threading.Event()

    def show(instant: Instant) -> None:
        showing.set()
        with page:
            pass

    rewind = Rewind(SimpleNamespace(), show, lambda: None, size=1_000_000)
    rewind.show(Instant(0, np.zeros((2, 7)), {}))
    showing.clear()
    with page:
        shower = threading.Thread(target=rewind.show, args=(Instant(10**9, np.ones((2, 7)), {}),), daemon=True)
        shower.start()
        assert showing.wait(PATIENCE)
        answers: list[Any] = []
        reader = threading.Thread(target=lambda: answers.extend([*rewind.kept(9), rewind.span]), daemon=True)
        reader.start()
        reader.join(PATIENCE / 8)
        assert answers, "it waits for ever"
    shower.join(PATIENCE)


def test_a_page_that_comes_late_sees_the_present(run: tuple[Loop, str]) -> None:
    loop, url = run
    with opened(url) as first:
        steps_to(loop, first, 100)
    with opened(url) as second, opened(url) as third:
        node = box_node(second)
        expected = [1.0 + 0.5 * np.cos(np.pi / 2), 0.5 + 0.5, 2.0]
        assert second.placed(node)[:3] == pytest.approx(expected, abs=1e-5)
        assert third.placed(node)[:3] == pytest.approx(expected, abs=1e-5)


def test_following_a_frame_keeps_it_in_the_middle(run: tuple[Loop, str]) -> None:
    loop, url = run
    with opened(url) as page:
        page.send({"type": "GuiUpdateMessage", "uuid": page.element("Follow")["uuid"], "updates": {"value": "crane"}})
        page.until(lambda page: page.has("SetPositionMessage", name="/world"))
        steps_to(loop, page, 100)
        *_, root = page.all("SetPositionMessage", name="/world")
        assert root["position"] == pytest.approx([-1.0, -0.5, -2.0], abs=1e-6)


def test_the_lookup_is_tf2s(run: tuple[Loop, str]) -> None:
    """crane in map at 1 s: (1, 0.5, 2), turned by 90 degrees."""
    loop, url = run
    with opened(url) as page:
        page.send({"type": "GuiUpdateMessage", "uuid": page.element("Source")["uuid"], "updates": {"value": "crane"}})
        steps_to(loop, page, 100)

        def reported(page: Page) -> str:
            texts = [str(m["updates"]) for m in page.all("GuiUpdateMessage") if "`crane` in `map`" in str(m["updates"])]
            return texts[-1] if texts else ""

        page.until(lambda page: "| 1.000 | 0.500 | 2.000 |" in reported(page))
        assert "| 0.00 | 0.00 | 90.00 |" in reported(page)


def test_numbers_of_sensors_are_written_out(tmp_path: Path) -> None:
    """The crane at 1 s is at (1, 0.5, 2) in map."""
    path = tmp_path / "test.yaml"
    path.write_text(WORLD + "sensors: [{name: tracker, parent: crane, type: ground_truth}]\n", encoding="utf-8")
    viewer = Viewer(0, "test")
    sink = ViewSink(viewer)
    loop = Loop(Simulation(load(path)), (sink,), paused=True)
    sink.steer(loop)
    loop.start()
    loop.pause()
    try:
        with opened(viewer.url) as page:
            page.take_in(0.5)
            steps_to(loop, page, 100)
            page.until(lambda page: any("| x | 1 |" in str(m) for m in page.all("GuiUpdateMessage")))
            reported = [str(m["updates"]) for m in page.all("GuiUpdateMessage") if "| x | 1 |" in str(m)][-1]
            assert "| y | 0.5 |" in reported
            assert "| z | 2 |" in reported
    finally:
        loop.stop()


def test_a_plot_keeps_its_last_samples_and_no_more(world: World) -> None:
    from sim_node.viewing.browser.plots import SAMPLES, SIGNALS, Plot

    class Gui:
        def add_uplot(self, data: object, series: tuple[dict[str, str], ...], **more: object) -> Gui:
            self.labels = [each["label"] for each in series]
            return self

    plot = Plot(Gui(), "a", [0], "velocity (m/s)", SIGNALS["velocity (m/s)"])
    assert plot.handle.labels == ["time (s)", "vx", "vy", "vz"]
    for k in range(2 * SAMPLES):
        plot.sample(0.1 * k, np.array([0.3 * k, 0, -0.1 * k, 0, 0, 0, 1.0]))
    plot.show()
    time_s, *velocity = plot.handle.data
    assert len(time_s) == SAMPLES
    assert time_s[-1] == pytest.approx(0.1 * (2 * SAMPLES - 1))
    assert np.stack(velocity, axis=1) == pytest.approx(np.tile([3.0, 0.0, -1.0], (SAMPLES, 1)))
    # Of the same instant, as after a seek, the last word counts.
    plot.sample(time_s[-1], np.array([0.3 * (2 * SAMPLES - 1) + 0.2, 0, -0.1 * (2 * SAMPLES - 1), 0, 0, 0, 1.0]))
    plot.show()
    time_s, *velocity = plot.handle.data
    assert len(time_s) == SAMPLES
    assert [each[-1] for each in velocity] == pytest.approx([5.0, 0.0, -1.0])
    first = time_s[0]
    for back_s in (first + 0.03, first + 1.0):  # looked back at: there are samples near
        plot.sample(back_s, np.array([0, 0, 0, 0, 0, 0, 1.0]))
    plot.show()
    assert plot.handle.data[0] == pytest.approx(time_s)
    plot.clear()
    plot.show()
    assert len(plot.handle.data[0]) == 0
    assert plot.handle.scales["y"]["range"] == (-1, 1), "uPlot has 0 to 100 for zeros alone"


def test_a_trail_has_bounded_memory_and_ends_at_its_frame() -> None:
    from sim_node.viewing.browser.overlays import POINTS, Trails

    class Lines:
        points: np.ndarray

    class FakeScene:
        def add_frame(self, node: str, **more: object) -> SimpleNamespace:
            return SimpleNamespace(position=more.get("position"))

        def add_line_segments(self, node: str, points: np.ndarray, colours: np.ndarray, **more: object) -> Lines:
            assert colours.shape == points.shape
            return Lines()

    trails = Trails(FakeScene(), "/trails", 1.0)
    angles = np.linspace(0.0, 30.0, 3000)
    circle = np.zeros((len(angles), 1, 7))
    circle[:, 0, 0], circle[:, 0, 1], circle[:, 0, 6] = np.cos(angles), np.sin(angles), 1.0
    trails.choose([0], ["runner"], circle[0])
    for pose in circle:
        trails.follow(pose)
    trails.show()
    segments = trails._handle.points
    assert segments.shape == (POINTS - 1, 2, 3)
    assert segments[-1, 1] == pytest.approx(circle[-1, 0, :3], abs=1e-6)
    assert np.linalg.norm(segments, axis=-1) == pytest.approx(1.0, abs=1e-6)
    assert segments[1:, 0] == pytest.approx(segments[:-1, 1])
    assert [end.position for end in trails._ends] == [pytest.approx(circle[-1, 0, :3], abs=1e-6)]


def test_the_stream_never_keeps_the_loop_waiting_and_shows_the_newest() -> None:
    from sim_node.viewing.browser.stream import Stream

    busy, go_on = threading.Event(), threading.Event()
    shown: list[tuple[int, float, set[str]]] = []
    enough = threading.Event()

    def show(instant: Instant) -> None:
        shown.append((instant.time_ns, float(instant.poses[0, 0]), set(instant.measurements)))
        busy.set()
        go_on.wait()
        if instant.time_ns == 1000:
            enough.set()

    stream = Stream(1, show, lambda: None)
    pose = np.zeros((1, 7))
    stream.offer(0, pose, {})
    assert busy.wait(PATIENCE)
    for k in range(1, 1001):  # would never end if it waited: nothing is shown until go_on
        pose[0, 0] = k
        stream.offer(k, pose, {"lidar": (np.zeros(1), pose)} if k == 7 else {})
    go_on.set()
    assert enough.wait(PATIENCE)
    stream.close()
    assert shown == [(0, 0.0, set()), (1000, 1000.0, {"lidar"})]


def test_colours_are_made_linear() -> None:
    """IEC 61966-2-1: half of a screen's full value is 21.4 % of its light, and 0.04045 is 0.313 %."""
    from sim_node.viewing.meshes import linear

    assert linear(np.array([0.0, 1.0, 0.5])).tolist() == [0, 255, round(0.21404 * 255)]
    assert linear(np.array([0.04045, 0.2, 0.8])).tolist() == [round(0.00313 * 255), round(0.03310 * 255), 154]


def test_the_start_camera_fills_the_page_beside_the_panel_with_all_frames() -> None:
    """By a pinhole of the viewer's angle of view, in a page of 1280 by 720 pixels whose panel covers 335 of them."""
    from sim_node.viewing.browser.start import FIELD_OF_VIEW, start_view

    rng = np.random.default_rng(3)
    for size in (0.5, 1.0, 300.0):
        places = rng.uniform(-size, size, (40, 3)) + rng.uniform(-1e3, 1e3, 3)
        view = start_view(np.concatenate([places, [[np.nan, 0.0, 0.0]]]))
        seen = (places - view.pose[:3]) @ matrix(view.pose)[:3, :3]
        depth, left, up = seen.T
        assert (depth > 0.0).all()
        focal = 360.0 / np.tan(FIELD_OF_VIEW / 2)
        x, y = 640.0 - focal * left / depth, 360.0 - focal * up / depth
        assert x.min() > 0.0
        assert x.max() < 1280.0 - 335.0
        assert y.min() > 0.0
        assert y.max() < 720.0
        assert np.ptp(x) > 0.6 * (1280.0 - 335.0) or np.ptp(y) > 0.6 * 720.0


def test_what_topics_draw_counts_where_a_page_begins() -> None:
    from sim_node.viewing.browser.drawings import reach
    from sim_node.viewing.messages.drawing import Drawing, Lines, Points

    at = {"a": np.array([10.0, 0, 0, 0, 0, 1, 0])}  # half a turn about z
    cloud = np.concatenate([np.linspace([0.0, 0, 0], [1.0, 2, 3], 1001), np.full((1, 3), np.nan), [[1e6, 0, 0]]])
    line = Lines("a", np.array([[[0.0, 0, 0], [4.0, 0, 0]]]), np.zeros((1, 2, 3), np.uint8))
    low, high = reach(Drawing("a", (Points("a", cloud),)), at)
    assert low == pytest.approx([9, -2, 0], abs=0.05)
    assert high == pytest.approx([10, 0, 3], abs=0.05)
    assert reach(Drawing("a", (line,)), at)[0] == pytest.approx([6, 0, 0], abs=0.05)
    assert reach(Drawing("a", ()), at).shape == (0, 3)


@pytest.mark.parametrize("count", [100_001, 131_072, 250_000, 1_000_000])
def test_the_first_points_of_a_large_cloud_are_evenly_among_all(count: int) -> None:
    from sim_node.viewing.browser.drawn_source import THINNED, spread

    order = spread(count)
    assert np.array_equal(np.sort(order), np.arange(count))
    for first in (1_000, THINNED):
        gaps = np.diff(np.sort(order[:first]))
        assert gaps.max() < 3.0 * count / first


def test_what_moves_keeps_its_name_rather_than_what_stands_beside_it() -> None:
    """Of the two posts, one is nearer than the cart. Each page has its own camera: from nearby, all have names."""
    world = loads(
        "world: yard\n"
        "motions: [{frame: cart, keyframes: [{t: 0, position: [0, 0, 0]}, {t: 9, position: [90, 9, 0]}]}]\n"
        "frames: [{name: post_1, pose: {position: [0.1, 0.09, 0.08]}},\n"
        "  {name: post_2, pose: {position: [-0.1, -0.09, -0.08]}}]\n"
    )
    with Session(world, view=0, paused=True) as session:
        session.start()
        assert session.viewer is not None
        with opened(session.viewer.url, (20.0, 18.0, 16.0), (0.0, 0.0, 0.0)) as page:
            nodes: dict[str, str] = {}

            def named(page: Page) -> bool:
                nodes.update({m["props"]["text"]: m["name"] for m in page.messages if m.get("props", {}).get("text")})
                return len(nodes) == 3

            page.until(named)

            def seen(page: Page) -> set[str]:
                last = {m["name"]: m["visible"] for m in page.all("SetSceneNodeVisibilityMessage")}
                return {node for node in nodes.values() if last.get(node)}

            page.until(lambda page: seen(page) == {nodes["cart"]})
            with opened(session.viewer.url, (0.6, -0.4, 0.0), (0.0, 0.0, 0.0)) as near:
                near.until(lambda near: seen(near) == set(nodes.values()))
                page.come_to_rest()
                assert seen(page) == {nodes["cart"]}
            page.send(camera((0.6, -0.4, 0.0), (0.0, 0.0, 0.0)))
            page.until(lambda page: seen(page) == set(nodes.values()))


def test_names_that_would_be_on_others_are_left_out() -> None:
    """Labels of ten letters are about 60 pixels wide: those 10 pixels apart collide, those 200 pixels apart do not."""
    from sim_node.viewing.browser.overlays import apart_in
    from sim_node.viewing.view import looking

    view = looking(np.array([-10.0, 0.0, 0.0]), np.zeros(3), (1280, 720), 2.0 * np.arctan(0.64))
    # At 10 m a metre is 100 pixels; the first one is behind the second.
    places = np.array([[1.0, 0.11, 0.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    texts = ["ten_letter"] * 4
    assert set(apart_in(view, texts, places, ("bottom-center",))) == {1, 2, 3}
    # Beside or below their places there is room for all of them, on no label of something else.
    taken = [(600.0, 680.0, 330.0, 350.0)]
    found = apart_in(view, texts, places, ("bottom-center", "top-left", "top-right"), taken)
    assert set(found) == {0, 1, 2, 3}
    boxes = [*taken, *(edges for _, edges in found.values())]
    for (left, right, upper, lower), other in itertools.combinations(boxes, 2):
        assert right <= other[0] or other[1] <= left or lower <= other[2] or other[3] <= upper
    # At the middle of the picture, and 11 pixels beside it.
    assert {found[0][0], found[1][0]} == {"top-left", "top-right"}


def test_the_server_listens_on_this_machine_alone_and_lets_its_port_go() -> None:
    port = claims.free_port(socket.SOCK_STREAM)
    server = Server(port, "test")
    assert server.get_port() == port
    with socket.create_connection((HOST, port)):
        pass
    listening = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()
    rows = [line.split()[1] for line in listening if f":{port:04X} " in line and line.split()[3] == "0A"]
    assert rows == [f"0100007F:{port:04X}"]
    server.stop()
    assert free_port(port) == port


def test_a_port_that_is_taken_is_refused_by_name_and_the_default_one_moves_on() -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(PagePortInUse, match=f"port {port}: another program listens on it"):
            Server(port, "test")
        assert free_port(None, default=port) > port
    assert free_port(None) >= DEFAULT_PORT


def test_no_page_can_have_the_server_open_a_tunnel_to_another_host() -> None:
    server = Server(0, "test")
    with opened(server.url) as page:
        page.send({"type": "ShareUrlRequest"})
        page.take_in(0.5)
        assert not page.has("ShareUrlUpdated")
    assert server._share_tunnel is None
    server.stop()
