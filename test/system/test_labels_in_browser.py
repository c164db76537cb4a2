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
# Of all labels: whether each is shown, and the edges of all its parts, in halves of the page from its middle. viser has
# 40 pixels for each unit of a label.
EXTENTS = """() => {
    const { scene, camera } = window.__viserMutable ?? {}, found = {};
    scene?.traverse(({ material, geometry }) => {
        const uniforms = material?.uniforms;
        if (!uniforms?.uLabelData || !geometry.attributes.aRect) return;
        const { aLabelIndex, aRect, aParams } = geometry.attributes, data = uniforms.uLabelData.value.image.data;
        const [right, up] = [0, 1].map((row) => camera.position.clone().setFromMatrixColumn(camera.matrixWorld, row));
        for (let part = 0; part < geometry.instanceCount; part++) {
            const label = aLabelIndex.getX(part), place = data.slice(4 * label, 4 * label + 4);
            const at = camera.position.clone().fromArray(place);
            const depth = -at.clone().applyMatrix4(camera.matrixWorldInverse).z;
            const pixel = (2 * depth * uniforms.uFovScale.value) / uniforms.uViewportHeight.value;
            const scale = aParams.getY(part) * 40 * pixel;
            const edges = (found[label] ??= { shown: place[3] > 0, edges: [] });
            for (const [x, y] of [[0, 0], [1, 1]]) {
                const corner = at.clone().addScaledVector(right, (aRect.getX(part) + x * aRect.getZ(part)) * scale);
                corner.addScaledVector(up, (aRect.getY(part) + y * aRect.getW(part)) * scale).project(camera);
                edges.edges.push(corner.x, corner.y);
            }
        }
    });
    return Object.values(found);
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


def test_labels_at_the_edges_of_a_phone_are_turned_inwards_or_hidden(viewer: Viewer, browser: Any) -> None:
    """Names of frames along both diagonals of the page, and beyond. The phone has nine pixels for one of the page."""
    steps = [step for step in range(-9, 10) if step]
    places = np.array([(0.0, 0.32 * step, 0.6 * step * side) for step in steps for side in (-1, 1)])
    poses = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (1 + len(places), 1))
    poses[1:, :3] = places
    viewer.set_scene(table_of({f"frame_{row}": "map" for row in range(len(places))}, ()), poses)
    assert viewer.scene is not None
    viewer.scene.names.choose("main", viewer.scene.in_root)
    page = browser.new_page(drawn=False, viewport={"width": 390, "height": 844}, device_scale_factor=3)
    page.set_default_timeout(1000.0 * PATIENCE)
    page.goto(f"{viewer.url}/?initialCameraPosition=10,0,0&initialCameraLookAt=0,0,0")
    page.wait_for_function(f"({EXTENTS})().length === {len(places)}")

    def whole() -> bool:
        viewer.hurry(slowly=True)
        viewer.show(Instant(1, poses, {}))
        shown = [np.array(each["edges"]).reshape(-1, 2) for each in page.evaluate(EXTENTS) if each["shown"]]
        seen = [each for each in shown if (np.abs(each) < 1.0).all(axis=1).any()]
        return len(seen) > 8 and all((np.abs(each) <= 1.0).all() for each in seen)

    until(whole, "labels that are whole", poll_s=0.1)
