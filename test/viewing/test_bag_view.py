"""Bags in the viewer, as a page sees them; and messages of sensors, laid out by hand."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from page import Page, opened, press, script, told
from recorded_runs import sinks_into
from waiting import until

from sim_node.recording.bag import BagError
from sim_node.recording.recorder import Recorder
from sim_node.recording.settings import from_options
from sim_node.recording.worlds import attachments_of, custom_data
from sim_node.session.bag_view import BagView
from sim_node.simulation import Loop, Simulation
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.messages.clouds import points_of
from sim_node.viewing.messages.images import pixels_of
from sim_node.world import load
from sim_node.world.frame_table import table_of

# Goes along x at 1 m/s, 0.25 m below a sensor that looks down at the ground.
WORLD = """
world: flight
time: {step: 0.01}
motions:
  - frame: drone/base_link
    keyframes: [{t: 0, position: [0, 0, 3]}, {t: 100, position: [100, 0, 3]}]
bodies:
  - {name: ground, geometry: [{plane: true}]}
  - {name: ball, parent: drone/base_link, geometry: [{sphere: 0.2, color: [1, 0, 1]}]}
sensors:
  - name: drone/RANGE
    type: rangefinder
    rate: 20
    noise: {deviation: 0, resolution: 0}
    pose: {position: [0, 0, -0.25], rpy_deg: [0, 90, 0]}
"""
SECONDS = 4


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds of the world."""
    folder = tmp_path_factory.mktemp("bag")
    (folder / "flight.yaml").write_text(WORLD, encoding="utf-8")
    simulation = Simulation(load(folder / "flight.yaml"))
    attached, custom = attachments_of(simulation.world, 0, False), custom_data(simulation.world, 0)
    recorder = Recorder(folder / "run", from_options({}), attached, custom, warn=print)
    loop = Loop(simulation, sinks_into(recorder), real_time_factor=0.0, duration_ns=SECONDS * 10**9)
    loop.start()
    loop.wait()
    # The world's own files are not needed any more.
    (folder / "flight.yaml").unlink()
    return folder / "run"


@pytest.fixture
def view(bag: Path) -> Iterator[tuple[BagView, str]]:
    viewer = Viewer(0, "test")
    shown = BagView(bag, viewer, print)
    shown.start(paused=True)
    yield shown, viewer.url
    shown.close()


def move_slider(url: str, seconds: float) -> None:
    """As a user does."""
    with script(url) as foot:
        state = told(foot, "state")
        press(foot, "seek", state["start"] + seconds)
        while told(foot, "state")["time"] == state["time"]:
            pass


def ball(page: Page) -> np.ndarray:
    """Where the magenta ball is."""
    node = next(
        m["name"]
        for m in page.all("BatchedMeshesMessage")
        if m["props"]["batched_colors"].reshape(-1, 3).tolist() == [[255, 0, 255]]
    )
    return page.placed(node)[:3]


def until_near(page: Page, position: list[float], within: float) -> None:
    page.until(lambda page: np.allclose(ball(page), position, atol=within))


def test_the_slider_shows_the_recorded_instant_with_the_recorded_shapes(view: tuple[BagView, str]) -> None:
    _, url = view
    with opened(url) as page:
        for seconds in (1.5, 3.0, 0.5):  # back, too
            move_slider(url, seconds)
            # Transforms were recorded 60 times a second.
            until_near(page, [seconds, 0.0, 3.0], within=1 / 60 + 1e-3)


def trail(page: Page) -> np.ndarray:
    """The lines (K, 2, 3) of the trail that is there: each is made under another name."""
    node = list(page.all("LineSegmentsMessage"))[-1]["name"]
    points: np.ndarray = np.asarray(page.prop(node, "points")).reshape(-1, 2, 3)
    return points


def test_a_trail_is_what_was_recorded_before_the_instant_and_crosses_no_seek(view: tuple[BagView, str]) -> None:
    """At 1 m/s, the two seconds before; nowhere is it straight for longer than between two transforms, 60 a second."""
    _, url = view
    with opened(url) as page:
        for seconds in (0.5, 3.5, 2.5):  # on, and back
            move_slider(url, seconds)
            page.until(lambda page, x=seconds: trail(page)[-1, 1, 0] == pytest.approx(x, abs=0.05))  # type: ignore[misc]
            page.come_to_rest()
            lines = trail(page)
            assert lines[:, :, 0].min() == pytest.approx(max(seconds - 2.0, 0.0), abs=0.05)
            assert np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1).max() < 0.06


def test_a_recorded_range_is_drawn_from_its_sensor_to_the_ground(view: tuple[BagView, str]) -> None:
    _, url = view
    with opened(url) as page:
        move_slider(url, 2.0)

        def line() -> np.ndarray:
            """As it is drawn now: at first it is still that of the beginning."""
            points = page.prop("/world/topics/0/lines", "points")
            return np.zeros((2, 3)) if points is None else points.reshape(2, 3)

        page.until(lambda page: np.allclose(line()[0], [2.0, 0.0, 2.75], atol=0.06))
        assert line()[1] == pytest.approx([line()[0, 0], 0.0, 0.0], abs=1e-3)


