"""axe-core finds nothing serious on the viewer's pages. AXE names its axe.min.js, from npm's package axe-core."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE

from sim_node.session import Session

AXE = Path(os.environ.get("AXE", "axe.min.js"))
pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(not AXE.is_file(), reason="set AXE to axe.min.js of npm's package axe-core"),
]


def serious(page: Any) -> list[str]:
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert found["passes"]
    return [
        f"{each['impact']}: {each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("world", ["lidar_room", "viewports"])
def test_axe_finds_nothing_serious(browser: Any, world: str) -> None:
    """On the page of a run, with each of its tabs, and on that of a schematic; light and dark."""
    with Session(world, view=0) as session:
        session.run(0.5)
        assert session.viewer is not None
        page = browser.new_page()
        page.set_default_timeout(1000.0 * PATIENCE)
        page.goto(session.viewer.url)
        page.locator("#foot button").first.wait_for()
        page.wait_for_timeout(1000)
        assert serious(page) == []
        if not page.get_by_role("tab").count():
            page.get_by_role("button", name="Dark").click()
            page.wait_for_selector('html[data-mantine-color-scheme="dark"]')
            assert serious(page) == []
        for dark in (False, True) if page.get_by_role("tab").count() else ():
            page.get_by_role("tab", name="Look").first.click()
            page.get_by_role("checkbox", name="Dark").first.set_checked(dark)
            scheme = "dark" if dark else "light"
            page.wait_for_selector(f'[data-mantine-color-scheme="{scheme}"]', state="attached")
            page.wait_for_timeout(1000)
            assert serious(page) == []
            for number in range(page.get_by_role("tab").count()):
                page.get_by_role("tab").nth(number).click()
                page.wait_for_timeout(1000)
                assert serious(page) == []
