"""The International Standard Atmosphere up to 86 km: pressure, temperature, density."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray

SEA_LEVEL_PRESSURE = 101325.0  # Pa
SEA_LEVEL_TEMPERATURE = 288.15  # K
GAS_CONSTANT = 287.05287  # J/(kg K), dry air: ISO 2533
_GRAVITY = 9.80665
_EARTH_RADIUS = 6356766.0  # of geopotential height: U.S. Standard Atmosphere, 1976, section 1.2.4

# Geopotential height (m) where each layer begins, and its lapse rate (K/m): U.S. Standard Atmosphere, 1976, table 4.
_BASES = np.array([0.0, 11_000.0, 20_000.0, 32_000.0, 47_000.0, 51_000.0, 71_000.0])
_LAPSES = np.array([-6.5e-3, 0.0, 1.0e-3, 2.8e-3, 0.0, -2.8e-3, -2.0e-3])


def pressure(altitude: npt.ArrayLike, sea_level: npt.ArrayLike = SEA_LEVEL_PRESSURE) -> FloatArray:
    """Return the static pressure (Pa) at altitudes (m) above mean sea level, for a pressure (Pa) at sea level.

    Same shape as the altitudes. Below the sea the lowest layer goes on; above 86 km so does the highest.
    U.S. Standard Atmosphere, 1976, equations 33a and 33b, equal to ISO 2533 up to 32 km.
    """
    # Here and not above: what only needs temperatures does without numba.
    from sim_node.sensors.kernels import pressure_ratios

    height = _geopotential(altitude)
    ratios = pressure_ratios(height.ravel(), _LAYERS, _GRAVITY / GAS_CONSTANT)
    return np.asarray(np.multiply(sea_level, ratios.reshape(height.shape)))


def pressure_altitude(pressure: float) -> float:
    """Return the altitude (m) above mean sea level at which the standard atmosphere has a pressure (Pa); to 11 km.

    Equation 33a of the U.S. Standard Atmosphere, 1976, solved for the height: what altimeters show.
    """
    lapse = float(_LAPSES[0])
    ratio = (pressure / SEA_LEVEL_PRESSURE) ** (-lapse * GAS_CONSTANT / _GRAVITY)
    height = SEA_LEVEL_TEMPERATURE / lapse * (ratio - 1.0)
    return float(_EARTH_RADIUS * height / (_EARTH_RADIUS - height))


def temperature(altitude: npt.ArrayLike) -> FloatArray:
    """Return the temperature (K) at altitudes (m) above mean sea level."""
    height, layer = _layer(altitude)
    return np.asarray(_BASE_TEMPERATURES[layer] + _LAPSES[layer] * (height - _BASES[layer]))


def density(altitude: npt.ArrayLike) -> FloatArray:
    """Return the density of dry air (kg/m³) at altitudes (m) above mean sea level, by the law of ideal gases."""
    return np.asarray(pressure(altitude) / (GAS_CONSTANT * temperature(altitude)))


def _layer(altitude: npt.ArrayLike) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Geopotential height (m), and which layer it is in."""
    height = _geopotential(altitude)
    return height, np.maximum(np.searchsorted(_BASES, height, side="right") - 1, 0)


def _geopotential(altitude: npt.ArrayLike) -> FloatArray:
    """Geopotential height (m) of altitudes (m)."""
    geometric = np.asarray(altitude, dtype=np.float64)
    return np.asarray(_EARTH_RADIUS * geometric / (_EARTH_RADIUS + geometric))


def _bases() -> tuple[FloatArray, FloatArray]:
    """Temperature (K), and pressure as a part of that at sea level, where each layer begins."""
    warmth, ratio = [SEA_LEVEL_TEMPERATURE], [1.0]
    constant = _GRAVITY / GAS_CONSTANT
    for thickness, lapse in zip(np.diff(_BASES), _LAPSES, strict=False):
        top = warmth[-1] + lapse * thickness
        fallen = (top / warmth[-1]) ** (-constant / lapse) if lapse else np.exp(-constant * thickness / top)
        warmth.append(top)
        ratio.append(ratio[-1] * fallen)
    return np.array(warmth), np.array(ratio)


_BASE_TEMPERATURES, _BASE_RATIOS = _bases()
_LAYERS = np.stack([_BASES, _LAPSES, _BASE_TEMPERATURES, _BASE_RATIOS], axis=1)
