"""Layouts that pages ask for: what is shown of them, what is refused, and what stays when the world changes."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from waiting import PATIENCE, until
from websockets.sync.client import connect

from sim_node.session import Session
from sim_node.viewing.browser.panels import MAX_LAYOUT
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.viewer import Viewer
from sim_node.world import lay_out, loads

WORLD = """
world: flight
motions:
  - frame: drone
    keyframes: [{t: 0, position: [1, 2, 3]}, {t: 99, position: [99, 0, 3]}]
bodies: [{name: ball, parent: drone, geometry: [{sphere: 0.3}]}]
"""


def layout_of(url: str) -> dict[str, Any]:
    with connect(f"{url.replace('http', 'ws')}/panels", ping_interval=None) as connection:
        found: dict[str, Any] = json.loads(connection.recv(PATIENCE))
        return found


def is_told(url: str, why: str) -> bool:
    return why in layout_of(url)["problem"]


def test_a_layout_is_a_setting_of_pages_and_what_is_wrong_with_it_is_told() -> None:
    with Session(loads(WORLD), view=0, paused=True) as session:
        session.start()
        viewer = session.viewer
        assert viewer is not None
        until(lambda: viewer.panels is not None and viewer.panels.signals is not None, "the scene")
        assert layout_of(viewer.url)["panels"] == []
        good = 'hsplit { scene; graph "drone.world_pos.linear()" name=Way; }'
        with connect(f"{viewer.url.replace('http', 'ws')}/layout", ping_interval=None) as page:

            def ask(text: str) -> None:
                page.send(json.dumps({"set": {"layout": text}}))

            ask(good)
            until(lambda: layout_of(viewer.url)["own"], "the layout")
            (split,) = layout_of(viewer.url)["panels"]
            assert [panel["kind"] for panel in split["panels"]] == ["scene", "graph"]
            assert split["panels"][1]["head"] == 'graph "drone.world_pos.linear()" name="Way"'
            assert viewer.layout.now()["layout"] == good
            for bad, why in (
                ('graph "dron.world_pos"', "did you mean drone.world_pos?"),
                ("grph", "did you mean graph?"),
                ("scene\n" * (MAX_LAYOUT // 5), "longer than"),
            ):
                ask(bad)
                until(partial(is_told, viewer.url, why), f"what is wrong: {why}")
                assert layout_of(viewer.url)["panels"] == [split], "the page stays as it is"
            ask("")
            until(lambda: not layout_of(viewer.url)["own"], "the scene alone")
            assert "layout" not in viewer.layout.now()


def test_a_panel_that_comes_while_a_run_is_paused_knows_how_fast_things_were() -> None:
    """0.2 m in 0.1 s, and then nothing more."""
    laid_out = lay_out(world := loads(WORLD))
    viewer = Viewer(0, "test")
    try:
        viewer.set_scene(laid_out.frames, laid_out.poses, world=world)
        poses = laid_out.poses.copy()
        for time_ns, x in ((1_000_000_000, 1.0), (1_100_000_000, 1.2)):
            poses[laid_out.frames.index("drone"), 0] = x
            viewer.show(Instant(time_ns, poses.copy(), {}))
        viewer._lay_out("component_monitor component_name=drone.world_vel")
        assert viewer.panels is not None
        assert viewer.panels.signals is not None
        velocity = viewer.panels.signals.find("drone.world_vel")
        assert velocity is not None
        assert velocity.read() == pytest.approx([0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
    finally:
        viewer.close()


@pytest.mark.parametrize("kept", [True, False])
def test_a_layout_stays_when_the_world_changes_if_it_still_can(kept: bool) -> None:
    first, other = loads(WORLD), loads("world: other\nframes: [{name: post}]\n")
    viewer = Viewer(0, "test")
    for world in (first, other):
        laid_out = lay_out(world)
        viewer.set_scene(laid_out.frames, laid_out.poses, world=world)
        assert viewer.panels is not None
        if world is first:
            viewer._lay_out(f'graph "{"map" if kept else "drone"}.world_pos"')
            assert viewer.panels.text
    assert viewer.panels is not None
    assert bool(viewer.panels.text) is kept
    viewer.close()


def test_a_new_graph_begins_with_what_the_page_can_look_back_at() -> None:
    """The drone goes from 1 m at 0 s to 99 m at 99 s, at (99 - 1) / 99 m/s."""
    with Session(loads(WORLD), view=0, paused=True) as session:
        session.start()
        viewer = session.viewer
        assert viewer is not None
        for _ in range(20):
            session.loop.step(10)
            until(lambda: viewer._last_ns == session.loop.simulation.time_ns, "the page has it")
        viewer._lay_out('graph "drone.world_pos.x"')
        assert viewer.panels is not None
        (curves,) = viewer.panels._curves
        assert curves.times[-1] == pytest.approx(2.0)
        assert len(curves.times) > 4, "a page is not sent every instant"
        for time_s, (x,) in zip(curves.times, curves.rows, strict=True):
            assert x == pytest.approx(1.0 + 98.0 * time_s / 99.0, abs=1e-6)
