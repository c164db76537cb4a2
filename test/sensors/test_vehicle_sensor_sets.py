"""The sensor sets of shipped vehicles: the noise that they state, and how it stands to an autopilot's limits.

The limits are PX4's: EKF2_REQ_HDRIFT and EKF2_REQ_VDRIFT (m/s) bound the drift of a receiver at rest before it may arm,
of which it takes the low-passed rate (time constant 10 s); three quarters of EKF2_ABL_LIM (m/s²) bound the bias of the
accelerometer.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sim_node.randomness import stream
from sim_node.simulation.sensors import Gps, Imu, NoiseBank, groups_of
from sim_node.simulation.sensors.noise import Noise
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import load
from sim_node.world.locate import shipped_vehicles

HORIZONTAL_DRIFT, VERTICAL_DRIFT, DRIFT_FILTER = 0.1, 0.2, 10.0
ACCELEROMETER_BIAS = 0.75 * 0.4
RECEIVERS = 400


def sensors_of(folder: Path, model: str, sensors: str = "true") -> tuple[Gps, Imu]:
    path = folder / "world.yaml"
    path.write_text(f"""
origin: {{latitude: 47.4, longitude: 8.5, altitude: 488}}
time: {{step: 0.004}}
vehicles: [{{name: v, model: {model}, sensors: {sensors}}}]
""")
    found = {group.kind: group.sensors[0] for group in groups_of(load(path))}
    gps, imu = found["gps"], found["imu"]
    assert isinstance(gps, Gps)
    assert isinstance(imu, Imu)
    assert {"magnetometer", "barometer"} <= set(found)
    return gps, imu


def position_errors(gps: Gps, seconds: float) -> FloatArray:
    """Errors (K, RECEIVERS, 3) east, north, up in m of receivers at rest."""
    generators = [stream(5, f"{index}", "gps") for index in range(RECEIVERS)]
    bank = NoiseBank([gps.quantities()] * RECEIVERS, generators, gps.rate)
    return bank.record(np.zeros((RECEIVERS, 6)), round(seconds * gps.rate))[:, :, :3]


def drift_rates(errors: FloatArray, rate: float) -> FloatArray:
    """Rates (K - 1, RECEIVERS, 3) in m/s, low-passed as PX4 does (EKF/aid_sources/gnss/gnss_checks.cpp)."""
    share = 1.0 / rate / DRIFT_FILTER
    filtered = np.zeros(errors.shape[1:])
    rates = []
    for moved in np.diff(errors, axis=0):
        filtered = moved * rate * share + filtered * (1.0 - share)
        rates.append(filtered)
    return np.array(rates)


def stated_drift_rate(noise: Noise) -> float:
    """The deviation (m/s) of that rate once it has settled.

    A Gauss-Markov bias of deviation s and correlation time T, through the high-pass of time constant F, has variance
    s² F / (T + F); white noise passes as it is.
    """
    bias = noise.bias_instability**2 * DRIFT_FILTER / (noise.correlation_time + DRIFT_FILTER)
    return math.sqrt(bias + noise.deviation**2) / DRIFT_FILTER


@pytest.mark.parametrize("model", shipped_vehicles())
def test_calibrated_sensors_are_the_default_and_worn_ones_an_option(tmp_path: Path, model: str) -> None:
    assert sensors_of(tmp_path, model) == sensors_of(tmp_path, model, "calibrated")
    worn_gps, worn_imu = sensors_of(tmp_path, model, "worn")
    assert (worn_gps, worn_imu) == (Gps(rate=10.0), Imu(rate=250.0)), "the noise of the data sheets"


@pytest.mark.parametrize("model", shipped_vehicles())
def test_errors_of_a_calibrated_receiver_are_those_that_its_file_states(tmp_path: Path, model: str) -> None:
    gps, _ = sensors_of(tmp_path, model)
    errors = position_errors(gps, 60.0)
    deviation = np.array([math.hypot(0.1, 0.15)] * 2 + [math.hypot(0.15, 0.2)])
    np.testing.assert_allclose(np.std(errors[-1], axis=0), deviation, rtol=0.12)
    # In 10 s: white noise of both ends, and 2 s² (1 - exp(-10 / T)) of the bias.
    kept = -math.expm1(-10.0 / 600.0)
    moved = np.std(errors[round(10 * gps.rate) :] - errors[: -round(10 * gps.rate)], axis=(0, 1))
    expected = np.sqrt(2.0 * np.array([0.1**2 + 0.15**2 * kept] * 2 + [0.15**2 + 0.2**2 * kept]))
    np.testing.assert_allclose(moved, expected, rtol=0.03)


@pytest.mark.parametrize("model", shipped_vehicles())
def test_a_calibrated_receiver_drifts_less_than_autopilots_allow_before_arming(tmp_path: Path, model: str) -> None:
    gps, _ = sensors_of(tmp_path, model)
    horizontal, vertical = stated_drift_rate(gps.horizontal), stated_drift_rate(gps.vertical)
    rates = drift_rates(position_errors(gps, 60.0), gps.rate)
    settled = rates[round(3 * DRIFT_FILTER * gps.rate) :]
    np.testing.assert_allclose(np.std(settled, axis=(0, 1)), [horizontal, horizontal, vertical], rtol=0.05)
    # Rayleigh for the two horizontal axes. After a landing the filter starts at zero with the first fix, whose white
    # noise then counts as well: the rate has up to twice the variance for some seconds.
    assert math.exp(-0.5 * (HORIZONTAL_DRIFT / horizontal) ** 2 / 2.0) < 1e-9
    assert VERTICAL_DRIFT / (math.sqrt(2.0) * vertical) > 6.0
    assert np.all(np.hypot(rates[..., 0], rates[..., 1]) < HORIZONTAL_DRIFT)
    assert np.all(np.abs(rates[..., 2]) < VERTICAL_DRIFT)


@pytest.mark.parametrize("model", shipped_vehicles())
def test_a_calibrated_receiver_finds_the_same_place_ten_minutes_later(tmp_path: Path, model: str) -> None:
    """Within half a metre, in 98 of 100 runs (Rayleigh)."""
    gps, _ = sensors_of(tmp_path, model)
    moved = gps.horizontal.bias_instability * math.sqrt(-2.0 * math.expm1(-600.0 / gps.horizontal.correlation_time))
    assert math.exp(-0.5 * (0.5 / moved) ** 2) < 0.02


def test_worn_receivers_drift_too_fast_to_arm_much_of_the_time(tmp_path: Path) -> None:
    """Why they are no longer the default: half of their fixes are beyond the limit."""
    gps, _ = sensors_of(tmp_path, "iris", "worn")
    settled = drift_rates(position_errors(gps, 60.0), gps.rate)[round(3 * DRIFT_FILTER * gps.rate) :]
    expected = math.exp(-0.5 * (HORIZONTAL_DRIFT / stated_drift_rate(gps.horizontal)) ** 2)
    assert expected == pytest.approx(0.5, abs=0.05)
    assert np.mean(np.hypot(settled[..., 0], settled[..., 1]) > HORIZONTAL_DRIFT) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("model", shipped_vehicles())
def test_the_accelerometer_is_far_below_the_bias_that_autopilots_warn_of(tmp_path: Path, model: str) -> None:
    _, imu = sensors_of(tmp_path, model)
    bias = math.hypot(imu.accelerometer.turn_on_bias, imu.accelerometer.bias_instability)
    assert bias == pytest.approx(0.02, rel=0.01)
    assert ACCELEROMETER_BIAS / bias > 10.0
    _, worn = sensors_of(tmp_path, model, "worn")
    assert worn.accelerometer.turn_on_bias > 0.5 * ACCELEROMETER_BIAS
