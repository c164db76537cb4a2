"""How pages look at first, in a real browser, beside pictures that somebody has looked at: test/data/first_pictures.

After a change that is meant, write them anew with `make golden`, and look at them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked_programs import finished, program
from golden import assert_as_kept, difference
from nightly import rows
from PIL import Image
from processes import sim_node
from waiting import PATIENCE

from sim_node.session import Session
from sim_node.session.bag_view import BagView
from sim_node.viewing.browser.viewer import Viewer
from sim_node.world.locate import shipped_worlds

KEPT = Path(__file__).parents[1] / "data" / "first_pictures"
LARGE, MIDDLE, PHONE = (1600, 900), (1100, 650), (390, 844)


# All shipped worlds, each on a page of one size.
SIZES = {
    **dict.fromkeys(("formation", "lidar_room", "orbit", "survey", "two_vehicles", "warehouse"), LARGE),
    **dict.fromkeys(("all_joints", "ardupilot", "arm", "arm_on_cart", "arm_pick", "double_pendulum", "px4"), MIDDLE),
    **dict.fromkeys(("buoys", "four_bar", "guided", "sensor_rig", "viewports"), MIDDLE),
    **dict.fromkeys(("cart_pole", "clock", "delivery", "quadrotor", "rover"), PHONE),
}
# Each takes some seconds of processor time: make test has one of them, and make test-nightly all.
USUAL = {"quadrotor"}


def test_each_shipped_world_has_pictures() -> None:
    assert SIZES.keys() == shipped_worlds().keys()


@pytest.mark.parametrize("world", rows(SIZES, USUAL))
def test_the_page_of_a_world_begins_as_in_its_pictures(browser: Any, world: str, tmp_path: Path) -> None:
    with Session(world, view=0, paused=True) as session:
        session.start()
        assert session.viewer is not None
        look(browser, session.viewer.url, world, SIZES[world], tmp_path)


@pytest.mark.nightly
def test_a_schematic_begins_as_in_its_pictures_on_a_phone(browser: Any, tmp_path: Path) -> None:
    with Session("viewports", view=0, paused=True) as session:
        session.start()
        assert session.viewer is not None
        look(browser, session.viewer.url, "viewports_on_a_phone", PHONE, tmp_path)


@pytest.mark.nightly
def test_a_bag_is_shown_as_in_its_pictures(browser: Any, tmp_path: Path) -> None:
    with Session("quadrotor", record=tmp_path / "run", real_time_factor=0.0) as session:
        session.run(2.0)
    view = BagView(tmp_path / "run", viewer := Viewer(0, "run"), print)
    try:
        view.start(paused=True)
        view.seek(view.span[0] + 1_500_000_000)
        look(browser, viewer.url, "a_bag", MIDDLE, tmp_path)
    finally:
        view.close()


@pytest.mark.nightly
def test_the_running_graph_is_shown_as_in_its_pictures(browser: Any, tmp_path: Path, ros_domain: int) -> None:
    """The arm, by its description and transforms, and the markers of a run."""
    pytest.importorskip("rclpy", reason="no ROS 2 here")
    live = sim_node("view", "--live", "--port", "0")
    with program(sim_node("run", "arm", "--paused")), program(live) as viewer:
        viewer.wait_for("viewer: http://127.0.0.1:")
        found = re.search(r"http://127\.0\.0\.1:\d+", viewer.output)
        assert found
        # A run that is paused says where the links are when it begins, and after a step.
        assert finished(sim_node("step"))[0] == 0
        look(browser, found[0], "the_graph", MIDDLE, tmp_path)


def look(browser: Any, url: str, name: str, size: tuple[int, int], folder: Path) -> None:
    """Compare a page with its pictures, light, and then dark."""
    # Of four pixels of a page, one is drawn; kept pictures have fewer.
    page = browser.new_page(
        viewport={"width": size[0], "height": size[1]}, device_scale_factor=0.5, color_scheme="light"
    )
    page.set_default_timeout(1000.0 * PATIENCE)
    # All of it in full, with shadows and light from all around, takes ten times as long without a graphics card.
    page.goto(f"{url}/?quality=low")
    page.locator("#foot .state").first.wait_for()
    # What a busy machine, or the clock, changes.
    page.add_style_tag(content="#foot .state, #foot .time { visibility: hidden; }")
    for dark, scheme in enumerate(("light", "dark")):
        page.evaluate("dark => simFoot.send({set: {dark}})", str(dark))
        page.wait_for_selector(f'html[data-mantine-color-scheme="{scheme}"]')
        assert_as_kept(page, KEPT / f"{name}_{scheme}.webp", folder)


def test_pictures_differ_by_what_one_sees() -> None:
    """Of another robot, place or colour, and not by noise or the edges of letters."""
    rng = np.random.default_rng(1)
    room = np.full((160, 280, 3), 200.0)
    room[60:100, 100:160] = (220.0, 120.0, 40.0)

    def picture(pixels: Any) -> Image.Image:
        return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))

    def differs(pixels: Any) -> bool:
        return bool(difference(picture(pixels), picture(room)))

    assert not differs(room + rng.normal(0.0, 8.0, room.shape))
    assert not differs(np.roll(room, 1, axis=1)), "the edges of its shapes are a pixel elsewhere"
    gone, red = np.full(room.shape, 200.0), np.array(room)
    red[60:100, 100:160] = (220.0, 40.0, 40.0)
    for other in (gone, red, np.roll(room, 12, axis=1), room - 20.0, room[:-1]):
        assert differs(other)
