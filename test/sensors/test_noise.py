"""The noise model: its Allan deviation, its moments, and whose random numbers it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.randomness import stream
from sim_node.simulation.sensors import Noise, NoiseBank
from sim_node.spatial.geometry.arrays import FloatArray

RATE = 100.0
TEN_MINUTES = 60_000  # readings at 100 Hz


def bank(noise: Noise, sensors: int = 1, axes: int = 3, rate: float = RATE, seed: int = 0) -> NoiseBank:
    quantities = [((noise, axes),)] * sensors
    return NoiseBank(quantities, [stream(seed, f"drone{i}/IMU", "imu") for i in range(sensors)], rate)


def still(noise: Noise, measurements: int, **size: Any) -> FloatArray:
    """Readings (K, all channels) of a quantity that is zero."""
    its = bank(noise, **size)
    shape = (size.get("sensors", 1), size.get("axes", 3))
    return its.record(np.zeros(shape), measurements).reshape(measurements, -1)


def allan_deviation(measurements: FloatArray, span: int) -> float:
    """The overlapping Allan deviation over `span` readings: IEEE Std 952-1997, annex C, equation C.8."""
    angle = np.cumsum(np.concatenate([np.zeros((1, measurements.shape[1])), measurements]), axis=0)
    second = angle[2 * span :] - 2 * angle[span:-span] + angle[: -2 * span]
    return float(np.sqrt(np.mean(second**2) / (2 * span**2)))


SPANS = (1, 3, 10, 30, 100, 300, 1000, 3000)


def test_ten_minutes_give_back_the_density() -> None:
    """N / sqrt(t): IEEE Std 952-1997, equation C.12."""
    measurements = still(Noise(density=2e-3), TEN_MINUTES)
    for span in (1, 10, 100, 1000):
        assert allan_deviation(measurements, span) == pytest.approx(2e-3 / math.sqrt(span / RATE), rel=0.1)


# Takes seconds: make test has ten minutes of the density, and all errors together.
@pytest.mark.nightly
def test_ten_minutes_give_back_the_random_walk() -> None:
    """K sqrt(t / 3): IEEE Std 952-1997, equation C.20; from a tenth of a second on the steps are fine enough."""
    measurements = still(Noise(random_walk=5e-4), TEN_MINUTES, sensors=20)
    for span in (10, 100, 1000, 3000):
        assert allan_deviation(measurements, span) == pytest.approx(5e-4 * math.sqrt(span / RATE / 3), rel=0.1)


# Takes seconds: make test has ten minutes of the density, and all errors together.
@pytest.mark.nightly
def test_ten_minutes_give_back_the_bias_instability() -> None:
    """A Gauss-Markov bias peaks at 0.437 q sqrt(T), q² = 2 s² / T, where t is 1.89 T: IEEE Std 952-1997, C.1.1.6."""
    measurements = still(Noise(bias_instability=3e-3, correlation_time=5.0), TEN_MINUTES, sensors=20)
    q = 3e-3 * math.sqrt(2.0 / 5.0)
    assert allan_deviation(measurements, round(1.89 * 5.0 * RATE)) == pytest.approx(0.437 * q * math.sqrt(5.0), rel=0.1)


def test_all_of_them_together_add_up() -> None:
    """The Allan variances of independent noises add: IEEE Std 952-1997, C.2; Gauss-Markov's is equation C.24."""
    noise = Noise(density=2e-3, random_walk=3e-4, bias_instability=4e-3, correlation_time=8.0, turn_on_bias=1.0)
    measurements = still(noise, TEN_MINUTES, sensors=20)
    for span in SPANS:
        t, memory = span / RATE, 8.0
        coming = 2 * 4e-3**2 * memory / t
        coming *= 1 - memory / (2 * t) * (3 - 4 * math.exp(-t / memory) + math.exp(-2 * t / memory))
        expected = math.sqrt(2e-3**2 / t + 3e-4**2 * t / 3 + coming)
        assert allan_deviation(measurements, span) == pytest.approx(expected, rel=0.1), t


@pytest.mark.parametrize("rate", [5.0, 50.0, 1000.0])
def test_the_density_is_one_whatever_the_rate(rate: float) -> None:
    measurements = still(Noise(density=1e-2), 20_000, rate=rate)
    assert np.std(measurements) == pytest.approx(1e-2 * math.sqrt(rate), rel=0.02)


def test_deviation_is_that_of_a_reading_whatever_the_rate() -> None:
    for rate in (5.0, 1000.0):
        assert np.std(still(Noise(deviation=0.7), 20_000, rate=rate)) == pytest.approx(0.7, rel=0.02)


