"""The standard atmosphere against its published tables."""

from __future__ import annotations

import numpy as np
import pytest

from sim_node.simulation.sensors import air_data
from sim_node.simulation.sensors.air_data import impact_pressure

# U.S. Standard Atmosphere, 1976 (NOAA-S/T 76-1562), table I, by geometric altitude: m, K, Pa, kg/m³.
TABLE = [
    (-1000.0, 294.651, 1.1393e5, 1.3470),
    (0.0, 288.150, 1.01325e5, 1.2250),
    (1000.0, 281.651, 8.9876e4, 1.1117),
    (5000.0, 255.676, 5.4048e4, 7.3643e-1),
    (10000.0, 223.252, 2.6500e4, 4.1351e-1),
    (20000.0, 216.650, 5.5293e3, 8.8910e-2),
    (30000.0, 226.509, 1.1970e3, 1.8410e-2),
    (40000.0, 250.350, 2.8714e2, 3.9957e-3),
    (50000.0, 270.650, 7.9779e1, 1.0269e-3),
    (60000.0, 247.021, 2.1958e1, 3.0968e-4),
    (70000.0, 219.585, 5.2209e0, 8.2829e-5),
]


@pytest.mark.parametrize(("altitude", "temperature", "pressure", "density"), TABLE)
def test_the_tables_of_1976(altitude: float, temperature: float, pressure: float, density: float) -> None:
    assert air_data.temperature(altitude) == pytest.approx(temperature, abs=6e-4)
    assert air_data.pressure(altitude) == pytest.approx(pressure, rel=6e-5)
    assert air_data.density(altitude) == pytest.approx(density, rel=6e-5)


@pytest.mark.parametrize(("altitude", "pressure"), [(z, p) for z, _, p, _ in TABLE if z <= 10_000.0])
def test_an_altimeter_shows_the_altitudes_of_1976(altitude: float, pressure: float) -> None:
    """Four or five digits of pressure are half a metre to two."""
    assert air_data.pressure_altitude(pressure) == pytest.approx(altitude, abs=2.0)


@pytest.mark.parametrize("altitude", [86_000.0, 91_000.0, 200_000.0, 1e7, 1e12])
def test_above_86_km_the_temperature_stays(altitude: float) -> None:
    """186.8673 K from 86 km to 91 km in table I of the U.S. Standard Atmosphere, 1976."""
    assert air_data.temperature(altitude) == pytest.approx(186.8673, abs=0.1)
    assert 0.0 <= air_data.pressure(altitude) < 0.4
    assert np.isfinite(air_data.impact_pressure(10.0, altitude))


@pytest.mark.parametrize("altitude", [-1e5, -6.356766e6, -1e9])
def test_far_below_the_sea_all_is_finite(altitude: float) -> None:
    assert np.isfinite([air_data.temperature(altitude), air_data.pressure(altitude)]).all()


def test_pressure_has_no_jumps_and_always_falls() -> None:
    pressures = air_data.pressure(np.arange(-5_000.0, 86_000.0, 1.0))
    assert (np.diff(pressures) < 0).all()
    assert (np.abs(np.diff(pressures) / pressures[:-1]) < 2.1e-4).all()


def test_weather_scales_the_whole_column() -> None:
    """7.0121e4 Pa at 3000 m in table I, over the 1.01325e5 Pa at the sea."""
    column = air_data.pressure([0.0, 3000.0], sea_level=99_000.0)
    np.testing.assert_allclose(column, [99_000.0, 99_000.0 * 7.0121 / 10.1325], rtol=2e-5)


@pytest.mark.parametrize(("mach", "ratio"), [(0.1, 0.9930), (0.3, 0.9395), (0.5, 0.8430), (0.8, 0.6560)])
@pytest.mark.parametrize("altitude", [0.0, 5_000.0])
def test_impact_pressure_is_that_of_isentropic_flow(mach: float, ratio: float, altitude: float) -> None:
    """p / p0 of NACA Report 1135, table I; the speed of sound by table I of the atmosphere of 1976."""
    sound = {0.0: 340.294, 5_000.0: 320.545}[altitude]
    static = float(air_data.pressure(altitude))
    total = static + impact_pressure(mach * sound, altitude)
    assert static / total == pytest.approx(ratio, abs=6e-5)


def test_slow_flow_is_bernoullis() -> None:
    assert impact_pressure(10.0, 0.0) == pytest.approx(0.5 * 1.2250 * 10.0**2, rel=3e-4)
