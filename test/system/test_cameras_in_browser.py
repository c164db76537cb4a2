"""Where the camera of a page is in a real browser, whatever the page's parts do late."""

from __future__ import annotations

from typing import Any

import pytest
from waiting import PATIENCE

from sim_node.session import Session

# Where the camera of a page goes, m, also before it is drawn there.
WHERE = "__viserMutable.cameraControl.getPosition(__viserMutable.camera.position.clone()).toArray()"
COUNTED = """() => {
    const control = __viserMutable.cameraControl, own = control.setLookAt;
    window.placed = 0;
    control.setLookAt = function (...given) { placed++; return own.apply(this, given); };
}"""


# Takes seconds: make test has cameras that are moved in test_viewer.py.
@pytest.mark.nightly
def test_a_camera_that_nobody_has_moved_stays_where_viser_puts_its_own_one_late(browser: Any) -> None:
    """viser does so when its components come to the direction upwards: on a busy machine, after the first picture."""
    with Session("quadrotor", view=0, paused=True) as session:
        session.start()
        assert session.viewer is not None
        page = browser.new_page(drawn=False, viewport={"width": 1100, "height": 650})
        page.set_default_timeout(1000.0 * PATIENCE)
        page.goto(session.viewer.url)
        page.locator("#triad button.x").wait_for()
        # Nearer than that of the server, which knows no size of a page.
        page.wait_for_function(f"Math.hypot(...{WHERE}) < 2.4")
        placed = page.evaluate(WHERE)
        page.evaluate(COUNTED)
        session.viewer.server.scene.set_up_direction("+z")
        page.wait_for_function("placed > 0")
        assert page.evaluate(WHERE) == pytest.approx(placed, abs=1e-6)
