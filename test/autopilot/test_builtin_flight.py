"""The built-in autopilot's flight on the simulation itself, step by step and without links: where it truly flies."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from step_by_step import Flown, item

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT
from sim_node.autopilots.builtin.dialect import Mode, OrderRefused
from sim_node.autopilots.builtin.flight import Flight
from sim_node.autopilots.builtin.memory import restore, saved
from sim_node.autopilots.builtin.mission import Mission, fault
from sim_node.autopilots.builtin.tasks import Accelerate, Drift, Go, Tilt, Track
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters, from_json, to_json
from sim_node.autopilots.builtin.world import parameters_in
from sim_node.simulation.control import Airframe
from sim_node.world import load


@pytest.fixture(scope="module")
def parameters() -> VehicleParameters:
    world = load("guided")
    return replace(parameters_in(world, world.vehicles[0]), mission=None)


@pytest.fixture
def flown(parameters: VehicleParameters) -> Flown:
    return Flown(parameters)


def test_a_craft_survives_json(parameters: VehicleParameters) -> None:
    again = from_json(to_json(parameters))
    assert to_json(again) == to_json(parameters)
    assert isinstance(again.airframe, Airframe)
    assert again.airframe.mass == 1.5
    for text in ("", "[]", "{}", '{"name": "a"}', to_json(parameters).replace('"centre"', '"center"')):
        with pytest.raises(ValueError, match=r"vehicle parameters|JSON|Expecting"):
            from_json(text)


def test_what_it_refuses(flown: Flown, parameters: VehicleParameters) -> None:
    flight = flown.flight
    with pytest.raises(OrderRefused, match="no state yet"):
        Flight(parameters).arm()
    with pytest.raises(OrderRefused, match="not armed"):
        Flight(parameters, ARDUPILOT).take_off(3.0)
    for mode, why in ((Mode.MISSION, "no mission"), (Mode.RETURN, "on the ground"), (Mode.LAND, "on the ground")):
        with pytest.raises(OrderRefused, match=why):
            flight.set_mode(mode)
    flown.in_the_air()
    with pytest.raises(OrderRefused, match="in the air"):
        flight.disarm()
    with pytest.raises(OrderRefused, match="already"):
        flight.take_off(3.0)
    with pytest.raises(OrderRefused, match="no mission item 0"):
        flight.fly_item(0)
    flight.disarm(force=True)
    flown.run(0.1)
    assert not flown.flight.commands.any()


def test_armed_it_idles_and_takes_off_to_a_height_above_home(flown: Flown) -> None:
    flown.flight.arm()
    flown.run(0.5)
    assert 0.0 < flown.flight.commands.max() < 0.2
    home = flown.pose[2]
    flown.flight.take_off(5.0)
    flown.run(10.0)
    np.testing.assert_allclose(flown.pose[:3], [0.0, 0.0, home + 5.0], atol=0.05)
    heights = np.array(flown.path)[:, 2]
    assert heights.max() < home + 5.0 + 0.15  # without overshoot to speak of


def test_a_place_is_reached_within_its_limits_from_any_motion(flown: Flown, parameters: VehicleParameters) -> None:
    flown.in_the_air()
    flown.flight.guide(Drift((4.0, -3.0, 0.0)))
    flown.run(3.0)
    began = len(flown.path)
    flown.flight.guide(Go(np.array([-5.0, 8.0, 7.0]), yaw=2.0, speed=parameters.speed))
    flown.run(20.0)  # what the integral held against drag takes some seconds to go
    np.testing.assert_allclose(flown.pose[:3], [-5.0, 8.0, 7.0], atol=0.1)
    assert Rotation.from_quat(flown.pose[3:]).as_euler("ZYX")[0] == pytest.approx(2.0, abs=0.03)
    speeds = np.linalg.norm(np.array(flown.path)[began:, 7:], axis=1)
    assert speeds.max() < 1.1 * max(parameters.speed, 5.0)


def test_a_velocity_is_flown(flown: Flown) -> None:
    flown.in_the_air()
    flown.flight.guide(Drift((2.0, 1.0, -0.2), yaw_rate=0.3))
    flown.run(4.0)
    np.testing.assert_allclose(flown.velocity, [2.0, 1.0, -0.2], atol=0.1)
    before = Rotation.from_quat(flown.pose[3:]).as_euler("ZYX")[0]
    flown.run(2.0)
    assert Rotation.from_quat(flown.pose[3:]).as_euler("ZYX")[0] - before == pytest.approx(0.6, abs=0.05)
    flown.flight.set_mode(Mode.HOLD)
    flown.run(12.0)
    place = flown.pose[:3]
    flown.run(2.0)
    np.testing.assert_allclose(flown.pose[:3], place, atol=0.05)


def test_an_acceleration_is_flown(flown: Flown) -> None:
    """Less the drag of the rotors at the speed that carries 1.5 kg: v' = a - k v."""
    flown.in_the_air()
    flown.flight.guide(Accelerate((1.0, 0.0, 0.0)))
    flown.run(1.0)
    before = flown.velocity[0]
    flown.run(1.0)
    k = 4 * 8.06428e-5 * math.sqrt(1.5 * 9.81 / 4 / 5.84e-6) / 1.5
    assert flown.velocity[0] == pytest.approx(1 / k + (before - 1 / k) * math.exp(-k), abs=0.05)


