"""A page that plays a bag without a server, in a real browser."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nightly import only
from PIL import Image
from waiting import PATIENCE

from sim_node.cli.main import main
from sim_node.session import Session
from sim_node.world import loads

WORLD = """
world: flight
time: {step: 0.01}
motions: [{frame: drone/base_link, keyframes: [{t: 0, position: [0, 0, 3]}, {t: 9, position: [9, 0, 3]}]}]
bodies:
  - {name: ball, parent: drone/base_link, geometry: [{sphere: 0.3, color: [1, 0, 1]}]}
  - {name: ground, geometry: [{plane: true}]}
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    with Session(loads(WORLD), record=folder / "run", real_time_factor=0.0) as session:
        session.run(1.0)
    assert main(["view", str(folder / "run"), "--export", str(folder / "page.html")]) == 0
    return folder / "page.html"


def pictures(page: Any) -> Iterator[Image.Image]:
    """It plays again and again: what it is sent at first comes anew each time."""
    page.wait_for_function(
        "Object.keys(window.__viserMutable?.nodeRefFromName ?? {}).some((name) => name.startsWith('/world/shapes/'))"
    )
    for _ in range(2):
        page.wait_for_timeout(1500)
        yield Image.open(io.BytesIO(page.screenshot()))


# The address says the other than the browser: both are read.
@pytest.mark.parametrize(
    ("preferred", "query", "dark"),
    only([("dark", "", True), ("light", "?dark=1", True), ("dark", "?dark=0", False)], 2),
)
def test_it_is_dark_where_the_browser_or_the_address_says_so(
    browser: Any, exported: Path, preferred: str, query: str, dark: bool
) -> None:
    """Its sky and its ground: by day, both are brighter than half; by night, both are darker."""
    page = browser.new_page(viewport={"width": 480, "height": 300}, color_scheme=preferred)
    page.set_default_timeout(1000.0 * PATIENCE)
    page.goto(f"{exported.as_uri()}{query}")
    page.wait_for_selector(f'html[data-mantine-color-scheme="{"dark" if dark else "light"}"]', state="attached")
    for shown in pictures(page):
        pixels = np.asarray(shown.convert("L")).astype(float)
        for part in (pixels[:12, 100:380], pixels[220:240, 100:380]):
            assert (part.mean() < 100.0) == dark, part.mean()


def test_what_is_turned_from_the_sun_is_lit_without_a_graphics_card(browser: Any, exported: Path) -> None:
    """The lower half of the ball, which is followed."""
    page = browser.new_page(viewport={"width": 480, "height": 300})
    page.set_default_timeout(1000.0 * PATIENCE)
    page.goto(f"{exported.as_uri()}?quality=low")
    for shown in pictures(page):
        red, green, _ = np.asarray(shown.convert("RGB"))[140:155, 230:250].astype(float).transpose(2, 0, 1)
        assert green.max() < 0.4 * red.min(), "the ball"
        assert red.min() > 120.0