def test_it_plays_at_its_speed_and_begins_again_at_its_end(view: tuple[BagView, str]) -> None:
    shown, url = view
    with opened(url) as page:
        began = time.monotonic()
        shown.play()
        page.until(lambda page: ball(page)[0] > 0.5)
        assert ball(page)[0] <= time.monotonic() - began + 1 / 60, "a metre a second, and never ahead of time"
        shown.seek(round((SECONDS - 0.2) * 1e9))
        until_near(page, [0.3, 0.0, 3.0], within=0.25)
        shown.pause()


def test_a_step_is_a_sixtieth_of_a_second(view: tuple[BagView, str]) -> None:
    shown, url = view
    with opened(url) as page:
        shown.seek(10**9)
        until_near(page, [1.0, 0.0, 3.0], within=0.02)
        for _ in range(6):
            shown.step()
        until_near(page, [1.1, 0.0, 3.0], within=0.02)


def test_a_bag_without_transforms_is_refused(tmp_path: Path) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer

    with Writer(tmp_path / "empty", version=9, storage_plugin=StoragePlugin.MCAP):
        pass
    viewer = Viewer(0, "test")
    with pytest.raises(BagError):
        BagView(tmp_path / "empty", viewer, print)
    viewer.close()


def test_the_root_of_most_frames_is_the_fixed_one() -> None:
    table = table_of({"b": "a", "wheel": "car", "car": "odom", "seat": "car"}, {"car"})
    assert table.names == ("odom", "car", "wheel", "seat", "a", "b")
    assert table.parents.tolist() == [-1, 0, 1, 1, -1, 4]
    assert table.static.tolist() == [True, False, True, True, True, True]


def test_transforms_in_a_circle_are_refused() -> None:
    with pytest.raises(ValueError, match="no frame is a root"):
        table_of({"a": "b", "b": "a"}, set())


@pytest.mark.parametrize("big", [False, True])
def test_a_clouds_points_are_found_wherever_they_are_laid_out(big: bool) -> None:
    """sensor_msgs/PointCloud2 with other fields between, in both byte orders."""
    points = [(1.0, 2.0, 3.0), (-4.0, 5.5, 0.25)]
    data = b"".join(struct.pack((">" if big else "<") + "Hdfdx", 7, y, x, z) for x, y, z in points)
    names = {"ring": (0, 4), "y": (2, 8), "x": (10, 7), "z": (14, 8)}
    fields = [SimpleNamespace(name=name, offset=at, datatype=kind) for name, (at, kind) in names.items()]
    message = SimpleNamespace(width=2, height=1, point_step=23, is_bigendian=big, fields=fields, data=data)
    assert points_of(message)[0].tolist() == [list(point) for point in points]


@pytest.mark.parametrize(
    ("encoding", "data", "step", "expected"),
    [
        ("rgb8", bytes([1, 2, 3, 4, 5, 6, 0, 0]), 8, [[[1, 2, 3], [4, 5, 6]]]),
        ("bgr8", bytes([1, 2, 3, 4, 5, 6]), 6, [[[3, 2, 1], [6, 5, 4]]]),
        ("bgra8", bytes([1, 2, 3, 9, 4, 5, 6, 9]), 8, [[[3, 2, 1], [6, 5, 4]]]),
        ("mono8", bytes([7, 8]), 2, [[[7, 7, 7], [8, 8, 8]]]),
        ("32FC1", struct.pack("<2f", 1.5, np.inf), 8, [[1.5, np.inf]]),
        ("16UC1", struct.pack("<2H", 1500, 20), 4, [[1.5, 0.02]]),
    ],
)
def test_pictures_are_read_in_their_encodings(encoding: str, data: bytes, step: int, expected: list[Any]) -> None:
    """REP 118 for depths: metres as floats, millimetres as whole numbers."""
    message = SimpleNamespace(width=2, height=1, step=step, encoding=encoding, data=data)
    assert np.allclose(pixels_of(message), expected)


def test_pictures_of_another_encoding_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="yuv422"):
        pixels_of(SimpleNamespace(width=2, height=1, step=4, encoding="yuv422", data=bytes(4)))


def test_it_begins_at_its_start_when_paused(view: tuple[BagView, str]) -> None:
    shown, _ = view
    assert shown._player.paused
    assert shown._player.position_ns == 0


def test_buttons_do_what_they_say_in_the_order_in_which_they_are_pressed(
    view: tuple[BagView, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, url = view
    words, done = ["play", "pause", "step", "reset", "pause", "play"] * 5, list[str]()
    for word in set(words):
        monkeypatch.setattr(shown, word, partial(done.append, word))
    with script(url) as foot:
        for word in words:
            press(foot, word)
        until(lambda: len(done) == len(words))
    assert done == words
