"""axe-core finds nothing serious on the viewer's pages. AXE names its axe.min.js, from npm's package axe-core."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from forked_programs import program
from processes import sim_node
from waiting import PATIENCE

from sim_node.session import Session
from sim_node.session.bag_view import BagView
from sim_node.viewing.browser.viewer import Viewer

AXE = Path(os.environ.get("AXE", "axe.min.js"))
pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(not AXE.is_file(), reason="set AXE to axe.min.js of npm's package axe-core"),
]


def serious(page: Any) -> list[str]:
    """What is found in each of its frames: views are pages of their own."""
    said = []
    for frame in page.frames:
        frame.add_script_tag(path=str(AXE))
        found = frame.evaluate("axe.run(document, {resultTypes: ['violations'], iframes: false})")
        assert found["passes"]
        said += [
            f"{each['impact']}: {each['id']}: {each['nodes'][0]['html'][:200]}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]
    return said


# The title of the panel, which a click unfolds.
FOLDED = '.mantine-Paper-root[style*="position: fixed"] [style*="cursor: pointer"]'


SIZES = {"large": (1280, 720), "phone": (390, 844)}


def opened(browser: Any, viewer: Viewer | None, size: tuple[int, int], *, drawn: bool = True) -> Any:
    assert viewer is not None
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, drawn=drawn)
    page.set_default_timeout(1000.0 * PATIENCE)
    page.goto(viewer.url)
    page.locator("#foot .state").first.wait_for()
    return page


# Panels of all kinds but views, which are pages of their own.
PANELS = """vsplit {
    graph "drone/base_link.world_pos.linear()" name=Position
    hsplit {
        component_monitor component_name="drone/base_link.world_pos"
        horizon_gauge "drone/base_link.world_pos"
        orientation_gauge "drone/base_link.world_pos"
        hierarchy
    }
    tabs {
        log_stream; messages; parameters; inspector; data_overview; schematic_tree
        query_table "drone/base_link.world_pos"
    }
}
window title=W { rect 40 4 40 22; sensor_view "x"; }"""


def test_axe_finds_nothing_serious_on_panels(browser: Any) -> None:
    """On panels of all kinds, with what opens above them, light and dark; on a large page and on a phone."""
    with Session("quadrotor", view=0, paused=True) as session:
        session.start()
        session.loop.step(100)
        assert session.viewer is not None
        page = browser.new_page(viewport={"width": 1600, "height": 900}, color_scheme="light")
        page.set_default_timeout(1000.0 * PATIENCE)
        page.goto(f"{session.viewer.url}/?frame=drone/base_link&layout={quote(PANELS)}")
        page.locator(".float").wait_for()
        for scheme in ("light", "dark"):
            page.wait_for_selector(f'html[data-mantine-color-scheme="{scheme}"]')
            for size in ((1600, 900), (390, 844)):
                page.set_viewport_size({"width": size[0], "height": size[1]})
                for number in range(page.locator(".tabs > nav > div:first-child > button").count()):
                    page.locator(".tabs > nav > div:first-child > button").nth(number).click()
                    assert serious(page) == []
            page.keyboard.press("?")
            assert serious(page) == []
            page.keyboard.press("Escape")
            page.get_by_role("button", name="Add panel").click()
            assert serious(page) == []
            page.get_by_role("button", name="Cancel").click()
            page.get_by_role("button", name="Dark" if scheme == "light" else "Light").click()


def assert_tabs_are_fine(page: Any, *names: str) -> None:
    """With each of its tabs, among which these are, light and dark; and folded."""
    page.wait_for_timeout(1000)
    assert serious(page) == []
    is_phone = page.viewport_size["width"] < 700
    if is_phone:
        page.get_by_role("button", name="More").click()
        page.locator(FOLDED).first.click()
    for name in names:
        page.get_by_role("tab", name=name).wait_for()
    for dark in (False, True):
        page.get_by_role("tab", name="Look").first.click()
        page.get_by_role("checkbox", name="Dark").first.set_checked(dark)
        page.wait_for_selector(f'[data-mantine-color-scheme="{"dark" if dark else "light"}"]', state="attached")
        for number in range(page.get_by_role("tab").count()):
            page.get_by_role("tab").nth(number).click()
            page.wait_for_timeout(1000)
            assert serious(page) == [], page.get_by_role("tab").nth(number).inner_text()
    if not is_phone:
        page.get_by_role("button", name="Minimize panel").click()
        page.locator("[data-dock-bar]").wait_for()
        page.wait_for_timeout(1000)
        assert serious(page) == [], "folded"
        page.get_by_role("button", name="Expand panel").click()
        page.get_by_role("tab", name="Look").wait_for()
        page.wait_for_timeout(1000)
        assert serious(page) == [], "unfolded again"


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_axe_finds_nothing_serious_on_any_tab_of_a_run(browser: Any, size: tuple[int, int]) -> None:
    with Session("lidar_room", view=0) as session:
        session.run(0.5)
        assert_tabs_are_fine(opened(browser, session.viewer, size), "Images")


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_axe_finds_nothing_serious_on_any_tab_of_a_bag(browser: Any, size: tuple[int, int], tmp_path: Path) -> None:
    with Session("lidar_room", record=tmp_path / "run", real_time_factor=0.0) as session:
        session.run(0.5)
    view = BagView(tmp_path / "run", viewer := Viewer(0, "run"), print)
    try:
        view.start()
        page = opened(browser, viewer, size, drawn=False)
        assert_tabs_are_fine(page, "Messages", "Sources", "Images")
    finally:
        view.close()


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_axe_finds_nothing_serious_on_any_tab_of_the_graph(browser: Any, size: tuple[int, int]) -> None:
    pytest.importorskip("rclpy", reason="no ROS 2 here")
    from sim_node.ros.live_view import LiveView

    with program(sim_node("run", "lidar_room")):
        view = LiveView(viewer := Viewer(0, "live"))
        try:
            page = opened(browser, viewer, size, drawn=False)
            assert_tabs_are_fine(page, "Messages", "Sources", "Images")
        finally:
            view.close()


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_axe_finds_nothing_serious_on_a_schematic(browser: Any, size: tuple[int, int]) -> None:
    """With its views, and with the scene beside it, light and dark."""
    with Session("viewports", view=0) as session:
        session.run(0.5)
        page = opened(browser, session.viewer, size)
        for view in ("Panels", "Both"):
            page.get_by_role("button", name=view).click()
            if view == "Both" and size[0] > 700:
                # The panel of the scene comes late, and folds itself.
                page.frame_locator('iframe[src="/plain"]').locator("[data-dock-bar]").wait_for()
            for scheme in ("Dark", "Light"):
                page.get_by_role("button", name=scheme, exact=True).click()
                page.wait_for_selector(f'html[data-mantine-color-scheme="{scheme.lower()}"]')
                page.wait_for_timeout(1000)
                assert serious(page) == [], (view, scheme)