def test_the_bias_is_as_large_at_the_first_reading_as_later() -> None:
    """Stationary from the start, over an ensemble of sensors."""
    first_and_last = still(Noise(bias_instability=2.0, correlation_time=1.0), 500, sensors=3000, axes=1)[[0, -1]]
    np.testing.assert_allclose(np.std(first_and_last, axis=1), 2.0, rtol=0.05)
    np.testing.assert_allclose(np.mean(first_and_last, axis=1), 0.0, atol=0.15)


def test_variance_is_that_of_the_readings() -> None:
    noise = Noise(density=0.05, deviation=0.3, bias_instability=0.4, turn_on_bias=0.5, resolution=0.25)
    measurements = still(noise, 10, sensors=4000, axes=1)
    assert np.var(measurements[-1]) == pytest.approx(noise.variance(RATE), rel=0.07)


def test_scale_is_drawn_once_for_each_axis() -> None:
    its = bank(Noise(scale_error=0.02), sensors=2000)
    truth = np.full((2000, 3), 5.0)
    first, second = its.read(truth), its.read(truth)
    np.testing.assert_array_equal(first, second)
    assert np.std(first / 5.0) == pytest.approx(0.02, rel=0.05)
    assert np.mean(first / 5.0) == pytest.approx(1.0, abs=0.002)


def test_misalignment_turns_and_does_not_stretch() -> None:
    its = bank(Noise(misalignment=0.01), sensors=2000)
    truth = np.tile([0.0, 0.0, 9.81], (2000, 1))
    measured = its.read(truth)
    np.testing.assert_allclose(np.linalg.norm(measured, axis=1), 9.81, rtol=1e-12)
    # Small turns about x and y show in y and x.
    np.testing.assert_allclose(np.std(measured[:, :2] / 9.81, axis=0), 0.01, rtol=0.06)


def test_saturation_cuts_and_resolution_rounds() -> None:
    its = bank(Noise(saturation=10.0, resolution=0.5))
    np.testing.assert_array_equal(its.read(np.array([[1.2, -11.0, 9.8]])), [[1.0, -10.0, 10.0]])


def test_none_is_perfect() -> None:
    truth = np.array([[1.234, -5.678, 9.999]])
    np.testing.assert_array_equal(bank(Noise()).read(truth), truth)


ANY_NOISE = st.builds(
    Noise,
    density=st.floats(0, 1),
    random_walk=st.floats(0, 1),
    bias_instability=st.floats(0, 1),
    correlation_time=st.floats(0.01, 1e4),
    turn_on_bias=st.floats(0, 1),
    scale_error=st.floats(0, 0.1),
    misalignment=st.floats(0, 0.1),
)


@given(ANY_NOISE, st.integers(0, 2**63 - 1), st.lists(st.integers(0, 300), max_size=4))
def test_a_record_is_its_readings_one_by_one(noise: Noise, seed: int, lengths: Sequence[int]) -> None:
    truth = np.array([[1.0, -2.0, 3.0]])
    one, other = bank(noise, seed=seed), bank(noise, seed=seed)
    recorded = np.concatenate([one.record(truth, length) for length in (*lengths, 1)])
    np.testing.assert_array_equal(recorded, [other.read(truth) for _ in range(len(recorded))])


@given(ANY_NOISE, ANY_NOISE)
def test_a_sensor_reads_the_same_alone_and_in_company(mine: Noise, theirs: Noise) -> None:
    """Its noise depends on its own stream and parameters alone."""
    names = ["a/IMU", "b/IMU", "c/IMU"]
    company = [((theirs, 3),), ((mine, 3),), ((theirs, 3),)]
    together = NoiseBank(company, [stream(7, name, "imu") for name in names], RATE)
    alone = NoiseBank([((mine, 3),)], [stream(7, "b/IMU", "imu")], RATE)
    truth = np.array([0.5, 0.25, -4.0])
    many, few = together.record(np.tile(truth, (3, 1)), 300), alone.record(truth[None], 300)
    np.testing.assert_array_equal(many[:, 1], few[:, 0])


def test_streams_of_other_seeds_frames_and_types_are_independent() -> None:
    """No two of them correlate by more than chance has it (5 sigma)."""
    names = [(seed, f, k) for seed in (0, 1, 2**40) for f in ("a/IMU", "b/IMU") for k in ("imu", "gps")]
    drawn = np.array([stream(*name).standard_normal(20_000) for name in names])
    correlation = np.corrcoef(drawn) - np.eye(len(names))
    assert np.abs(correlation).max() < 5 / math.sqrt(20_000)


def test_the_same_stream_gives_the_same_numbers_for_ever() -> None:
    """Philox and SeedSequence are fixed by numpy's compatibility policy (NEP 19); SHA-256 by FIPS 180-4."""
    again = stream(3, "drone/IMU_MAIN", "imu").random(4)
    np.testing.assert_array_equal(again, stream(3, "drone/IMU_MAIN", "imu").random(4))
    assert not np.any(again == stream(4, "drone/IMU_MAIN", "imu").random(4))
