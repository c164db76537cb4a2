"""A receiver's fixes: where they are by an independent library, and how far they stray."""

from __future__ import annotations

import numpy as np
import pymap3d
import pytest

from sim_node.randomness import stream
from sim_node.simulation.sensors import FrameState, Gps, Noise, NoiseBank
from sim_node.simulation.sensors.context import SensorContext
from sim_node.world import Origin, World

ORIGIN = Origin(47.397742, 8.545594, 488.0)
WORLD = World("earth", origin=ORIGIN)


def state(position: tuple[float, float, float], velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> FrameState:
    pose = np.array([[*position, 0, 0, 0, 1.0]])
    return FrameState(pose, np.array([[*velocity, 0, 0, 0]]), np.zeros((1, 6)))


@pytest.mark.parametrize("position", [(0, 0, 0), (120.0, -45.0, 30.0), (-8_000.0, 6_000.0, 1_500.0)])
def test_a_fix_without_noise_is_the_place_on_earth(position: tuple[float, float, float]) -> None:
    """By pymap3d; 1e-9 degrees are a tenth of a millimetre."""
    sensors = (Gps(),)
    measured = Gps.measure(sensors, SensorContext(WORLD))(state(position, (1.0, 2.0, -3.0)))
    reported = Gps.report(sensors, SensorContext(WORLD))(measured)
    expected = pymap3d.enu2geodetic(*position, ORIGIN.latitude, ORIGIN.longitude, ORIGIN.altitude)
    np.testing.assert_allclose(reported[0, :2], expected[:2], atol=1e-9)
    assert reported[0, 2] == pytest.approx(expected[2], abs=1e-6)
    np.testing.assert_array_equal(reported[0, 3:], [1.0, 2.0, -3.0])


def test_errors_match_the_covariance_that_is_reported() -> None:
    """Over an ensemble of receivers, in metres by pymap3d: none of the axes correlate, each has its variance."""
    sensors = (Gps(),) * 3000
    noise = NoiseBank([each.quantities() for each in sensors], [stream(0, f"{i}", "gps") for i in range(3000)], 5.0)
    truth = np.zeros((3000, 6))
    for _ in range(3):
        measured = noise.read(truth)
    reported = Gps.report(sensors, SensorContext(WORLD))(measured)
    errors = np.stack(
        pymap3d.geodetic2enu(*reported[:, :3].T, ORIGIN.latitude, ORIGIN.longitude, ORIGIN.altitude), axis=1
    )
    errors = np.concatenate([errors, reported[:, 3:]], axis=1)
    gps = Gps()
    reported_variance = [each.variance(gps.rate) for each, axes in gps.quantities() for _ in range(axes)]
    found = np.cov(errors.T)
    np.testing.assert_allclose(np.diag(found), reported_variance, rtol=0.1)
    np.testing.assert_allclose(np.corrcoef(errors.T) - np.eye(6), 0.0, atol=0.08)


# Takes seconds: make test has errors against their covariance.
@pytest.mark.nightly
def test_half_of_the_default_fixes_are_within_two_and_a_half_metres() -> None:
    """The circular error probable of u-blox' data sheet."""
    sensors = (Gps(),) * 4000
    noise = NoiseBank([each.quantities() for each in sensors], [stream(1, f"{i}", "gps") for i in range(4000)], 5.0)
    errors = noise.read(np.zeros((4000, 6)))
    assert np.median(np.hypot(errors[:, 0], errors[:, 1])) == pytest.approx(2.5, rel=0.05)


def test_errors_stay_for_the_correlation_time_and_then_go() -> None:
    """exp(-t / T) between fixes t apart, for a bias alone (Gauss-Markov)."""
    noise = Noise(bias_instability=2.0, correlation_time=60.0)
    bank = NoiseBank([((noise, 1),)] * 3000, [stream(2, f"{i}", "gps") for i in range(3000)], 1.0)
    fixes = bank.record(np.zeros((3000, 1)), 121)[:, :, 0]
    for seconds in (1, 60, 120):
        assert np.corrcoef(fixes[0], fixes[seconds])[0, 1] == pytest.approx(np.exp(-seconds / 60.0), abs=0.06)
