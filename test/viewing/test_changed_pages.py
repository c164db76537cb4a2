"""Worlds that change while a page shows them: it is not reloaded, and what stays keeps its settings."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from changing import yard
from page import Page, opened, script, told
from waiting import until

from sim_node.recording.settings import RecordingSettings
from sim_node.session import Session
from sim_node.session.bag_view import BagView
from sim_node.simulation import Loop, Simulation
from sim_node.viewing.browser.view_sink import ViewSink
from sim_node.viewing.browser.viewer import Viewer
from sim_node.world import loads

MAGENTA, CYAN, YELLOW = [255, 0, 255], [0, 255, 255], [255, 255, 0]


@pytest.fixture
def run() -> Iterator[tuple[Loop, Viewer]]:
    """A paused run in the viewer."""
    viewer = Viewer(0, "test")
    sink = ViewSink(viewer)
    loop = Loop(Simulation(yard("free load")), (sink,), paused=True)
    sink.steer(loop)
    loop.start()
    loop.pause()  # is answered once the world is on the page
    yield loop, viewer
    loop.stop()


def node(page: Page, colour: list[int]) -> str | None:
    """The node of the shape of a colour, as far as it is still there."""
    found = None
    for message in page.messages:
        colours = message.get("props", {}).get("batched_colors") if isinstance(message.get("props"), dict) else None
        if colours is not None and colours.reshape(-1, 3).tolist() == [colour]:
            found = message["name"]
        elif message.get("name") == found and (colours is not None or message["type"] == "RemoveSceneNodeMessage"):
            found = None
    return found


def choose(page: Page, label: str, value: Any) -> None:
    page.send({"type": "GuiUpdateMessage", "uuid": page.element(label)["uuid"], "updates": {"value": value}})


def value(page: Page, label: str) -> Any:
    """What an element shows now, by the server's messages; None if it was never set again."""
    uuid, found = page.element(label)["uuid"], None
    for message in page.messages:
        if message["type"] == "GuiUpdateMessage" and message["uuid"] == uuid:
            found = message["updates"].get("value", found)
    return found


def options(page: Page, label: str) -> list[str]:
    element = page.element(label)
    found = list(element["props"]["options"])
    for message in page.messages:
        if message["type"] == "GuiUpdateMessage" and message["uuid"] == element["uuid"]:
            found = list(message["updates"].get("options", found))
    return found


def test_a_page_gets_what_is_new_and_keeps_the_rest(run: tuple[Loop, Viewer]) -> None:
    loop, viewer = run
    with opened(viewer.url) as page, script(viewer.url) as told_of:
        ball = node(page, MAGENTA)
        assert ball is not None
        first = told(told_of, "opening")["number"]
        choose(page, "Follow", "ball")
        # Following moves the camera, once.
        while (opening := told(told_of, "opening"))["number"] == first:
            pass
        assert opening["number"] == first + 1
        page.come_to_rest()
        before = len(page.messages)
        loop.change(yard("free load", "table", "table/IMU"))
        page.until(lambda page: node(page, YELLOW))
        page.until(lambda page: "table" in options(page, "Source"))
        new = page.messages[before:]
        assert not [m for m in new if m["type"] == "GuiRemoveMessage"], "the panel is the same"
        assert not [m for m in new if m["type"] == "RemoveSceneNodeMessage" and m["name"] in ("/world", ball)]
        assert not [m for m in new if m["type"].startswith("Batched") and m["name"] == ball], "nor is it sent again"
        assert not [m for m in new if m["type"] == "GlbMessage" and m["name"] == "/sky"], "nor is the sky"
        assert viewer.server.panels_page.layout._opening["number"] == first + 1, "nor does the camera move"
        assert value(page, "Follow") in (None, "ball")
        loop.step(50)
        page.until(lambda page: page.placed(ball)[2] < 49.0)
        # What is gone is gone, what followed it follows nothing.
        choose(page, "Follow", "load")
        loop.change(yard("table"))
        page.until(lambda page: node(page, CYAN) is None)
        page.until(lambda page: value(page, "Follow") == "nothing")
        assert "load" not in options(page, "Follow")
        assert node(page, YELLOW) is not None


