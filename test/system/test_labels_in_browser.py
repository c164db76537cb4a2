"""Labels of a page, in a real browser: those for which there is no room are hidden, however late they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from waiting import PATIENCE, until

from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.viewer import Viewer
from sim_node.viewing.messages.drawing import FIXED, Drawing, Poses
from sim_node.world.frame_table import table_of

TYPE = "geometry_msgs/msg/PoseStamped"
# Two topics, 0.6 m apart in a scene of 10 m.
TOPICS = {"/estimate": (0.0, 0.0, 1.0), "/filtered": (0.0, 0.6, 1.0)}
AFAR, NEARBY = "30,0,8", "3,0,2"
# How many labels at a height of 1 m a page has, and shows: x, height, -y and visibility of each are in a texture.
LABELS = """() => {
    const all = new Set(), shown = new Set();
    window.__viserMutable?.scene?.traverse((node) => {
        const data = node.material?.uniforms?.uLabelData?.value.image.data ?? [];
        for (let at = 0; at < data.length; at += 4)
            if (Math.abs(data[at + 1] - 1) < 1e-4) {
                all.add(data[at + 2]);
                if (data[at + 3] > 0) shown.add(data[at + 2]);
            }
    });
    return [all.size, shown.size];
}"""


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    made = Viewer(0, "labels")
    yield made
    made.close()


def update(viewer: Viewer, drawn: dict[str, Drawing] | None = None) -> None:
    """Show an instant, and with it what is shown more rarely."""
    poses = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (3, 1))
    poses[1:, 0] = (-5.0, 5.0)
    viewer.hurry(slowly=True)
    viewer.show(Instant(1, poses, {name: (each, poses) for name, each in (drawn or {}).items()}))


def at(topic: str) -> dict[str, Drawing]:
    place = np.array(TOPICS[topic])
    return {topic: Drawing(FIXED, (Poses(FIXED, np.array([[*place, 0.0, 0.0, 0.0, 1.0]])),), place=place)}


def has(viewer: Viewer, page: Any, labels: int, shown: int) -> None:
    """Wait until a page has so many labels of topics, and shows so many."""

    def now() -> bool:
        update(viewer)
        return bool(page.evaluate(LABELS) == [labels, shown])

    until(now, f"{labels} labels, {shown} of them shown", poll_s=0.1)


# Takes seconds: make test has labels that lie on others in test/viewing/test_labels.py.
@pytest.mark.nightly
def test_a_label_that_comes_late_is_hidden_where_it_would_lie_on_another_and_shown_where_there_is_room(
    viewer: Viewer, browser: Any
) -> None:
    """The second topic comes when a page has long been there; from afar there is room for one label."""
    table = table_of({"left": "map", "right": "map"}, ())
    poses = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (3, 1))
    viewer.set_scene(table, poses, sources=dict.fromkeys(TOPICS, TYPE))
    update(viewer, at("/estimate"))
    page = browser.new_page(drawn=False, viewport={"width": 1000, "height": 700})
    page.set_default_timeout(1000.0 * PATIENCE)
    page.goto(f"{viewer.url}/?initialCameraPosition={AFAR}&initialCameraLookAt=0,0,1")
    has(viewer, page, 1, 1)
    for _ in range(50):
        update(viewer)
    (client,) = viewer.server.get_clients().values()
    with viewer.server.atomic():  # as while much is sent to all pages: what is sent to this one overtakes it
        update(viewer, at("/filtered"))
        update(viewer)  # which labels it
        viewer.server.set_visible_for(client, "/world/ground", visible=False)
        page.wait_for_function("__viserMutable.nodeRefFromName['/world/ground'].visible === false")
    has(viewer, page, 2, 1)
    page.goto(f"{viewer.url}/?initialCameraPosition={NEARBY}&initialCameraLookAt=0,0,1")
    has(viewer, page, 2, 2)
