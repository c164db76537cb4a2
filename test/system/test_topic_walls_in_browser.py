"""Walls that topics draw, in a real browser: pages look through those between the camera and what it follows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from waiting import PATIENCE

from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.messages.drawing import Drawing, Solids
from sim_node.world.frame_table import table_of

TOPIC = "/markers"
FRAMES = table_of({"cart/base_link": "map", "near": "map"}, {"cart/base_link"})
STILL = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
CART = np.array([5.0, 3.0, 0.3, 0.0, 0.0, 0.0, 1.0])
# South of the cart, where the camera is, and north of it.
BESIDE, BEYOND = (5.0, 2.2, 0.0), (5.0, 9.0, 0.0)
# How opaque the boxes of a topic are, by how long they are.
SEEN = """() => Object.fromEntries(Object.entries(__viserMutable.nodeRefFromName)
    .filter(([name, node]) => node && /^.world.topics.0.solids.[0-9]+$/.test(name))
    .map(([, node]) => {
        let length = 0, opacity = 1;
        node.traverse((each) => {
            if (!each.isInstancedMesh) return;
            const placed = each.matrix.clone();
            each.getMatrixAt(0, placed);
            length = placed.getMaxScaleOnAxis();
            opacity = [each.material].flat()[0].opacity;
        });
        return [length.toFixed(1), opacity];
    }))"""


def wall(place: tuple[float, float, float], length: float = 6.0) -> DrawnShape:
    return DrawnShape(0, "box", np.array([*place, 0.0, 0.0, 0.0, 1.0]), np.array([length, 0.1, 4.0]))


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    viewer = Viewer(0, "walls")
    viewer.set_scene(FRAMES, np.array([STILL] * 3), sources={TOPIC: "visualization_msgs/msg/MarkerArray"})
    yield viewer
    viewer.close()


def show(viewer: Viewer, *walls: DrawnShape, frame: str = "map") -> None:
    """Show a cart with a box on it among walls."""
    poses = np.array([STILL] * 3)
    poses[FRAMES.index("cart/base_link")] = CART
    load = Solids("cart/base_link", (DrawnShape(0, "box", STILL, np.full(3, 0.6)),), follows=True)
    drawing = Drawing(frame, (Solids(frame, walls), load))
    viewer.show(Instant(round(1e9), poses, {TOPIC: (drawing, poses)}))


# Takes seconds: make test has a page that looks through walls in test_viewer.py.
@pytest.mark.nightly
def test_a_wall_of_a_topic_is_seen_through_while_it_is_in_front(viewer: Viewer, browser: Any) -> None:
    show(viewer, wall(BESIDE))
    page = browser.new_page(drawn=False, viewport={"width": 900, "height": 600})
    page.set_default_timeout(1000.0 * PATIENCE)
    page.goto(viewer.url)
    page.wait_for_function(f"({SEEN})()['6.0'] < 0.2")
    assert page.evaluate(SEEN)["0.6"] == 1.0, "the box on the cart is no wall"
    # A longer one in its place, which is sent anew; then one that is behind the cart.
    show(viewer, wall(BESIDE, length=7.0))
    page.wait_for_function(f"({SEEN})()['7.0'] < 0.2")
    show(viewer, wall(BEYOND))
    page.wait_for_function(f"({SEEN})()['6.0'] === 1")
    show(viewer, wall(BESIDE), frame="near")
    page.wait_for_function(f"({SEEN})()['6.0'] < 0.2")
