"""Failures inside the built-in autopilot: MAV_CMD_INJECT_FAILURE as PX4 answers it, flight without a position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from step_by_step import Commanded

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT
from sim_node.autopilots.builtin.dialect import Mode
from sim_node.autopilots.builtin.px4 import PX4
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.autopilots.builtin.world import parameters_in
from sim_node.world import load

ACCEPTED, DENIED, UNSUPPORTED, INJECT = 0, 2, 3, 420
OK, OFF, STUCK, GARBAGE = 0, 1, 2, 3  # FAILURE_TYPE
GYRO, GPS, MOTOR, BATTERY = 0, 4, 101, 100  # FAILURE_UNIT


@pytest.fixture(scope="module")
def parameters() -> VehicleParameters:
    world = load("guided")
    return replace(parameters_in(world, world.vehicles[0]), mission=None)


@pytest.fixture
def drone(parameters: VehicleParameters) -> Iterator[Commanded]:
    made = Commanded(parameters, PX4)
    made.flight.arm()
    made.flight.take_off(5.0)
    made.run(6.0)
    made.flight.set_parameter(PX4.parameters["SYS_FAILURE_EN"], 1.0)
    yield made
    made.close()


def test_it_is_denied_unless_a_parameter_allows_it(drone: Commanded) -> None:
    """As PX4's mavlink_receiver.cpp; SYS_FAILURE_EN is 0 by default."""
    assert parameters_default(drone) == 0.0
    drone.flight.set_parameter(PX4.parameters["SYS_FAILURE_EN"], 0.0)
    assert drone.command(INJECT, MOTOR, OFF, 1) == DENIED
    assert "inject failure: SYS_FAILURE_EN is 0" in drone.said[-1]
    drone.run(0.1)
    assert drone.flight.commands.min() > 0.1


def parameters_default(drone: Commanded) -> float:
    from sim_node.autopilots.builtin.settings import Settings

    return Settings.of(drone.flight.parameters, PX4.defaults).failures_enabled


@pytest.mark.parametrize(
    ("unit", "type", "instance"),
    [(GPS, GARBAGE, 0), (MOTOR, GARBAGE, 1), (MOTOR, OFF, 9), (BATTERY, OFF, 1), (102, OFF, 1), (7, OFF, 1)],
)
def test_what_px4_does_not_simulate_is_unsupported(drone: Commanded, unit: int, type: int, instance: int) -> None:
    assert drone.command(INJECT, unit, type, instance) == UNSUPPORTED


def test_ardupilot_has_no_such_command(parameters: VehicleParameters) -> None:
    made = Commanded(parameters, ARDUPILOT)
    assert made.command(INJECT, MOTOR, OFF, 1) == UNSUPPORTED
    made.close()


def test_motors_that_are_off_get_no_command_until_they_are_sound(drone: Commanded) -> None:
    assert drone.command(INJECT, MOTOR, OFF, 2) == ACCEPTED
    drone.run(0.004)
    assert drone.flight.commands[1] == 0.0
    assert np.delete(drone.flight.commands, 1).min() > 0.0
    assert drone.command(INJECT, MOTOR, OK, 0) == ACCEPTED
    drone.run(0.004)
    assert drone.flight.commands.min() > 0.0


def test_a_stuck_gyroscope_shows_its_last_rates(drone: Commanded) -> None:
    drone.flight.injected.gyroscope(np.array([0.1, -0.2, 0.3]))
    assert drone.command(INJECT, GYRO, STUCK, 0) == ACCEPTED
    np.testing.assert_array_equal(drone.flight.injected.gyroscope(np.ones(3)), [0.1, -0.2, 0.3])
    assert drone.command(INJECT, GYRO, OFF, 0) == ACCEPTED
    np.testing.assert_array_equal(drone.flight.injected.gyroscope(np.ones(3)), np.zeros(3))


def test_an_empty_battery_stops_the_motors(drone: Commanded) -> None:
    assert drone.command(INJECT, BATTERY, OFF, 0) == ACCEPTED
    drone.run(0.3)
    assert not drone.flight.armed
    assert "Battery empty: motors stopped" in drone.said


def test_without_a_receiver_it_goes_down_after_five_seconds_and_takes_no_other_order(drone: Commanded) -> None:
    """EKF2_NOAID_TOUT, 5 s; at the speed of a landing, level."""
    measurements, flight = drone.flight.measurements, drone.flight

    def run(seconds: float) -> None:  # with a receiver of 10 Hz
        for _ in range(round(seconds * 10)):
            measurements.fix_us = 1_000_000 + drone.now_ns // 1000
            drone.run(0.1)

    run(0.5)
    assert drone.command(INJECT, GPS, OFF, 0) == ACCEPTED
    run(4.5)
    modes = [flight.mode]
    run(1.0)
    modes.append(flight.mode)
    assert [mode is Mode.LAND for mode in modes] == [False, True]
    assert any("No valid position estimate" in each for each in drone.said)
    run(2.0)
    assert drone.velocity[2] == pytest.approx(-flight.settings.landing_speed, abs=0.02)
    assert drone.command(20) != ACCEPTED  # NAV_RETURN_TO_LAUNCH
    assert drone.command(INJECT, GPS, OK, 0) == ACCEPTED
    run(0.5)
    assert "Position estimate is valid again" in drone.said
    assert drone.command(20) == ACCEPTED
