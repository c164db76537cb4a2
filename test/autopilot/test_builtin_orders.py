"""Orders that follow one another: the newest is flown to its end, whatever came before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from step_by_step import Commanded

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT
from sim_node.autopilots.builtin.dialect import Mode
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.autopilots.builtin.world import parameters_in
from sim_node.world import load

ACCEPTED = 0


@pytest.fixture(scope="module")
def parameters() -> VehicleParameters:
    world = load("guided")
    return replace(parameters_in(world, world.vehicles[0]), mission=None)


@pytest.fixture
def copter(parameters: VehicleParameters) -> Iterator[Commanded]:
    made = Commanded(parameters, ARDUPILOT)
    made.flight.set_mode(Mode.GUIDED)
    made.flight.arm()
    made.flight.take_off(5.0)
    made.run(6.0)
    yield made
    made.close()


def test_a_goto_after_a_velocity_is_flown_to_its_end(copter: Commanded) -> None:
    """As ArduCopter: only velocities, accelerations and attitudes time out (mode_guided.cpp, get_timeout_ms)."""
    copter.velocity_setpoint(1.0, 0.0)
    copter.run(1.0)
    assert copter.command_int(192, -1, 1, 0, 0, north=40.0, east=0.0, up=5.0) == ACCEPTED
    copter.run(16.0)
    np.testing.assert_allclose(copter.pose[:3], [0.0, 40.0, 5.0], atol=0.3)
    assert "Setpoints stopped: holding" not in copter.said


def test_a_turn_after_a_velocity_is_turned_to_its_end(copter: Commanded) -> None:
    before = Rotation.from_quat(copter.pose[3:]).as_euler("ZYX")[0]
    copter.velocity_setpoint(0.5, 0.0)
    copter.run(1.0)
    assert copter.command(115, 170.0, 20.0, 1.0, 1.0) == ACCEPTED
    copter.run(12.0)
    turned = np.rad2deg(before - Rotation.from_quat(copter.pose[3:]).as_euler("ZYX")[0]) % 360.0
    assert turned == pytest.approx(170.0, abs=3.0)
    assert "Setpoints stopped: holding" not in copter.said


def test_a_goto_by_an_item_after_a_velocity_is_flown_to_its_end(copter: Commanded) -> None:
    """DroneKit's simple_goto."""
    copter.velocity_setpoint(1.0, 0.0)
    copter.say("MISSION_ITEM", command=16, current=2, frame=3, x=47.397742, y=8.545594 + 20.0 / 75_400, z=5.0)
    copter.run(10.0)
    assert copter.pose[0] == pytest.approx(20.0, abs=1.0)


def test_a_velocity_alone_ends_after_its_time_out(copter: Commanded) -> None:
    """GUID_TIMEOUT, 3 s."""
    copter.velocity_setpoint(1.0, 0.0)
    copter.run(6.0)
    assert copter.said[-1] == "Setpoints stopped: holding"
    assert 2.5 < copter.pose[1] < 4.5
