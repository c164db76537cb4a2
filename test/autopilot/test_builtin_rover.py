"""The built-in autopilot drives: arrival, order, speeds and arcs, by the ground truth of wheels on the ground."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from nightly import only
from rovers import Driven

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT_ROVER
from sim_node.autopilots.builtin.dialect import Denied, Mode, OrderRefused, Unsupported
from sim_node.autopilots.builtin.mission import fault
from sim_node.autopilots.builtin.px4 import PX4_ROVER
from sim_node.autopilots.builtin.settings import Action
from sim_node.autopilots.builtin.vehicle_parameters import Chassis, from_json, to_json

KINEMATIC = ", drive: kinematic"
# The acceptance radius of its waypoints, m.
NEAR = 0.3


def driving(model: str = "rover", keys: str = "", **options: Any) -> Driven:
    driven = Driven(model, keys=keys, **options)
    driven.flight.arm()
    driven.flight.set_mode(Mode.GUIDED)
    return driven


def radius_of(rows: np.ndarray) -> float:
    """Of the circle through positions, by least squares."""
    x, y = rows[:, 0], rows[:, 1]
    a, b, c = np.linalg.lstsq(np.c_[2.0 * x, 2.0 * y, np.ones_like(x)], x * x + y * y, rcond=None)[0]
    return math.sqrt(c + a * a + b * b)


# Takes seconds: make test has a mission and the turns of the same controller.
@pytest.mark.nightly
def test_it_drives_to_a_position_and_turns_to_the_yaw_there() -> None:
    driven = driving()
    driven.flight.guide(driven.flight.craft.go(np.array([2.0, 1.5, 7.0]), yaw=-1.0))
    rows = driven.run(7.0)
    assert math.dist(driven.place, (2.0, 1.5)) < NEAR
    assert rows[-1, 2] == pytest.approx(-1.0, abs=0.06)
    assert np.abs(rows[-1, 3:]).max() < 0.02
    assert rows[:, 3].max() <= 2.05, "its limit is 2 m/s"


def test_wheels_that_skid_drive_the_arc_that_is_asked_for() -> None:
    """The yaw rate of a circle is v / R, though what the wheels do to turn a skid base is known to a part only."""
    driven = driving()
    driven.flight.guide(driven.flight.craft.drift((1.0, 0.0, 0.0), 0.5, math.nan, along_body=True, heading=0.0))
    driven.run(3.0)
    rows = driven.run(4.0)
    assert rows[:, 3].mean() == pytest.approx(1.0, rel=0.03)
    assert rows[:, 5].mean() == pytest.approx(0.5, rel=0.03)
    assert radius_of(rows) == pytest.approx(2.0, rel=0.03)


def test_a_velocity_in_the_world_is_a_course() -> None:
    driven = driving(keys=KINEMATIC)
    driven.flight.guide(driven.flight.craft.drift((0.0, 1.0, 0.0), 0.0, math.nan, along_body=False, heading=0.0))
    rows = driven.run(5.0)
    assert rows[-1, 2] == pytest.approx(math.pi / 2, abs=0.01)
    assert rows[-1, 3] == pytest.approx(1.0, abs=0.01)


# Takes seconds: make test has a mission and the turns of the same controller.
@pytest.mark.nightly
def test_a_car_reaches_what_is_beside_it() -> None:
    """A goal inside of its turning circle, which it has to leave first."""
    driven = driving("ackermann", KINEMATIC)
    chassis = driven.parameters.airframe
    assert isinstance(chassis, Chassis)
    assert chassis.turning_radius == pytest.approx(0.5 / math.tan(0.6), rel=0.5)
    driven.flight.guide(driven.flight.craft.go(np.array([0.0, 0.5 * chassis.turning_radius, 0.0])))
    rows = driven.run(15.0)
    assert math.dist(driven.place, (0.0, 0.5 * chassis.turning_radius)) < NEAR
    turns = rows[np.abs(rows[:, 3]) > 0.1]
    assert (np.abs(turns[:, 5] / turns[:, 3]) <= 1.0 / chassis.turning_radius + 0.02).all(), "no tighter than it can"
    with pytest.raises(OrderRefused, match="cannot turn on the spot"):
        driven.flight.turn(driven.flight.craft.turn(1.0), 1.0)


def test_a_mecanum_base_moves_in_any_direction_without_turning() -> None:
    driven = driving("mecanum", KINEMATIC)
    driven.flight.guide(driven.flight.craft.drift((0.0, 0.4, 0.0), 0.0, math.nan, along_body=False, heading=0.0))
    rows = driven.run(3.0)
    assert rows[-1, 4] == pytest.approx(0.4, abs=0.01)
    assert rows[-1, 2] == pytest.approx(0.0, abs=0.01)


# make test drives a mission of a pilot to its end, above or below; multirotors have these items in
# test_builtin_missions.py.
@pytest.mark.nightly
def test_it_drives_around_a_position() -> None:
    driven = driving(keys=KINEMATIC)
    driven.flight.guide(driven.flight.craft.circle(np.array([0.0, 0.0, 0.0]), 2.0, 1.0))
    rows = driven.run(9.0)[-250:]
    assert radius_of(rows) == pytest.approx(2.0, rel=0.02)
    assert np.hypot(rows[:, 0], rows[:, 1]) == pytest.approx(2.0, rel=0.05)
    assert (rows[:, 5] > 0.0).all(), "counterclockwise"


PILOT = (
    ", pilot: {wait: 0.5, speed: 1.0, after: AFTER, waypoints: "
    "[[3, 0], {position: [3, 2], hold: 1, yaw_deg: 180}, {position: [0, 2], speed: 0.5}]}"
)


def test_its_pilots_mission_is_driven_in_order_at_its_speeds_and_ends_at_home() -> None:
    driven = Driven(keys=KINEMATIC + PILOT.replace("AFTER", "return"))
    rows = driven.run(28.0)
    arrivals = [
        int(np.flatnonzero(np.hypot(rows[:, 0] - x, rows[:, 1] - y) < NEAR)[0]) for x, y in ((3, 0), (3, 2), (0, 2))
    ]
    assert arrivals == sorted(arrivals)
    assert rows[: arrivals[0], 3].max() == pytest.approx(1.0, abs=0.02)
    assert rows[arrivals[1] + 200 : arrivals[2], 3].max() == pytest.approx(0.5, abs=0.02)
    # It has stood at the second one, looking west.
    stood = np.abs(rows[arrivals[1] : arrivals[2], 3:]).max(axis=1) < 0.01
    assert 0.9 * 50 < stood.sum() < 1.6 * 50
    assert math.dist(driven.place, (0.0, 0.0)) < NEAR
    assert driven.flight.mode is Mode.RETURN
    assert driven.flight.armed
    assert "home is reached" in driven.said


# make test drives a mission of a pilot to its end, above or below; multirotors have these items in
# test_builtin_missions.py.
@pytest.mark.nightly
def test_a_pilots_mission_may_end_where_it_is() -> None:
    """Like ArduPilot, whose missions begin with home."""
    pilot = ", pilot: {wait: 0.5, waypoints: [[1, 0], [1, 1]]}"
    driven = Driven(keys=KINEMATIC + pilot, dialect=ARDUPILOT_ROVER)
    driven.run(9.0)
    assert driven.flight.finished
    assert driven.flight.mode is Mode.HOLD
    assert math.dist(driven.place, (1.0, 1.0)) < NEAR


def test_disarming_and_hold_stop_it_at_full_speed() -> None:
    driven = driving(keys=KINEMATIC)
    for stops_by in ("hold", "disarm"):
        driven.flight.arm()
        driven.flight.set_mode(Mode.GUIDED)
        driven.flight.guide(driven.flight.craft.drift((2.0, 0.0, 0.0), 0.0, math.nan, along_body=True, heading=0.0))
        assert driven.run(2.0)[-1, 3] == pytest.approx(2.0, abs=0.01)
        driven.flight.set_mode(Mode.HOLD) if stops_by == "hold" else driven.flight.disarm()
        # v / a, within which it has stopped.
        assert np.abs(driven.run(1.5)[-1, 3:]).max() < 0.01
    assert not driven.flight.armed
    assert (driven.flight.commands == 0.0).all()


# Takes seconds: make test has a mission and the turns of the same controller.
@pytest.mark.nightly
def test_it_stays_armed_as_long_as_nobody_disarms_it() -> None:
    driven = driving(keys=KINEMATIC)
    driven.run(11.0)
    assert driven.flight.armed
    assert driven.flight.airborne


def test_what_flies_is_refused_with_the_reason() -> None:
    driven = driving(keys=KINEMATIC)
    flight = driven.flight
    with pytest.raises(Unsupported, match="a rover cannot take off"):
        flight.take_off(3.0)
    with pytest.raises(Unsupported, match="a rover stays on the ground"):
        flight.land()
    for command in (21, 22):
        item = {"command": command, "frame": 3, "x": 0, "y": 0, "z": 2.0} | dict.fromkeys(
            ("param1", "param2", "param3", "param4"), 0.0
        )
        assert fault(item, 1, flight) == "a rover neither takes off nor lands"
    with pytest.raises(OrderRefused, match="vz must be 0"):
        flight.craft.drift((1.0, 0.0, 1.0), 0.0, math.nan, along_body=False, heading=0.0)
    with pytest.raises(OrderRefused, match="do not move sideways"):
        flight.craft.drift((0.0, 1.0, 0.0), 0.0, math.nan, along_body=True, heading=0.0)
    with pytest.raises(OrderRefused, match="its yaw follows its velocity"):
        flight.craft.drift((1.0, 0.0, 0.0), 0.5, math.nan, along_body=False, heading=0.0)
    flight.disarm()
    with pytest.raises(OrderRefused, match="not armed"):
        flight.go_to(np.zeros(3))


@pytest.mark.parametrize(
    ("dialect", "modes", "refused"),
    [
        (PX4_ROVER, {(1, 0): Mode.MANUAL, (4, 3): Mode.HOLD, (4, 4): Mode.MISSION, (4, 5): Mode.RETURN}, (4, 6)),
        # Rover's own numbers: https://ardupilot.org/rover/docs/parameters.html, MODE1.
        (
            ARDUPILOT_ROVER,
            {(0, 0): Mode.MANUAL, (4, 0): Mode.HOLD, (10, 0): Mode.MISSION, (15, 0): Mode.GUIDED},
            (5, 0),
        ),
    ],
    ids=["px4", "ardupilot"],
)
def test_modes_are_those_of_rovers(dialect: Any, modes: dict[tuple[int, int], Mode], refused: tuple[int, int]) -> None:
    assert {number: dialect.mode_of(*number) for number in modes} == modes
    with pytest.raises(OrderRefused):
        dialect.mode_of(*refused)
    with pytest.raises(Denied):
        dialect.mode_of(99, 0)


def test_parameters_are_those_of_rovers() -> None:
    assert not [name for name in PX4_ROVER.parameters if name.startswith("MPC_")]
    assert not [name for name in ARDUPILOT_ROVER.parameters if name.startswith("WPNAV_")]
    driven = driving(keys=KINEMATIC)
    driven.flight.set_parameter(PX4_ROVER.parameters["RO_SPEED_LIM"], 0.7)
    driven.flight.guide(driven.flight.craft.go(np.array([9.0, 0.0, 0.0])))
    assert driven.run(3.0)[-1, 3] == pytest.approx(0.7, abs=0.01)


# make test has every failsafe of rovers in test_builtin_failsafes.py.
@pytest.mark.nightly
def test_a_lost_ground_station_stops_it() -> None:
    driven = driving(keys=KINEMATIC)
    flight = driven.flight
    assert flight.settings.link_action is Action.HOLD
    flight.failsafe.ground_station(flight, 0)
    flight.guide(flight.craft.drift((1.0, 0.0, 0.0), 0.0, math.nan, along_body=True, heading=0.0))
    assert driven.run(9.0)[-1, 3] == pytest.approx(1.0, abs=0.01)
    flight.failsafe.watch_link(flight, 9_000_000_000)
    before = flight.mode
    driven.run(1.1)
    flight.failsafe.watch_link(flight, 10_200_000_000)
    assert (before, flight.mode) == (Mode.GUIDED, Mode.HOLD)
    assert np.abs(driven.run(1.5)[-1, 3:]).max() < 0.01


# Both are turned to the world first.
@pytest.mark.parametrize("along_body", only([True, False], 0))
def test_velocities_like_rovers_end_before_the_fence(along_body: bool) -> None:
    """FENCE_MARGIN, 2 m before FENCE_RADIUS, as AC_Avoid::adjust_speed; PX4 knows no such thing."""
    driven = driving(keys=KINEMATIC, dialect=ARDUPILOT_ROVER)
    flight = driven.flight
    for name, value in (("FENCE_RADIUS", 6.0), ("FENCE_ENABLE", 1.0)):
        flight.set_parameter(ARDUPILOT_ROVER.parameters[name], value)
    flight.guide(flight.craft.drift((1.5, 0.0, 0.0), 0.0, math.nan, along_body=along_body, heading=0.0))
    driven.run(8.0)
    assert driven.place == pytest.approx([4.0, 0.0], abs=0.15)
    assert flight.mode is Mode.GUIDED


# make test has every failsafe of rovers in test_builtin_failsafes.py.
@pytest.mark.nightly
def test_an_empty_battery_stops_it() -> None:
    driven = driving(keys=KINEMATIC)
    flight = driven.flight
    flight.settings.battery_floor, flight.settings.battery_endurance = 0.0, 4.0
    flight.guide(flight.craft.drift((2.0, 0.0, 0.0), 0.0, math.nan, along_body=True, heading=0.0))
    driven.run(7.0)
    assert flight.battery.remaining == 0.0
    assert not flight.armed
    assert np.abs(driven.run(0.5)[-1, 3:]).max() < 0.01


def test_a_chassis_survives_json() -> None:
    parameters = driving(keys=KINEMATIC).parameters
    assert from_json(to_json(parameters)).airframe == parameters.airframe


# To the other side it is the same with another sign.
@pytest.mark.parametrize(("direction", "way"), only([(0, -1.0), (1, 1.0), (-1, -1.0)], 1))
def test_it_turns_on_the_spot_the_way_that_is_asked_for(direction: int, way: float) -> None:
    """CONDITION_YAW: to the right by the shorter way, or to the left by the longer one."""
    driven = driving(keys=KINEMATIC)
    driven.flight.turn(driven.flight.craft.turn(-1.0, 1.0, direction), -1.0)
    rows = driven.run(8.0)
    turned = np.unwrap(rows[:, 2])
    assert turned[-1] == pytest.approx(-1.0 if way < 0.0 else 2.0 * math.pi - 1.0, abs=0.06)
    assert np.abs(rows[:, 5]).max() == pytest.approx(1.0, abs=0.02)
    assert math.dist(driven.place, (0.0, 0.0)) < 0.01


# make test drives a mission of a pilot to its end, above or below; multirotors have these items in
# test_builtin_missions.py.
@pytest.mark.nightly
def test_items_of_a_mission_set_the_speed_and_wait() -> None:
    driven = driving(keys=KINEMATIC)
    flight = driven.flight
    none = dict.fromkeys(("param1", "param2", "param3", "param4"), 0.0) | {"x": 0, "y": 0, "z": 0.0, "frame": 2}
    # MAV_FRAME_LOCAL_NED in 1e-4 m: 2 m and 4 m north.
    north = [none | {"command": 16, "frame": 1, "x": x, "param2": 0.1, "param4": math.nan} for x in (20_000, 40_000)]
    slowly = none | {"command": 178, "param1": 1.0, "param2": 0.5, "param3": -1.0}
    flight.replace_mission([north[0], none | {"command": 93, "param1": 2.0}, slowly, north[1]])
    flight.set_mode(Mode.MISSION)
    rows = driven.run(16.0)
    first = int(np.flatnonzero(rows[:, 1] > 1.85)[0])
    assert rows[:first, 3].max() > 1.2
    assert rows[first + 100 :, 3].max() == pytest.approx(0.5, abs=0.01)
    assert 90 < (np.abs(rows[first : first + 250, 3]) < 0.01).sum() < 130, "2 s at 50 Hz"
    assert math.dist(driven.place, (0.0, 4.0)) < NEAR
    assert flight.finished
