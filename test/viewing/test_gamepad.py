"""The socket of the gamepad's script: a base by sticks, its dead man's time-out, the stop, and what is no stick."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from waiting import PATIENCE, until
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from sim_node import Session, loads
from sim_node.viewing.browser.gamepad_page import DEAD_MAN_S, sticks_of

YARD = """
world: yard
time: {step: 0.01}
physics: {integrator: implicitfast, gravity: [0, 0, 0]}
bodies:
  - {name: robot, joint: free, geometry: [{sphere: 0.2, mass: 3}]}
  - {name: cart, joint: {type: free, q: [0, 5, 0, 0, 0, 0, 1]}, geometry: [{sphere: 0.2, mass: 3}]}
bases:
  - {name: omni, body: robot, type: omni, wheel_radius: 0.1, base_radius: 0.2, drive: kinematic, limits: {linear: 0.8}}
  - {name: cart, body: cart, type: differential, wheel_radius: 0.1, track: 0.4, drive: kinematic}
"""

AIR = """
world: air
time: {step: 0.004}
physics: {timestep: 0.002}
vehicles:
  - {name: drone, model: iris, sensors: false, pilot: {wait: 0, after: hold}}
  - {name: other, model: iris, sensors: false, pose: {position: [0, 9, 0]}}
"""


@pytest.fixture
def run() -> Iterator[Session]:
    with Session(loads(YARD), view=0, real_time_factor=0.0) as session:
        session.start()
        yield session


def twist(run: Session, base: str = "omni") -> Any:
    return run.loop.call(lambda: run.simulation.vehicles[base].twist.tolist())


def order(vehicle: str, ahead: float = 0.0, left: float = 0.0, turn: float = 0.0, **more: Any) -> str:
    return json.dumps({"vehicle": vehicle, "ahead": ahead, "left": left, "up": 0.0, "turn": turn} | more)


def socket_of(run: Session, **options: Any) -> Any:
    assert run.viewer is not None
    return connect(run.viewer.url.replace("http", "ws") + "/gamepad", open_timeout=PATIENCE, **options)


def test_sticks_are_parts_of_what_a_base_can_do_until_they_fall_silent(run: Session) -> None:
    with socket_of(run) as page:
        assert json.loads(page.recv())["vehicles"] == [
            {"name": "omni", "sideways": True, "climbs": False},
            {"name": "cart", "sideways": False, "climbs": False},
        ]
        page.send(order("omni", 0.5, -0.25, 1.0))
        sent = time.monotonic()
        until(lambda: twist(run) == pytest.approx([0.4, -0.2, 1.5]), "what the sticks say")
        until(lambda: twist(run) == [0.0, 0.0, 0.0], "the dead man's time-out")
        assert time.monotonic() - sent >= DEAD_MAN_S
        page.send(order("omni", 1.0))
        until(lambda: twist(run)[0] == pytest.approx(0.8), "the base to drive again")


def test_a_page_that_is_closed_stops_what_it_drove(run: Session) -> None:
    with socket_of(run) as page:
        page.send(order("omni", 1.0))
        until(lambda: twist(run)[0] == pytest.approx(0.8), "the base to drive")
    until(lambda: twist(run) == [0.0, 0.0, 0.0], "the stop")


def test_one_base_at_a_time_and_a_stop_of_all(run: Session) -> None:
    run.loop.call(lambda: run.simulation.vehicles["cart"].cmd_vel(0.3, timeout=0.0))
    with socket_of(run) as page:
        page.send(order("omni", stop=True))
        until(lambda: twist(run, "cart") == [0.0, 0.0, 0.0], "the stop, of others, too")
        page.send(order("omni", 1.0))
        until(lambda: twist(run)[0] == pytest.approx(0.8), "the one")
        page.send(order("cart", 0.0, 0.0, 1.0))
        until(lambda: twist(run) == [0.0, 0.0, 0.0], "the one to stand where another is chosen")


def test_sticks_fly_a_multirotor_until_they_fall_silent() -> None:
    """With the controller's default limits, 5 m/s and 1 rad/s, and a brake of 2.5 m/s^2."""
    with Session(loads(AIR), view=0, real_time_factor=0.0) as run:
        run.start()

        def twist() -> Any:
            return run.loop.call(lambda: run.simulation.bodies["drone/base_link"].twist[[0, 1, 2, 5]])

        with socket_of(run) as page:
            # The other one has no pilot.
            assert json.loads(page.recv())["vehicles"] == [{"name": "drone", "sideways": True, "climbs": True}]
            # Sent again and again, as from sticks that are held: a busy machine may fly slowly.
            until(
                lambda: (
                    page.send(order("drone", 0.2, -0.1, 0.0, up=0.1))
                    or twist() == pytest.approx([1.0, -0.5, 0.5, 0.0], abs=0.03)
                ),
                "what the sticks say",
            )
            sent = time.monotonic()
            page.send(order("drone", 0.2, -0.1, 0.0, up=0.1))
            until(lambda: twist() == pytest.approx([0.0] * 4, abs=0.01), "the dead man's time-out")
            assert time.monotonic() - sent >= DEAD_MAN_S
            until(
                lambda: (
                    page.send(order("drone", turn=-0.5)) or twist() == pytest.approx([0.0, 0.0, 0.0, -0.5], abs=0.015)
                ),
                "the turn",
            )
            page.send(order("drone", stop=True))
            until(lambda: twist() == pytest.approx([0.0] * 4, abs=0.01), "the stop")


@pytest.mark.parametrize(
    "data",
    [
        "",
        "[]",
        "1e400",
        "{}",
        b"\xff\x00",
        "[" * 900,
        order("omni", 1.5),
        order("omni", float("nan")),
        order("omni", True),
        order("omni", up=1.1),
        order("omni", stop="no"),
        order("omni", 0.5) + " " * 1000,
        '{"vehicle": 3, "ahead": 0, "left": 0, "up": 0, "turn": 0}',
        '{"vehicle": "omni", "ahead": 0, "left": 0, "turn": 0}',
    ],
)
def test_what_no_script_of_ours_sends_is_ignored(data: str | bytes) -> None:
    assert sticks_of(data) is None


def test_the_viewers_page_has_the_script_and_other_sites_have_no_socket(run: Session) -> None:
    assert run.viewer is not None
    with urllib.request.urlopen(run.viewer.url, timeout=PATIENCE) as answer:
        assert b'<script src="/gamepad.js" defer></script>' in answer.read()
    with urllib.request.urlopen(run.viewer.url + "/gamepad.js", timeout=PATIENCE) as answer:
        assert b"navigator.getGamepads" in answer.read()
    with pytest.raises(InvalidStatus, match="403"):
        socket_of(run, origin="http://elsewhere.example")