def test_an_attitude_is_held(flown: Flown, parameters: VehicleParameters) -> None:
    """At the thrust that carries its weight: sqrt of the part is the part of the speed, squared again by the rotors."""
    flown.in_the_air(20.0)
    lean = Rotation.from_euler("ZYX", [0.0, 0.1, 0.0])
    most = 4 * 5.84e-6 * 1100.0**2 / 1.5
    flown.flight.guide(Tilt(lean.as_quat(), (0.0, 0.0, 0.0), 9.81 / most / math.cos(0.1)))
    flown.run(1.5)
    assert (Rotation.from_quat(flown.pose[3:]).inv() * lean).magnitude() < 0.01
    climbs = abs(flown.velocity[2])
    assert climbs < 0.3
    flown.flight.guide(Tilt(lean.as_quat(), (0.0, 0.0, 0.5), 9.81 / most))
    flown.run(1.0)
    turned = lean.inv() * Rotation.from_quat(flown.pose[3:])
    assert turned.as_rotvec()[2] == pytest.approx(0.5, abs=0.1)
    flown.flight.set_mode(Mode.HOLD)
    flown.run(5.0)
    assert np.linalg.norm(flown.velocity) < 0.1


def test_it_lands_and_disarms_where_it_is(flown: Flown) -> None:
    flown.in_the_air(3.0)
    ground = flown.path[0][2]
    flown.flight.set_mode(Mode.LAND)
    flown.run(8.0)
    assert not flown.flight.armed
    assert flown.pose[2] == pytest.approx(ground, abs=0.03)
    assert "Landing detected" in flown.said
    rates = np.diff(np.array(flown.path)[:, 2])[-1500:] * 250.0
    assert rates.min() > -1.5 * flown.flight.parameters.landing_speed


def test_it_returns_above_home_and_lands_there(flown: Flown) -> None:
    flown.in_the_air(2.0)
    flown.flight.guide(Go(np.array([12.0, 5.0, 2.0]), speed=5.0))
    flown.run(8.0)
    began = len(flown.path)
    flown.flight.set_mode(Mode.RETURN)
    flown.run(25.0)
    path = np.array(flown.path)[began:]
    assert path[:, 2].max() > 5.0
    np.testing.assert_allclose(flown.pose[:2], [0.0, 0.0], atol=0.1)
    assert not flown.flight.armed


