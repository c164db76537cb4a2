"""How pages look at first, in a real browser, beside pictures that somebody has looked at: test/data/first_pictures.

After a change that is meant, write them anew with `make golden`, and look at them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from golden import assert_as_kept, difference
from nightly import rows
from PIL import Image
from waiting import PATIENCE

from sim_node.session import Session
from sim_node.session.bag_view import BagView
from sim_node.viewing.browser.viewer import Viewer

KEPT = Path(__file__).parents[1] / "data" / "first_pictures"
LARGE, MIDDLE, PHONE = (1600, 900), (1100, 650), (390, 844)


class Shown(NamedTuple):
    """A shipped world, or a bag of it, on a page of a size, light or dark."""

    world: str
    size: tuple[int, int]
    dark: bool = False
    bag: bool = False


# make test runs the smallest one, and make test-nightly all of them: without a graphics card, each takes half a minute.
PICTURES = {
    "a drone on a phone": Shown("quadrotor", PHONE),
    "a cart in a room": Shown("lidar_room", LARGE),
    "an arm on a table": Shown("arm_pick", MIDDLE),
    "an arm in the dark": Shown("arm", MIDDLE, dark=True),
    "frames alone": Shown("arm_on_cart", MIDDLE),
    "a schematic": Shown("viewports", MIDDLE),
    "a schematic in the dark, on a phone": Shown("viewports", PHONE, dark=True),
    "a bag": Shown("quadrotor", MIDDLE, dark=True, bag=True),
}


@pytest.mark.parametrize("name", rows(PICTURES, {"a drone on a phone"}))
def test_a_page_begins_as_in_the_picture(browser: Any, name: str, tmp_path: Path) -> None:
    shown = PICTURES[name]
    if shown.bag:
        with Session(shown.world, record=tmp_path / "run", real_time_factor=0.0) as session:
            session.run(2.0)
        viewer = Viewer(0, "run")
        view = BagView(tmp_path / "run", viewer, print)
        try:
            view.start(paused=True)
            view.seek(view.span[0] + 1_500_000_000)
            look(browser, viewer.url, name, shown, tmp_path)
        finally:
            view.close()
    else:
        with Session(shown.world, view=0, paused=True) as session:
            session.start()
            assert session.viewer is not None
            look(browser, session.viewer.url, name, shown, tmp_path)


def look(browser: Any, url: str, name: str, shown: Shown, folder: Path) -> None:
    page = browser.new_page(
        viewport={"width": shown.size[0], "height": shown.size[1]}, color_scheme="dark" if shown.dark else "light"
    )
    page.set_default_timeout(1000.0 * PATIENCE)
    # As with a graphics card.
    page.goto(f"{url}/?quality=full")
    page.locator("#foot .play").first.wait_for()
    assert_as_kept(page, KEPT / f"{name.replace(',', '').replace(' ', '_')}.webp", folder)


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
