"""Missions, failsafes and the battery of the built-in autopilot, flown step by step on the simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nightly import only
from scipy.spatial.transform import Rotation
from step_by_step import Flown, item

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT
from sim_node.autopilots.builtin.dialect import Mode, OrderRefused
from sim_node.autopilots.builtin.fence import FENCE, Fence, fence_fault, item_fault
from sim_node.autopilots.builtin.mission import fault
from sim_node.autopilots.builtin.settings import Action
from sim_node.autopilots.builtin.tasks import Drift
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.autopilots.builtin.world import parameters_in
from sim_node.world import load

NAN = math.nan
HERE = {"x": 0, "y": 0}
UNUSED = {"x": 0x7FFFFFFF, "y": 0x7FFFFFFF}


@pytest.fixture(scope="module")
def parameters() -> VehicleParameters:
    world = load("guided")
    return replace(parameters_in(world, world.vehicles[0]), mission=None)


@pytest.fixture
def flown(parameters: VehicleParameters) -> Flown:
    return Flown(parameters)


def fly(flown: Flown, items: list[dict[str, Any]], seconds: float) -> np.ndarray:
    """The path of a mission (N, 10): pose and velocity."""
    assert [fault(each, len(items), flown.flight) for each in items] == [""] * len(items)
    flown.flight.replace_mission(items)
    flown.flight.arm()
    flown.flight.set_mode(Mode.MISSION)
    began = len(flown.path)
    flown.run(seconds)
    return np.array(flown.path)[began:]


@pytest.mark.parametrize("place", [HERE, UNUSED], ids=["0, 0", "unused"])
def test_a_take_off_without_a_position_is_here(flown: Flown, place: dict[str, int]) -> None:
    home = flown.pose[2]
    path = fly(flown, [item(22, NAN, NAN, NAN, NAN, up=4.0) | place], 9.0)
    np.testing.assert_allclose(path[-1, :3], [0.0, 0.0, home + 4.0], atol=0.1)


def test_a_take_off_without_an_altitude_is_as_high_as_the_parameter_says(flown: Flown) -> None:
    home = flown.pose[2]
    flown.flight.settings.takeoff_height = 3.0
    path = fly(flown, [item(22, NAN, NAN, NAN, NAN) | HERE | {"z": NAN}], 8.0)
    assert path[-1, 2] == pytest.approx(home + 3.0, abs=0.1)


def test_a_take_off_climbs_first_and_then_flies_over_its_position(flown: Flown) -> None:
    path = fly(flown, [item(22, 0, 0, 0, NAN, east=6.0, north=3.0, up=4.0)], 16.0)
    low = path[path[:, 2] < flown.path[0][2] + 3.0]
    assert np.abs(low[:, :2]).max() < 0.1
    np.testing.assert_allclose(path[-1, :2], [6.0, 3.0], atol=0.1)


def test_nan_keeps_altitude_and_yaw(flown: Flown) -> None:
    home = flown.pose[2]
    items = [item(22, up=4.0) | HERE, item(16, NAN, NAN, NAN, NAN, east=5.0, north=5.0) | {"z": NAN}]
    path = fly(flown, items, 16.0)
    np.testing.assert_allclose(path[-1, :3], [5.0, 5.0, home + 4.0], atol=0.15)


# Takes seconds: make test has fences, batteries and the items of missions.
@pytest.mark.nightly
def test_turns_about_a_position(flown: Flown) -> None:
    """Two, at 6 m, clockwise: the angle that the truth sweeps, and its distance from the centre."""
    items = [item(22, up=5.0) | HERE, item(18, 2.0, 0, 6.0, NAN, up=5.0), item(17, up=5.0)]
    path = fly(flown, items, 60.0)
    radii = np.hypot(path[:, 0], path[:, 1])
    circling = slice(int(np.argmax(radii > 5.4)), int(len(radii) - np.argmax(radii[::-1] > 5.4)))
    swept = np.unwrap(np.arctan2(path[circling, 1], path[circling, 0]))
    assert swept[-1] - swept[0] == pytest.approx(-4.0 * math.pi, abs=0.5)
    np.testing.assert_allclose(radii[circling][500:-500], 6.0, atol=0.6)


def test_delay_yaw_and_speed(flown: Flown) -> None:
    items = [
        item(22, 0, 0, 0, NAN, up=3.0) | HERE,
        item(93, 4.0),
        item(115, 90.0, 30.0, -1.0, 1.0),  # 90 degrees counterclockwise: from east to north
        item(178, 1.0, 1.0, -1.0),
        item(16, 0, 0, 0, NAN, north=6.0, up=3.0),
    ]
    path = fly(flown, items, 25.0)
    still = np.linalg.norm(path[:, 7:], axis=1) < 0.1
    up = path[:, 2] > path[0, 2] + 2.8
    assert np.count_nonzero(still & up & (path[:, 1] < 0.3)) / 250.0 > 4.0 + 2.0
    assert Rotation.from_quat(path[-1, 3:7]).as_euler("ZYX")[0] == pytest.approx(math.pi / 2, abs=0.05)
    assert path[path[:, 1] > 0.5][:, 8].max() < 1.3


def test_home_is_set_on_the_way(flown: Flown) -> None:
    items = [item(22, up=3.0) | HERE, item(16, 0, 0, 0, NAN, east=6.0, up=3.0), item(179, 1.0), item(20)]
    path = fly(flown, items, 30.0)
    assert not flown.flight.armed
    np.testing.assert_allclose(path[-1, :2], [6.0, 0.0], atol=0.3)


def test_what_no_vehicle_here_has_is_passed_over_with_a_text(flown: Flown) -> None:
    items = [item(22, up=3.0) | HERE, item(1000, NAN, NAN), item(2000, 0, 0, 1), item(205), item(16, up=4.0)]
    path = fly(flown, items, 14.0)
    assert path[-1, 2] == pytest.approx(path[0, 2] + 4.0, abs=0.15)
    assert sum("skipped: no such device" in text for text in flown.said) == 3


@pytest.mark.parametrize(
    "entry",
    [item(93, -1.0), item(178, 3.0, 2.0), item(178, 1.0, 2.0, 60.0), item(18, 0.0), item(115, NAN), item(16, math.inf)],
)
def test_what_would_not_be_flown_is_refused(flown: Flown, entry: dict[str, Any]) -> None:
    assert fault(entry, 3, flown.flight)


def test_arducopters_missions_begin_behind_home(parameters: VehicleParameters) -> None:
    flown = Flown(parameters, ARDUPILOT)
    home = item(16, east=500.0, north=500.0)
    path = fly(flown, [home, item(22, up=3.0) | HERE, item(16, 0, 0, 0, 0.0, north=5.0, up=3.0)], 15.0)
    np.testing.assert_allclose(path[-1, :2], [0.0, 5.0], atol=0.2)
    yaw = Rotation.from_quat(path[-1, 3:7]).as_euler("ZYX")[0]
    assert yaw == pytest.approx(0.0, abs=0.05), "east, as it stood: 0 is what clients write for no yaw"


def corners(size: float, command: int = 5001) -> list[dict[str, Any]]:
    return [item(command, 4.0, east=a * size, north=b * size) for a, b in ((1, 1), (1, -1), (-1, -1), (-1, 1))]


@pytest.mark.parametrize(
    ("items", "outside_at"),
    only(
        [(corners(5.0), 5.0), ([item(5003, 4.0)], 4.0), ([item(5004, 1.0, east=7.0)], 6.0), (corners(2.0, 5002), 0.0)],
        0,
        2,
    ),
    ids=["polygon", "circle", "excluded circle", "excluded polygon"],
)
def test_a_geofence_holds_the_vehicle(flown: Flown, items: list[dict[str, Any]], outside_at: float) -> None:
    assert not fence_fault(items)
    assert [item_fault(each, FENCE) for each in items] == [""] * len(items)
    flown.in_the_air()
    flown.flight.fence = Fence(items, flown.flight.places)
    flown.flight.guide(Drift((2.0, 0.0, 0.0)))
    flown.run(8.0)
    assert flown.flight.mode is Mode.HOLD
    # 0.1 s until it is seen, and v^2 / 2 a to brake: 0.2 and 0.8 m.
    assert outside_at <= flown.pose[0] < outside_at + 2.0 or outside_at == 0.0
    assert any("Geofence violation" in text for text in flown.said)


# Takes seconds: make test has fences, batteries and the items of missions.
@pytest.mark.nightly
def test_it_returns_to_the_nearer_rally_point(flown: Flown) -> None:
    flown.in_the_air()
    flown.flight.rally = (item(5100, east=14.0, up=6.0),)
    flown.flight.go_to(np.array([10.0, 0.0, 5.0]))
    flown.run(8.0)
    flown.flight.set_mode(Mode.RETURN)
    flown.run(25.0)
    np.testing.assert_allclose(flown.pose[:2], [14.0, 0.0], atol=0.3)
    assert not flown.flight.armed


# make test has a critical and an empty battery, above or below.
@pytest.mark.nightly
def test_the_battery_lasts_as_long_as_it_says_in_hover(flown: Flown) -> None:
    """A fifth of it in a fifth of the time, and the 2 % that electronics draw."""
    settings = flown.flight.settings
    settings.battery_endurance, settings.battery_floor = 100.0, 0.0
    flown.in_the_air()
    before = flown.flight.battery.remaining
    volts = flown.flight.battery.voltage
    flown.run(20.0)
    assert before - flown.flight.battery.remaining == pytest.approx(0.2, rel=0.1)
    assert flown.flight.battery.voltage < volts


def test_a_critical_battery_returns_and_an_empty_one_lands(flown: Flown) -> None:
    settings = flown.flight.settings
    settings.battery_endurance, settings.battery_floor, settings.battery_action = 60.0, 0.0, Action.RETURN
    settings.battery_low, settings.battery_critical, settings.battery_emergency = 0.7, 0.6, 0.5
    flown.in_the_air()
    flown.flight.go_to(np.array([30.0, 0.0, 5.0]), speed=1.0)
    flown.run(30.0)
    said = [text for text in flown.said if "battery" in text]
    assert said == [
        "Low battery level",
        "Critical battery level: AUTO.RTL",
        "Emergency battery level: AUTO.LAND",
    ]


def test_a_silent_ground_station(flown: Flown) -> None:
    """Once there has been one, and by both clocks."""
    flown.flight.settings.link_action, flown.flight.settings.link_timeout = Action.RETURN, 2.0
    failsafe = flown.flight.failsafe
    flown.in_the_air()
    modes = []
    failsafe.watch_link(flown.flight, 10**12)
    modes.append(flown.flight.mode)  # nobody was there
    failsafe.ground_station(flown.flight, 0)
    flown.run(3.0)
    for now_ns in (10**9, 3 * 10**9):  # a fast simulation, and then silence
        failsafe.watch_link(flown.flight, now_ns)
        modes.append(flown.flight.mode)
    assert modes == [Mode.GUIDED, Mode.GUIDED, Mode.RETURN]
    failsafe.ground_station(flown.flight, 4 * 10**9)
    assert flown.said[-1] == "Connection to ground control station regained"


def test_a_landing_that_is_refused_leaves_no_position_to_land_at(flown: Flown) -> None:
    flight = flown.flight
    with pytest.raises(OrderRefused, match="on the ground"):
        flight.land(np.array([20.0, 0.0, 0.0]))
    flight.take_off(3.0)
    flight.arm()
    flown.run(6.0)
    assert flown.pose[2] > 2.5
    flight.set_mode(Mode.LAND)  # as a failsafe does
    flown.run(10.0)
    assert not flight.airborne
    np.testing.assert_allclose(flown.pose[:2], 0.0, atol=0.2)
