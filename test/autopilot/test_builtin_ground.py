"""The built-in autopilot on the ground: landings that it detects, when it disarms by itself, and an empty battery.

Times are those of the real ones: PX4's COM_DISARM_LAND 2 s and COM_DISARM_PRFLT 10 s, ArduCopter's DISARM_DELAY 10 s,
LAND_DETECTOR_TRIGGER_SEC 1 s.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from nightly import only
from step_by_step import Flown

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT
from sim_node.autopilots.builtin.dialect import Dialect, Mode, OrderRefused
from sim_node.autopilots.builtin.px4 import PX4
from sim_node.autopilots.builtin.tasks import Accelerate, Drift, Go, Task, Tilt, Track
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.autopilots.builtin.world import parameters_in
from sim_node.world import load

STANDS = 0.13
LEVEL = np.array([0.0, 0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def parameters() -> VehicleParameters:
    world = load("guided")
    return replace(parameters_in(world, world.vehicles[0]), mission=None)


def seconds_until_disarmed(flown: Flown, at_most: float) -> float:
    begin = len(flown.path)
    while flown.flight.armed:
        assert (len(flown.path) - begin) / 250 < at_most, flown.said
        flown.run(0.02)
    return (len(flown.path) - begin) / 250


# The dialects differ in names, which test_builtin_dialects.py compares.
@pytest.mark.parametrize(
    ("dialect", "text"), only([(PX4, "Disarmed by auto preflight disarming"), (ARDUPILOT, "Disarming")], 0)
)
def test_armed_without_a_take_off_it_disarms(parameters: VehicleParameters, dialect: Dialect, text: str) -> None:
    flown = Flown(parameters, dialect)
    flown.flight.arm()
    assert seconds_until_disarmed(flown, 12.0) == pytest.approx(10.0, abs=0.1)
    assert flown.said[-1].startswith(text)
    flown.flight.arm()
    assert seconds_until_disarmed(flown, 12.0) == pytest.approx(10.0, abs=0.1), "again from the beginning"


# The dialects differ in names, which test_builtin_dialects.py compares.
@pytest.mark.parametrize(
    ("dialect", "name", "value"), only([(PX4, "COM_DISARM_PRFLT", -1.0), (ARDUPILOT, "DISARM_DELAY", 0.0)], 0)
)
def test_it_stays_armed_where_a_parameter_says_so(
    parameters: VehicleParameters, dialect: Dialect, name: str, value: float
) -> None:
    flown = Flown(parameters, dialect)
    flown.flight.set_parameter(dialect.parameters[name], value)
    flown.flight.arm()
    flown.run(15.0)
    assert flown.flight.armed


# The dialects differ in names, which test_builtin_dialects.py compares.
@pytest.mark.parametrize(("dialect", "delay"), only([(PX4, 2.0), (ARDUPILOT, 0.0)], 0))
def test_after_a_landing_it_disarms(parameters: VehicleParameters, dialect: Dialect, delay: float) -> None:
    """PX4 after COM_DISARM_LAND; ArduCopter's mode LAND at once."""
    flown = Flown(parameters, dialect)
    flown.flight.arm()
    flown.flight.set_mode(Mode.GUIDED)
    flown.flight.take_off(3.0)
    flown.run(8.0)
    flown.flight.land()
    while dialect.texts.landed not in flown.said:
        assert flown.flight.armed
        flown.run(0.02)
    assert seconds_until_disarmed(flown, 5.0) == pytest.approx(delay, abs=0.1)
    assert not flown.flight.commands.any()


DOWN: list[Task] = [
    Drift((0.0, 0.0, -0.7)),
    Go(np.array([0.0, 0.0, -1.0]), speed=0.7),
    Track(np.array([0.0, 0.0, 1.0]), (0.0, 0.0, -0.7)),
]


# The detector sees no setpoints, only what the vehicle does.
@pytest.mark.parametrize("task", only(DOWN, 0), ids=["velocity", "position", "both"])
@pytest.mark.parametrize(("dialect", "delay"), [(PX4, 2.0), (ARDUPILOT, 10.0)])
def test_a_landing_by_setpoints_is_detected(
    parameters: VehicleParameters, dialect: Dialect, delay: float, task: Task
) -> None:
    flown = Flown(parameters, dialect)
    flown.flight.arm()
    flown.flight.set_mode(Mode.GUIDED)
    flown.flight.take_off(2.0)
    flown.run(8.0)
    flown.flight.set_mode(Mode.GUIDED)
    flown.flight.guide(type(task)(**_settings(task)))
    while flown.pose[2] > STANDS + 0.02:
        assert flown.flight.airborne
        flown.run(0.02)
    touched = len(flown.path)
    while flown.flight.airborne:
        flown.run(0.02)
    assert 1.0 <= (len(flown.path) - touched) / 250 < 2.0, "stands for a second"
    assert flown.said[-1] == dialect.texts.landed
    assert seconds_until_disarmed(flown, 12.0) == pytest.approx(delay, abs=0.1)


def _settings(task: Task) -> dict[str, object]:
    """A task that starts again, as each test needs one of its own."""
    if isinstance(task, Drift):
        return {"velocity": task.velocity}
    assert isinstance(task, (Go, Track))
    return {"goal": task.goal.copy()} | ({"speed": task.speed} if isinstance(task, Go) else {"velocity": task.velocity})


@pytest.mark.parametrize("task", [Accelerate((0.0, 0.0, -9.0)), Tilt(LEVEL, (0.0, 0.0, 0.0), 0.0)])
def test_without_thrust_it_falls_and_has_landed(parameters: VehicleParameters, task: Task) -> None:
    flown = Flown(parameters)
    flown.in_the_air(1.5)
    flown.flight.guide(task)
    flown.run(0.3)
    assert flown.flight.airborne, "a fall is no landing"
    flown.run(3.0)
    assert not flown.flight.airborne


def test_after_a_landing_by_setpoints_it_takes_off_again(parameters: VehicleParameters) -> None:
    flown = Flown(parameters)
    flown.in_the_air(2.0)
    flown.flight.guide(Drift((0.0, 0.0, -0.7)))
    while flown.flight.airborne:
        flown.run(0.02)
    flown.flight.guide(Drift((0.0, 0.0, 1.0)))
    flown.run(3.0)
    assert flown.flight.airborne
    assert flown.velocity[2] == pytest.approx(1.0, abs=0.1)


def test_hovering_just_above_the_ground_is_no_landing(parameters: VehicleParameters) -> None:
    flown = Flown(parameters)
    flown.in_the_air(1.0)
    flown.flight.guide(Go(np.array([0.0, 0.0, STANDS + 0.15])))
    flown.run(20.0)
    assert flown.flight.airborne


def test_an_empty_battery_stops_the_motors(parameters: VehicleParameters) -> None:
    flown = Flown(parameters)
    flown.in_the_air(3.0)
    flown.flight.set_parameter(PX4.parameters["SIM_BAT_MIN_PCT"], 0.0)
    flown.flight.set_parameter(PX4.parameters["SIM_BAT_DRAIN"], 10.0)
    flown.run(0.5)
    assert flown.flight.commands.any()
    flown.run(11.0)
    assert not flown.flight.armed
    assert not flown.flight.commands.any()
    assert "Battery empty: motors stopped" in flown.said
    flown.run(2.0)
    assert flown.pose[2] < STANDS + 0.1, "it has fallen"
    with pytest.raises(OrderRefused, match="battery"):
        flown.flight.arm()
