"""The tab Drive: a base by its sliders, a joint by its slider, and the stop, in a real run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from page import Page, opened
from waiting import until

from sim_node import Session, loads

YARD = """
world: yard
time: {step: 0.01}
physics: {integrator: implicitfast, gravity: [0, 0, 0]}
bodies:
  - {name: robot, joint: free, geometry: [{sphere: 0.2, mass: 3}]}
  - {name: lift, pose: {position: [3, 0, 0]}, joint: {type: pz, limits: [0, 2]}, geometry: [{sphere: 0.2, mass: 5}]}
actuators: [{joint: lift, stiffness: 500, damping: 100}]
bases:
  - {name: omni, body: robot, type: omni, wheel_radius: 0.1, base_radius: 0.2, drive: kinematic, limits: {linear: 0.8}}
"""
# Not as fast as possible: the run would take a processor for itself while the page is opened.
SPEED = 8.0


@pytest.fixture
def run() -> Iterator[Session]:
    with Session(loads(YARD), view=0, real_time_factor=SPEED) as session:
        session.start()
        yield session


def slide(page: Page, label: str, value: float) -> None:
    page.send({"type": "GuiUpdateMessage", "uuid": page.element(label, "Slider")["uuid"], "updates": {"value": value}})


def speed(run: Session) -> Any:
    return run.loop.call(lambda: run.simulation.vehicles["omni"].twist[1])


# Takes seconds: make test has sliders and the stop in a browser, in test/system/test_controls_in_browser.py.
@pytest.mark.nightly
def test_sliders_drive_and_the_stop_stops(run: Session) -> None:
    assert run.viewer is not None
    with opened(run.viewer.url) as page:
        ahead, lift = page.element("ahead, m/s")["props"], page.element("lift", "Slider")["props"]
        assert (ahead["min"], ahead["max"]) == (-0.8, 0.8)  # the limit of the base
        assert (lift["min"], lift["max"]) == (0.0, 2.0)
        slide(page, "left, m/s", 0.4)
        until(lambda: abs(speed(run) - 0.4) < 1e-9, "the base to go to the left")
        slide(page, "lift", 1.5)
        until(lambda: abs(run.loop.call(lambda: run.simulation.joints["lift"].position[0]) - 1.5) < 0.01, "the lift")
        page.send({"type": "GuiUpdateMessage", "uuid": page.element("Stop")["uuid"], "updates": {"value": True}})
        until(lambda: speed(run) == 0.0, "the stop")


def test_a_page_that_is_closed_stops_what_it_drove(run: Session) -> None:
    assert run.viewer is not None
    with opened(run.viewer.url) as page:
        slide(page, "left, m/s", 0.4)
        until(lambda: abs(speed(run) - 0.4) < 1e-9, "the base to go to the left")
    until(lambda: speed(run) == 0.0, "the stop")


def test_a_multirotor_has_a_slider_to_climb_and_holds_its_position_at_a_stop() -> None:
    text = """
world: air
time: {step: 0.004}
physics: {timestep: 0.002}
vehicles: [{name: drone, model: iris, sensors: false, pilot: {speed: 3, yaw_rate: 0.7, wait: 0, after: hold}}]
"""
    with Session(loads(text), view=0, real_time_factor=SPEED) as run:
        run.start()

        def velocity() -> Any:
            return run.loop.call(lambda: run.simulation.bodies["drone/base_link"].twist[:3])

        assert run.viewer is not None
        with opened(run.viewer.url) as page:
            limits = [page.element(label)["props"]["max"] for label in ("ahead, m/s", "left, m/s", "up, m/s")]
            assert limits == [3.0, 3.0, 3.0]
            assert page.element("turn, rad/s")["props"]["max"] == 0.7
            slide(page, "up, m/s", 1.2)
            until(lambda: velocity() == pytest.approx([0.0, 0.0, 1.2], abs=0.03), "it to climb")
            page.send({"type": "GuiUpdateMessage", "uuid": page.element("Stop")["uuid"], "updates": {"value": True}})
            until(lambda: velocity() == pytest.approx([0.0] * 3, abs=0.01), "the stop")
            slide(page, "left, m/s", 0.6)
            until(lambda: velocity() == pytest.approx([0.0, 0.6, 0.0], abs=0.03), "it to fly to the left")
        until(lambda: velocity() == pytest.approx([0.0] * 3, abs=0.01), "the closed page to stop it")
