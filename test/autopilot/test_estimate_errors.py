"""What failed sensors put into the estimate of the built-in autopilot: it follows them within a second."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sim_node.autopilots.lockstep.samples import LAG, EstimateErrors
from sim_node.simulation import Simulation
from sim_node.world import loads

# Looking east.
WORLD = """
world: still
origin: {latitude: 47.397742, longitude: 8.545594, altitude: 488.0}
time: {step: 0.05}
bodies: [{name: drone/base_link, geometry: [{box: [1, 1, 1]}]}]
sensors:
  - {name: drone/GPS, type: gps, rate: 5}
  - {name: drone/MAG, type: magnetometer, rate: 20}
  - {name: drone/BARO, type: barometer, rate: 20}
scenario:
"""


def errors_after(scenario: str, seconds: float) -> tuple[EstimateErrors, Simulation]:
    run = Simulation(loads(f"{WORLD}  - {scenario}"), 1)
    errors = EstimateErrors(run, "drone/base_link")
    for _ in range(round(seconds / 0.05)):
        run.step(1)
        errors.advance(run.steps, run.time_ns, np.array([0.0, 0.0, 0.0, 1.0]))
    return errors, run


def test_sound_sensors_make_no_errors() -> None:
    errors, _ = errors_after("{at: 9, do: {pause: }}", 1.0)
    assert not errors.position.any()
    assert errors.yaw == 0.0


def test_a_jump_of_the_receiver_is_followed_within_the_lag() -> None:
    errors, _ = errors_after("{at: 1, do: {disturb: {unit: drone/GPS, bias: [30, -10, 50]}}}", 12.0)
    np.testing.assert_allclose(errors.position, [30.0, -10.0, 0.0], atol=30.0 * math.exp(-10.5 / LAG))


def test_the_receiver_is_followed_as_a_first_order_lag() -> None:
    """From the first measurement after it: 5 Hz, so at 1.2 s."""
    errors, _ = errors_after("{at: 1.05, do: {disturb: {unit: drone/GPS, bias: [30, 0, 0]}}}", 3.2)
    assert errors.position[0] == pytest.approx(30.0 * (1.0 - math.exp(-2.0 / LAG)), abs=0.5)


def test_an_error_ends_with_its_failure() -> None:
    errors, _ = errors_after("{at: 1, do: {disturb: {unit: drone/GPS, bias: [30, 0, 0], seconds: 2}}}", 30.0)
    assert not errors.position.any()


def test_a_field_beside_the_earths_turns_the_compass() -> None:
    """As strong as the horizontal one, ahead of a vehicle that looks east: north turns by 45 degrees."""
    _, run = errors_after("{at: 9, do: {pause: }}", 1.0)
    field = np.asarray(run.sensors["drone/MAG"].values)
    north = float(np.hypot(*field[:2]))
    errors, run = errors_after(f"{{at: 1, do: {{disturb: {{unit: drone/MAG, bias: [{north}, 0, 0]}}}}}}", 12.0)
    sound = run.alterations["drone/MAG"].sound
    assert sound is not None
    # The compass takes the sum of both fields for north.
    expected = math.atan2(sound[1], sound[0]) - math.atan2(sound[1], sound[0] + north)
    assert errors.yaw == pytest.approx(expected, abs=0.02)
    assert abs(errors.yaw) == pytest.approx(math.pi / 4.0, abs=0.1)


def test_pressure_gives_the_height() -> None:
    """12 Pa are a metre at sea level: dp = -rho g dh, with the density at 488 m."""
    errors, _ = errors_after("{at: 1, do: {disturb: {unit: drone/BARO, bias: -100}}}", 12.0)
    density = 1.225 * (1.0 - 2.25577e-5 * 488.0) ** 4.2559  # of the standard atmosphere
    assert errors.position[2] == pytest.approx(100.0 / (density * 9.80665), rel=0.02)
