"""Fences, and orders that follow one another: what the real autopilots do.

test_builtin_fences.py and test_builtin_orders.py ask the built-in autopilot for the same numbers.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from real_flights import ABOVE_SEA, Flight, flight
from real_kinds import ARDUPILOT, PX4, STANDS, Kind, built

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]
ACCEPTED, FAILED = mavlink.MAV_RESULT_ACCEPTED, mavlink.MAV_RESULT_FAILED
HEIGHT = 5.0
# The braking distance from PX4's 5 m/s at its 3 m/s², and what it needs to see it and to tilt.
BRAKES = 5.0**2 / (2 * 3.0) + 1.0 * 5.0


def box(west: float, east: float, south: float, north: float) -> list[tuple[float, float]]:
    return [(west, south), (west, north), (east, north), (east, south)]


def in_the_air(flown: Flight) -> None:
    if flown.kind is ARDUPILOT:
        flown.mode("hold")  # GUIDED
    flown.arm()
    flown.take_off(HEIGHT)
    flown.run(3.0)


def said(flown: Flight, text: str) -> bool:
    return any(text in each.text for each in flown.texts)


@pytest.mark.parametrize("kind", [built(ARDUPILOT)])
def test_arducopter_stays_within_the_intersection_of_its_inclusions(kind: Kind, tmp_path: Path) -> None:
    """Which AC_PolyFence_loader takes, unless FENCE_OPTIONS has bit 1; AC_Avoid stops before the edge."""
    with flight(kind, tmp_path, sensors="false") as flown:
        in_the_air(flown)
        flown.fence(box(-50, 50, -50, 30), box(-50, 50, -20, 90))
        flown.set_parameter("FENCE_ENABLE", 1)
        flown.run(1.0)  # its fences look at parameters a few times a second
        assert flown.go_there(0.0, 60.0, HEIGHT) == FAILED
        flown.set_position(0.0, 60.0, HEIGHT)
        flown.run(3.0)
        np.testing.assert_allclose(flown.place, [0.0, 0.0, HEIGHT], atol=0.5)
        flown.move(0.5, 4.0, 0.2, 16.0)
        print("velocity north, with a fence at 30 m: stopped at", flown.place)
        assert 27.0 < flown.place[1] < 29.0  # FENCE_MARGIN, 2 m, before the edge
        assert max(place[1] for place in flown.path) < 30.0
        assert flown.place[0] > 3.0, "slides along it"
        flown.set_parameter("FENCE_ALT_MAX", 20.0)
        flown.run(1.0)
        flown.move(0.0, 0.0, 3.0, 10.0)
        print("velocity up, with FENCE_ALT_MAX 20: stopped at", flown.place)
        assert flown.place[2] == pytest.approx(18.0, abs=0.8)
        assert flown.go_there(0.0, 0.0, 30.0) == FAILED
        flown.set_parameter("FENCE_OPTIONS", 2)
        flown.set_position(0.0, 60.0, 10.0)
        there = np.array([0.0, 60.0, 10.0])
        flown.until(lambda: np.linalg.norm(flown.place - there) < 1.0, 40.0, "there, within the other inclusion")
        assert not said(flown, "breached")


@pytest.mark.parametrize("kind", [built(ARDUPILOT)])
def test_arducopter_flies_the_newest_order_to_its_end(kind: Kind, tmp_path: Path) -> None:
    """Velocities alone time out (mode_guided.cpp, get_timeout_ms), and not what was ordered after them."""
    with flight(kind, tmp_path, sensors="false") as flown:
        in_the_air(flown)
        flown.move(0.0, 1.0, 0.0, 1.0)
        assert flown.go_there(0.0, 40.0, HEIGHT) == ACCEPTED
        flown.run(16.0)
        print("a goto after a velocity ends at", flown.place)
        np.testing.assert_allclose(flown.place, [0.0, 40.0, HEIGHT], atol=0.5)
        flown.move(0.0, 0.5, 0.0, 1.0)
        before = heading(flown)
        assert flown.command(mavlink.MAV_CMD_CONDITION_YAW, 170.0, 20.0, 1.0, 1.0) == ACCEPTED
        flown.run(14.0)
        turned = (heading(flown) - before) % 360.0
        print("a turn by 170 degrees after a velocity is one by", turned)
        assert turned == pytest.approx(170.0, abs=3.0)
        begin = flown.place[0]
        flown.move(1.0, 0.0, 0.0, 0.25)
        flown.run(6.0)
        print("a velocity of 1 m/s that nobody repeats goes", flown.place[0] - begin, "m")
        assert 2.0 < flown.place[0] - begin < 4.5  # GUID_TIMEOUT, 3 s


def heading(flown: Flight) -> float:
    return math.degrees(flown.latest["ATTITUDE"].yaw)


@pytest.mark.parametrize("kind", [built(PX4)])
def test_px4_acknowledges_a_target_outside_and_drops_it(kind: Kind, tmp_path: Path) -> None:
    """navigator_main.cpp says so, while the commander acknowledges the command."""
    with flight(kind, tmp_path) as flown:
        in_the_air(flown)
        flown.fence(box(-10, 10, -10, 10))
        flown.run(2.0)  # it reads the fence from its storage
        there = flown.place
        assert flown.go_there(0.0, 60.0, HEIGHT) == ACCEPTED
        flown.until(lambda: said(flown, "Reposition is outside geofence"), 5.0, "told")
        flown.run(3.0)
        np.testing.assert_allclose(flown.place, there, atol=0.7)
        assert flown.go_there(0.0, -5.0, HEIGHT) == ACCEPTED
        flown.until(lambda: abs(flown.place[1] + 5.0) < 0.7, 20.0, "inside")
        flown.set_parameter("GF_MAX_VER_DIST", 10.0)
        flown.texts.clear()
        assert flown.command(mavlink.MAV_CMD_DO_CHANGE_ALTITUDE, ABOVE_SEA + STANDS + 20.0, 0) == ACCEPTED
        flown.until(lambda: said(flown, "Altitude change is outside geofence"), 5.0, "told")
        assert flown.go_there(0.0, 0.0, 20.0) == ACCEPTED
        flown.until(lambda: said(flown, "Reposition is outside geofence"), 5.0, "told")
        flown.run(2.0)
        np.testing.assert_allclose(flown.place, [0.0, -5.0, HEIGHT], atol=0.9)


@pytest.mark.parametrize("kind", [built(PX4)])
def test_px4_stops_a_goto_at_its_fence(kind: Kind, tmp_path: Path) -> None:
    """GF_ACTION 2, the default: it holds, although the mode of a goto is that of holding."""
    with flight(kind, tmp_path) as flown:
        in_the_air(flown)
        assert flown.go_there(0.0, 60.0, HEIGHT) == ACCEPTED
        flown.run(0.5)
        flown.fence(box(-50, 50, -50, 15))
        flown.run(15.0)
        print("a goto to 60 m, with a fence at 15 m: stopped at", flown.place)
        assert 14.0 < flown.place[1] < 15.0 + BRAKES
        assert max(place[1] for place in flown.path) < 15.0 + BRAKES
        assert said(flown, "approaching or outside geofence")