def test_a_floor_that_comes_by_night_has_its_colour(run: tuple[Loop, Viewer]) -> None:
    """IEC 61966-2-1: 0.19, 0.20 and 0.21 of a screen's full value are 3.0, 3.3 and 3.6 % of its light."""
    loop, viewer = run
    with opened(viewer.url) as page:
        choose(page, "Dark", True)
        page.until(lambda page: page.has("ThemeConfigurationMessage", dark_mode=True))
        floor = "{name: mat, geometry: [{box: [4, 4, 0.001], color: [0.9, 0.9, 0.8]}]}"
        loop.change(loads(f"world: yard\ntime: {{step: 0.01}}\nbodies: [{floor}]"))
        page.until(lambda page: node(page, [8, 8, 9]))


def has_plots(count: int, page: Page) -> bool:
    return len(list(page.all("GuiUplotMessage"))) == count


def test_plots_of_what_stays_go_on(run: tuple[Loop, Viewer]) -> None:
    loop, viewer = run
    with opened(viewer.url) as page:
        for count, frame in enumerate(("ball", "load"), 1):
            choose(page, "Plot", frame)
            page.send(
                {"type": "GuiUpdateMessage", "uuid": page.element("Add plot")["uuid"], "updates": {"value": True}}
            )
            # Presses are answered in threads: the next choice would be that of this one.
            page.until(partial(has_plots, count))
        plots = [message["uuid"] for message in page.all("GuiUplotMessage")]
        loop.change(yard("arm"))
        page.until(lambda page: page.has("GuiRemoveMessage", uuid=plots[1]))
        assert not page.has("GuiRemoveMessage", uuid=plots[0])
        before = len(page.messages)
        loop.step(20)
        page.until(lambda page: any(m.get("uuid") == plots[0] for m in page.messages[before:]))


# Takes seconds: make test has what a page gets.
@pytest.mark.nightly
def test_changes_leave_nothing_on_the_page_and_no_threads(run: tuple[Loop, Viewer]) -> None:
    loop, viewer = run
    scene, gui = viewer.server.scene, viewer.server.gui
    worlds = [yard("free load"), yard("table", "table/IMU", "arm")]

    def size() -> tuple[int, int, int]:
        loop.step()
        with opened(viewer.url) as page:
            page.come_to_rest()
        with viewer.lock:
            return len(scene._handle_from_node_name), len(gui._gui_input_handle_from_uuid), threading.active_count()

    loop.change(worlds[1])
    loop.change(worlds[0])
    before = size()
    for number in range(20):
        loop.change(worlds[(number + 1) % 2])
    until(lambda: size() == before, "threads of a page that was closed to end")


def test_a_bag_shows_the_world_of_each_time(tmp_path: Path) -> None:
    with Session(
        yard(), record=tmp_path / "bag", recording=RecordingSettings(spare_bytes=0), real_time_factor=0.0
    ) as session:
        session.run(1.0)
        session.loop.change(yard("table", "free load"))
        session.run(1.0)
        session.loop.change(yard("load on the ball"))
        session.run(1.0)
    viewer = Viewer(0, "test")
    shown = BagView(tmp_path / "bag", viewer, pytest.fail)
    shown.start(paused=True)
    try:
        with opened(viewer.url) as page:
            for seconds, there, gone in (
                (1.5, (CYAN, YELLOW), ()),
                (2.5, (CYAN,), (YELLOW,)),
                (0.5, (), (CYAN, YELLOW)),
            ):
                shown.seek(round(seconds * 1e9))
                page.until(lambda page, there=there: all(node(page, each) for each in (MAGENTA, *there)))  # type: ignore[misc]
                page.until(lambda page, gone=gone: not any(node(page, each) for each in gone))  # type: ignore[misc]
                height = 50.0 - 0.5 * 9.81 * seconds**2
                ball = node(page, MAGENTA)
                assert ball is not None
                page.until(
                    lambda page, ball=ball, height=height: np.allclose(  # type: ignore[misc]
                        page.placed(ball)[:3], [0, 0, height], atol=0.3
                    )
                )
            shown.seek(round(0.9e9))
            shown.play()
            page.until(lambda page: node(page, YELLOW))
    finally:
        shown.close()
