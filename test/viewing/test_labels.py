"""Labels of topics and ghosts: which go before others, and which wait until a page has room for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from page import opened
from waiting import until

from sim_node.viewing.browser.overlays import NameOverlays, edges_at, inwards
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.messages.drawing import FIXED, Drawing, Poses
from sim_node.world.frame_table import table_of

REST = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    made = Viewer(0, "labels")
    yield made
    made.close()


def test_labels_without_room_where_a_page_begins_are_shown_on_one_that_looks_from_nearby(viewer: Viewer) -> None:
    """Of twelve on a ring, some fit beside each other at first; from nearby, the ring is ten times as large."""
    angles = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    ring = {f"/estimate_of_{k}": np.array([0.0, 0.31 * np.cos(a), 0.31 * np.sin(a)]) for k, a in enumerate(angles)}
    poses = np.tile(REST, (3, 1))
    poses[1:, 1] = (-5.0, 5.0)
    viewer.set_scene(
        table_of({"left": "map", "right": "map"}, ()),
        poses,
        sources=dict.fromkeys(ring, "geometry_msgs/msg/PoseStamped"),
    )
    drawn = {
        name: Drawing(FIXED, (Poses(FIXED, np.array([[*place, 0.0, 0.0, 0.0, 1.0]])),), place=place)
        for name, place in ring.items()
    }

    def update() -> None:
        viewer.hurry(slowly=True)
        viewer.show(Instant(1, poses, {name: (each, poses) for name, each in drawn.items()}))

    update()
    update()
    assert viewer.scene is not None
    first = {label.handle.name: label.handle.visible for label in viewer.scene.drawings.placed()}
    assert len(first) == 12
    assert 4 <= sum(first.values()) <= 10
    with opened(viewer.url, (0.8, 0.0, 0.0), (0.0, 0.0, 0.0)) as page:

        def shown() -> bool:
            update()
            page.take_in(0.1)
            last = {m["name"]: m["visible"] for m in page.all("SetSceneNodeVisibilityMessage")}
            return bool(sum(last[name] for name in first) > sum(first.values()))

        until(shown, "more labels")


def test_the_name_of_a_body_goes_before_that_of_its_ghost(viewer: Viewer) -> None:
    """Both move; what stands comes last."""
    frames = table_of({"post": "map", "drone": "map", "ghost/drone": "map"}, ("drone", "ghost/drone"))
    poses = np.tile(REST, (4, 1))
    viewer.set_scene(frames, poses)
    assert viewer.scene is not None
    scene = viewer.scene
    names = NameOverlays(
        viewer.server.scene,
        "/names",
        frames,
        [1, 2, 3],
        np.full((4, 8, 3), np.nan),
        np.ones(4),
        ~frames.still,
        scene.view,
        3,
    )
    names.choose("main", poses)
    assert {label.handle.text: label.rank for label in names.placed()} == {"drone": 0, "ghost/drone": 1, "post": 2}


@pytest.mark.parametrize(
    ("place", "anchor"),
    [
        ((195.0, 400.0), "bottom-center"),
        ((10.0, 400.0), "bottom-left"),
        ((380.0, 400.0), "bottom-right"),
        ((195.0, 5.0), "top-center"),
        ((2.0, 2.0), "top-left"),
        ((-10.0, 400.0), None),  # cut on any side of its place
        ((-300.0, 400.0), "bottom-center"),  # not seen at all
    ],
)
def test_a_label_is_turned_away_from_the_edge_that_would_cut_it(place: tuple[float, float], anchor: str | None) -> None:
    assert inwards(np.array(place), "a_name_of_20_letters", "bottom-center", (390, 746)) == anchor


def test_the_lines_of_a_text_are_below_each_other() -> None:
    one, three = (edges_at(np.zeros(2), text, "top-left") for text in ("abcdef", "abcdef\nabc\nab"))
    assert three == (one[0], one[1], one[2], 3.0 * one[3])
