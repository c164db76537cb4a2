"""A gamepad drives a base and flies a multirotor in a real browser, by scripted readings: it has no hardware."""

from __future__ import annotations

from typing import Any

import pytest
from waiting import PATIENCE, until

from sim_node import Session, loads

YARD = """
world: yard
time: {step: 0.02}
physics: {integrator: implicitfast, timestep: 0.002}
bodies: [{name: robot, joint: free, geometry: [{sphere: 0.2, mass: 3}]}]
bases:
  - {name: amr, body: robot, type: differential, wheel_radius: 0.1, track: 0.4, drive: kinematic,
     limits: {linear: 0.8, angular: 1.2}}
vehicles: [{name: drone, model: iris, sensors: false, pose: {position: [0, 9, 5]}, pilot: {wait: 0, after: hold}}]
"""
# In place of the browser's own readings: the standard layout at rest.
PAD = """
window.pad = {connected: true, axes: [0, 0, 0, 0], buttons: Array.from({length: 17}, () => ({pressed: false}))};
navigator.getGamepads = () => [null, window.pad];
"""


# Takes seconds: make test has sticks of gamepads in test/viewing/test_gamepad.py.
@pytest.mark.nightly
def test_a_gamepad_drives_and_a_page_that_hangs_stops(browser: Any) -> None:
    with Session(loads(YARD), view=0) as session:
        session.start()
        assert session.viewer is not None

        def twist() -> list[float]:
            return list(session.loop.call(lambda: session.simulation.vehicles["amr"].twist.tolist()))

        def set_pad(script: str) -> None:
            page.evaluate(f"() => {{ {script} }}")

        page = browser.new_page(drawn=False, viewport={"width": 200, "height": 150})
        page.set_default_timeout(1000.0 * PATIENCE)
        page.add_init_script(PAD)
        page.goto(session.viewer.url)
        page.locator("#gamepad", has_text="gamepad: amr").wait_for()
        assert twist() == [0.0, 0.0, 0.0]
        set_pad("pad.axes[1] = -1; pad.axes[2] = 1;")  # ahead, and to the right
        until(lambda: abs(twist()[0] - 0.8) < 1e-9 and abs(twist()[2] + 1.2) < 1e-9, "full speed and full turn")
        set_pad("pad.axes[1] = 0.05; pad.axes[2] = 0;")  # within the dead zone
        until(lambda: twist() == [0.0, 0.0, 0.0], "sticks let go")
        set_pad("pad.axes[1] = 1;")
        until(lambda: abs(twist()[0] + 0.8) < 1e-9, "backwards")
        # The page says nothing while this runs, and the stick stays where it is.
        set_pad("setTimeout(() => { const end = Date.now() + 1500; while (Date.now() < end); }, 0);")
        until(lambda: twist() == [0.0, 0.0, 0.0], "the dead man's time-out")
        until(lambda: abs(twist()[0] + 0.8) < 1e-9, "the page to go on")
        set_pad("pad.axes[1] = 0; pad.buttons[1].pressed = true;")
        until(lambda: twist() == [0.0, 0.0, 0.0], "the stop")
        set_pad("pad.buttons[1].pressed = false; pad.axes[1] = -1;")
        until(lambda: abs(twist()[0] - 0.8) < 1e-9, "full speed")
        set_pad("pad.connected = false;")
        until(lambda: twist() == [0.0, 0.0, 0.0], "the gamepad to be gone")

        def climb() -> float:
            return float(session.loop.call(lambda: session.simulation.bodies["drone/base_link"].twist[2]))

        set_pad("pad.connected = true; pad.axes[1] = 0; pad.buttons[5].pressed = true;")
        page.locator("#gamepad", has_text="gamepad: drone").wait_for()
        set_pad("pad.axes[3] = -0.56;")  # halfway beyond the dead zone of 0.12, up
        until(lambda: abs(climb() - 2.5) < 0.05, "half of the pilot's 5 m/s")
        set_pad("pad.axes[3] = 0;")
        until(lambda: abs(climb()) < 0.01, "it to hold its height")
        page.close()
