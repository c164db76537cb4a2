"""In each picture of a page, the labels of bodies and the ends of their trails are where the bodies are."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from nightly import only
from waiting import PATIENCE, until

from sim_node.session import Session
from sim_node.viewing.browser.viewer import Viewer
from sim_node.world import loads

# A ball that goes 30 m to the east and then north, at 5 m/s.
WORLD = """
world: flight
time: {step: 0.01}
motions:
  - frame: drone/base_link
    keyframes: [{t: 0, position: [0, 0, 3]}, {t: 6, position: [30, 0, 3]}, {t: 99, position: [30, 465, 3]}]
bodies: [{name: ball, parent: drone/base_link, geometry: [{sphere: 0.4, color: [1, 0, 1]}]}]
"""
BODY = "/world/shapes/0"
SIZE = {"width": 800, "height": 450}
# Keeps, of each picture, how far the ball has gone in the scene; where the ball, a point above it as high as its label,
# the label and the end of the trail are in the picture, pixels; and how long the longest line of the trail is, m. The y
# axis of three.js is up.
EACH_PICTURE = """body => {
    const page = __viserMutable, nodes = page.nodeRefFromName, kept = (window.kept = []);
    let labels;
    page.scene.traverse((node) => (labels ??= node.material?.uniforms?.uLabelData?.value.image.data));
    const linesIn = (name) => {
        let found;
        nodes[name]?.traverse((node) => (found ??= node.geometry?.isLineSegmentsGeometry ? node : undefined));
        return found;
    };
    page.scene.onAfterRender = (renderer, scene, camera) => {
        const vector = (...parts) => page.camera.position.clone().set(...parts);
        const pixels = (at) => {
            const { x, y } = at.project(camera);
            return [(0.5 + 0.5 * x) * innerWidth, (0.5 - 0.5 * y) * innerHeight];
        };
        const names = Object.keys(nodes).filter((name) => /^\\/world\\/trails\\/\\d+$/.test(name));
        const trails = names.map(linesIn).filter(Boolean);
        const at = (line, ends, number) => vector(ends.getX(number), ends.getY(number), ends.getZ(number));
        const lengths = trails.flatMap((line) => {
            const { instanceStart: from, instanceEnd: to } = line.geometry.attributes;
            return Array.from({ length: to.count }, (_, k) => at(line, from, k).distanceTo(at(line, to, k)));
        });
        const [line] = trails, ends = line?.geometry.attributes.instanceEnd;
        const ball = vector().setFromMatrixPosition(nodes[body].matrixWorld);
        kept.push({
            gone: nodes[body].position.x + nodes[body].position.y,
            ball: pixels(ball.clone()),
            above: pixels(vector(ball.x, labels[1], ball.z)),
            label: pixels(vector(...labels.slice(0, 3))),
            end: line && pixels(at(line, ends, ends.count - 1).applyMatrix4(line.matrixWorld)),
            longest: Math.max(0, ...lengths),
        });
    };
}"""


@pytest.fixture
def session() -> Any:
    with Session(loads(WORLD), view=0, paused=True) as session:
        session.start()
        yield session


def opened(browser: Any, session: Session, query: str) -> Any:
    """A page that keeps what is in each picture; without a graphics card, it draws few."""
    assert session.viewer is not None
    page = browser.new_page(drawn=False, viewport=SIZE)
    page.set_default_timeout(1000.0 * PATIENCE)
    page.goto(f"{session.viewer.url}/{query}")
    page.locator("#foot .play").first.wait_for()
    for node in (BODY, "/world/names"):
        page.wait_for_function(f"__viserMutable.nodeRefFromName['{node}']")
    page.wait_for_function("Object.keys(__viserMutable.nodeRefFromName).some((name) => /trails.\\d+.0$/.test(name))")
    page.evaluate(EACH_PICTURE, BODY)
    return page


# What is followed has its label and its trail in one picture, or shakes: the harder one.
@pytest.mark.parametrize("follow", only(["drone/base_link", "nothing"], 0))
def test_a_label_and_the_end_of_a_trail_are_at_the_body_of_the_same_picture(
    browser: Any, session: Session, follow: str
) -> None:
    page = opened(browser, session, f"?follow={follow}")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("kept.filter((each) => each.gone > 2).length > 25")
    kept = page.evaluate("kept.filter((each) => each.gone > 2)")
    gone = [after["gone"] - before["gone"] for before, after in pairwise(kept)]
    assert sum(way > 0.1 for way in gone) > 10, "the ball does not go on from picture to picture"
    for picture in kept:
        assert picture["label"] == pytest.approx(picture["above"], abs=1.0)
        assert picture["label"][1] < picture["ball"][1]
        assert picture["end"] == pytest.approx(picture["ball"], abs=1.0)


def shows(viewer: Viewer, time_ns: int) -> bool:
    return viewer._instant is not None and viewer._instant.time_ns == time_ns


# Takes seconds: make test has labels and trails in one picture.
@pytest.mark.nightly
def test_a_trail_does_not_lead_back_to_the_start(browser: Any, session: Session) -> None:
    """It begins anew. Its lines are sent more rarely than where its end is."""
    viewer, loop = session.viewer, session.loop
    assert viewer is not None
    for number in range(1, 81):
        loop.step(10)
        until(partial(shows, viewer, number * 100_000_000), "it is shown")
    page = opened(browser, session, "")
    page.wait_for_function("kept.some((each) => each.longest > 0.9)")
    page.evaluate("kept.length = 0")
    page.get_by_role("button", name="Reset").click()
    page.wait_for_function("kept.some((each) => each.gone === 0 && each.end && each.longest === 0)")
    kept = page.evaluate("kept")
    assert max(picture["gone"] for picture in kept) == pytest.approx(40.0, abs=0.1)
    assert max(picture["longest"] for picture in kept) < 1.1, "a metre is between two of its points"
