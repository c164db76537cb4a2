"""Wind and gusts against the Dryden spectra of MIL-F-8785C and the laws of sampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only
from scipy.special import gamma, gammainc

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.gusts import _moments
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.forces import Gusts, Wind

SIGMA, LENGTH, SPEED = [1.5, 1.2, 0.8], [60.0, 40.0, 20.0], 10.0


def field(dt: float, velocity: tuple[float, float, float] = (SPEED, 0.0, 0.0), seed: int = 0, **wind: Any) -> WindField:
    made = WindField(Wind(np.array(velocity), gusts=Gusts(np.array(SIGMA), np.array(LENGTH), SPEED), **wind), dt)
    made.reset(seed)
    return made


def record(wind: WindField, samples: int) -> FloatArray:
    values = np.empty((samples, 3))
    for row in values:
        row[:] = wind.current
        wind.advance()
    return values


def longitudinal(omega: FloatArray, sigma: float, length: float) -> FloatArray:
    """MIL-F-8785C, 3.7.1.2, as a spectrum over spatial frequency (rad/m)."""
    return sigma**2 * 2 * length / np.pi / (1 + (length * omega) ** 2)


def lateral(omega: FloatArray, sigma: float, length: float) -> FloatArray:
    square = (length * omega) ** 2
    return sigma**2 * length / np.pi * (1 + 3 * square) / (1 + square) ** 2


def test_the_spectrum_of_gusts_is_drydens() -> None:
    """Over the decades about the corners, in twelve bands; ten hours at 20 Hz, of which 120 stretches are averaged."""
    dt, samples = 0.05, 720_000
    gusts = record(field(dt), samples) - (SPEED, 0, 0)
    for axis, spectrum in enumerate((longitudinal, lateral, lateral)):
        frequency, density = scipy.signal.welch(gusts[:, axis], 1 / dt, nperseg=8192, detrend=False)
        # One-sided, over Hz instead of rad/m.
        expected = spectrum(2 * np.pi * frequency / SPEED, SIGMA[axis], LENGTH[axis]) * 2 * np.pi / SPEED
        edges = np.geomspace(0.01, 1.0, 13)
        band = np.digitize(frequency, edges)
        found, due = (np.array([x[band == k].mean() for k in range(1, 13)]) for x in (density, expected))
        np.testing.assert_allclose(found, due, rtol=0.12)
        assert np.mean(found / due) == pytest.approx(1.0, abs=0.03)
        assert gusts[:, axis].std() == pytest.approx(SIGMA[axis], rel=0.02)


@pytest.mark.parametrize("step", [1e-12, 1e-6, 1e-3, 0.3, 4.0, 29.0, 31.0, 1e6])
def test_moments_are_incomplete_gamma_functions(step: float) -> None:
    expected = [gammainc(k + 1, 2 * step) * gamma(k + 1) / 2 ** (k + 1) for k in range(3)]
    np.testing.assert_allclose(_moments(step), expected, rtol=1e-12)


# A fine and a coarse one; the night has one between.
@pytest.mark.parametrize("dt", only([1e-5, 1e-3, 5.0], 2))
def test_the_intensity_is_the_same_at_any_timestep_from_the_first_on(dt: float) -> None:
    """Over 4000 seeds: at the start, and 1000 timesteps later."""
    first, later, wind = [], [], field(dt)
    for seed in range(4000):
        wind.reset(seed)
        first.append(wind.current - (SPEED, 0, 0))
        if seed % 8 == 0:
            wind.advance(1000)
            later.append(wind.current - (SPEED, 0, 0))
    np.testing.assert_allclose(np.std(first, axis=0), SIGMA, rtol=0.05)
    np.testing.assert_allclose(np.std(later, axis=0), SIGMA, rtol=0.12)
    np.testing.assert_allclose(np.mean(first, axis=0), 0.0, atol=0.1)


# make test has the spectrum of gusts and their intensity at one timestep, which leave little else.
@pytest.mark.nightly
def test_gusts_at_a_fine_timestep_change_as_the_same_process_does_at_a_coarse_one() -> None:
    """The variance of a change over 0.2 s: 2 (R(0) - R(0.2)), of the correlations of MIL-HDBK-1797 (exp(-r/L), ...)."""
    lag, samples = 0.2, 200_000
    for dt in (0.002, 0.2):
        stride = round(lag / dt)
        gusts = record(field(dt, seed=3), samples if dt == 0.2 else 4 * samples)
        r = SPEED * lag / np.array(LENGTH)
        correlation = np.exp(-r) * (1 - np.array([0, 0.5, 0.5]) * r)
        expected = 2 * np.array(SIGMA) ** 2 * (1 - correlation)
        np.testing.assert_allclose(np.var(gusts[stride:] - gusts[:-stride], axis=0), expected, rtol=0.04)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 2500), min_size=1, max_size=5), st.integers(0, 2**64 + 5))
def test_many_timesteps_at_once_are_the_same_one_by_one(strides: Sequence[int], seed: int) -> None:
    one, many = field(1e-3, seed=seed), field(1e-3, seed=seed)
    for stride in strides:
        many.advance(stride)
        for _ in range(stride):
            one.advance()
        assert one.air.tobytes() == many.air.tobytes()


def declared(wind: WindField) -> Columns:
    columns = Columns()
    wind.declare(columns)
    return columns


def test_a_restored_wind_goes_on_as_it_did() -> None:
    wind, other = field(1e-3, seed=2**70), field(1e-3)
    wind.advance(5000)
    state = declared(wind).state()
    expected = record(wind, 2000)
    other.reset(2**70)
    declared(other).restore(state)
    assert record(other, 2000).tobytes() == expected.tobytes()


def test_another_seed_blows_otherwise() -> None:
    assert not np.allclose(field(1e-3, seed=1).current, field(1e-3, seed=2).current)


def test_gusts_lie_along_the_mean_wind() -> None:
    """A wind to the north-west: the strong component is along it."""
    wind = WindField(
        Wind(np.array([-6.0, 6.0, 0.0]), gusts=Gusts(np.array([3.0, 0.1, 0.0]), np.array(LENGTH), SPEED)), 1.0
    )
    gusts = record(wind, 5000) - (-6.0, 6.0, 0.0)
    along = np.array([-1, 1, 0]) / np.sqrt(2)
    assert (gusts @ along).std() > 2.0
    assert (gusts @ np.array([1, 1, 0]) / np.sqrt(2)).std() < 0.2
    assert not gusts[:, 2].any()


def test_the_mean_follows_the_power_law() -> None:
    wind = WindField(Wind(np.array([8.0, 0.0, 0.0]), exponent=0.14, reference_height=10.0), 1e-3)
    found = wind.velocity(np.array([[0, 0, 10.0], [5, 5, 80.0], [0, 0, 1.0], [0, 0, 0.0], [0, 0, -3.0]]))
    np.testing.assert_allclose(found[:, 0], [8.0, 8.0 * 8**0.14, 8.0 * 0.1**0.14, 0.0, 0.0])
    assert not found[:, 1:].any()


def test_still_air_is_zero_everywhere() -> None:
    wind = WindField(None, 1e-3)
    wind.advance(10)
    assert not wind.velocity(np.ones((4, 3))).any()
    assert not declared(wind)
