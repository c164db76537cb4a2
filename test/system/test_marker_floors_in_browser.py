"""The ground that markers draw, in a real browser: as dark by night as that of a world, also without a server."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from robot_topics import a, header, marker, point, transforms, written
from waiting import PATIENCE, until

from sim_node.cli.main import main
from sim_node.session.bag_view import BagView
from sim_node.viewing.browser.viewer import Viewer

CUBE = 1


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cart of which there is no description, on the ground of a simulation, by markers alone."""
    lines: list[tuple[str, float, Any]] = []
    for step in range(21):
        at_s = 0.1 * step
        grey = a("std_msgs/ColorRGBA", r=0.57, g=0.59, b=0.58, a=1.0)
        plane = {"scale": point(50.0, 50.0, 0.001, "Vector3"), "color": grey, "ns": "shapes"}
        ground = marker(0, CUBE, (0.0, 0.0, -0.0005), **plane)
        cart = marker(1, CUBE, (0.1, 0.0, 0.3), scale=point(0.8, 0.4, 0.6, "Vector3"), header=header("cart/base_link"))
        lines.append(("/tf", at_s, transforms("map", "cart/base_link", (0.0, 0.0, 0.0), at_s)))
        lines.append(("/markers", at_s, a("visualization_msgs/MarkerArray", markers=[ground, cart])))
    return written(tmp_path_factory.mktemp("floors") / "run", lines)


@pytest.fixture(scope="module")
def exported(bag: Path) -> str:
    page = bag.parent / "page.html"
    assert main(["view", str(bag), "--export", str(page)]) == 0
    return page.as_uri()


@pytest.fixture
def served(bag: Path) -> Iterator[Viewer]:
    viewer = Viewer(0, "run")
    view = BagView(bag, viewer, print)
    view.start(paused=True)
    view.seek(10**9)
    yield viewer
    view.close()


def brightness(page: Any) -> float:
    """Of the ground beside the cart, left of it, 0 to 255."""
    pixels = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("L")).astype(float)
    return float(pixels[105:140, 100:160].mean())


@pytest.mark.parametrize(("scheme", "dark"), [("dark", True), ("light", False)])
@pytest.mark.parametrize("kind", ["served", "exported"])
def test_the_ground_of_markers_is_dark_by_night(
    kind: str, scheme: str, dark: bool, request: pytest.FixtureRequest, browser: Any
) -> None:
    source = request.getfixturevalue(kind)
    page = browser.new_page(viewport={"width": 480, "height": 300}, color_scheme=scheme)
    page.set_default_timeout(1000.0 * PATIENCE)
    page.goto(source if kind == "exported" else source.url)
    page.wait_for_function(
        "Object.keys(window.__viserMutable?.nodeRefFromName ?? {}).some((name) => /topics.0.solids.floor/.test(name))"
    )
    until(lambda: (brightness(page) < 90.0) == dark, f"the ground is {'dark' if dark else 'light'}", poll_s=0.5)


def test_a_robot_of_markers_alone_is_what_the_page_begins_with(served: Viewer) -> None:
    """The box around the cart, in its own frame, which the page follows: the ground is on another one."""
    until(lambda: served.scene is not None and "cart/base_link" in served.scene.drawings.carriers(), "the markers")
    box = np.array(served.opening()["box"])
    assert box == pytest.approx([0.1, 0.0, 0.3, 0.4, 0.2, 0.3])