def test_a_mission_goes_by_its_items(flown: Flown) -> None:
    flight = flown.flight
    nan = math.nan
    items = [
        item(22, 0, 0, 0, nan, up=4.0),
        item(178, 1, 3.0, -1),
        item(16, 1.0, 0.3, 0, 90.0, east=10.0, north=5.0, up=6.0),
        item(16, 0, 0.3, 0, nan, east=10.0, north=-5.0, up=6.0),
        item(177, 2, 1),
        item(20),
    ]
    assert not any(fault(each, len(items), flight) for each in items)
    flight.mission = Mission(items)
    flight.arm()
    flight.set_mode(Mode.MISSION)
    flown.run(50.0)
    path = np.array(flown.path)
    home = path[0, 2]
    for east, north in ((10.0, 5.0), (10.0, -5.0)):
        away = np.linalg.norm(path[:, :3] - [east, north, home + 6.0], axis=1)
        assert away.min() < 0.2
        # Once by itself and once by the jump.
        near = away < 0.5
        assert np.count_nonzero(np.diff(near.astype(int)) == 1) == 2
    at_first = path[np.argmin(np.linalg.norm(path[:, :3] - [10.0, 5.0, home + 6.0], axis=1))]
    assert Rotation.from_quat(at_first[3:7]).as_euler("ZYX")[0] == pytest.approx(0.0, abs=0.1)  # east
    speeds = np.linalg.norm(path[2500:, 7:], axis=1)
    assert speeds.max() < 3.3
    assert not flight.armed
    np.testing.assert_allclose(flown.pose[:2], [0.0, 0.0], atol=0.1)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (item(42), "MAV_CMD 42 is not supported here"),
        (item(16) | {"frame": 99}, "MAV_FRAME 99 is not supported"),
        (item(16) | {"z": math.inf}, "not finite"),
        (item(16, up=1e30), "further away"),
        (item(16) | {"x": 910_000_000}, "latitude"),
        (item(21) | {"frame": 99}, "MAV_FRAME 99 is not supported"),
        (item(177, 7, -1), "jump to item 7 of 3"),
        (item(177, math.nan, 1), "jump to item nan"),
    ],
)
def test_items_that_are_not_taken(flown: Flown, entry: dict[str, Any], why: str) -> None:
    assert why in fault(entry, 3, flown.flight)


def test_a_mission_that_jumps_in_a_circle_ends(flown: Flown) -> None:
    flown.flight.mission = Mission([item(177, 0, -1)])
    flown.flight.arm()
    flown.flight.set_mode(Mode.MISSION)
    flown.run(0.1)
    assert flown.flight.mode is Mode.MISSION
    assert not flown.flight.airborne


def test_another_flight_goes_on_from_its_memory(flown: Flown, parameters: VehicleParameters) -> None:
    flown.flight.mission = Mission([item(22, up=5.0), item(16, 60.0, 0.3, up=5.0)])
    flown.flight.arm()
    flown.flight.set_mode(Mode.MISSION)
    flown.run(6.0)
    memory = saved(flown.flight)
    flown.flight = Flight(parameters)
    restore(flown.flight, memory)
    flown.run(6.0)
    assert (flown.flight.armed, flown.flight.mode, flown.flight.mission.current) == (True, Mode.MISSION, 1)
    assert flown.flight.places.home == memory["home"]
    assert np.array(flown.path)[1500:, 2].min() > 4.0


# Takes seconds: make test has positions, velocities and landings.
@pytest.mark.nightly
def test_a_position_with_its_velocity_is_followed_without_lag(flown: Flown) -> None:
    """2 m/s to the north, set ten times a second; by positions alone it comes to rest at each and lags behind."""
    errors = {}
    flown.in_the_air(4.0)
    for name in ("both", "position"):
        flown.flight.guide(Go(np.array([0.0, 0.0, 4.0])))
        flown.run(8.0)
        for tick in range(60):
            goal = np.array([0.0, 0.2 * tick, 4.0])
            flown.flight.guide(Track(goal, (0.0, 2.0, 0.0)) if name == "both" else Go(goal))
            errors[name] = float(np.linalg.norm(flown.pose[:3] - goal))
            flown.run(0.1)
    assert errors["both"] < 0.1
    assert errors["position"] > 0.5


# Takes seconds: make test has positions, velocities and landings.
@pytest.mark.nightly
def test_a_circle_is_followed_with_its_acceleration(flown: Flown) -> None:
    """4 m around, at 2 m/s, set ten times a second; without the acceleration it is 0.9 m off."""
    flown.in_the_air(4.0)
    flown.flight.guide(Go(np.array([4.0, 0.0, 4.0])))
    flown.run(8.0)
    worst = 0.0
    for tick in range(200):
        angle = 0.05 * tick
        out, along = np.array([math.cos(angle), math.sin(angle), 0.0]), np.array([-math.sin(angle), math.cos(angle), 0])
        goal = 4.0 * out + [0.0, 0.0, 4.0]
        flown.flight.guide(Track(goal, 2.0 * along, -1.0 * out))
        if tick > 100:
            worst = max(worst, float(np.linalg.norm(flown.pose[:3] - goal)))
        flown.run(0.1)
    assert worst < 0.3
