"""Units of numbers in formulas: factors to SI units, and dimensions, which comparisons check."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

# Exponents of m, kg, s, rad, A. Angles have a dimension, so that a height is not compared with an angle.
Dimension = tuple[int, int, int, int, int]
NONE: Dimension = (0, 0, 0, 0, 0)
_BASE = ("m", "kg", "s", "rad", "A")


class WrittenUnit(NamedTuple):
    """A unit: its value in SI units, and its dimension."""

    factor: float
    dimension: Dimension


def _unit(factor: float, m: int = 0, kg: int = 0, s: int = 0, rad: int = 0, a: int = 0) -> WrittenUnit:
    return WrittenUnit(factor, (m, kg, s, rad, a))


UNITS: Mapping[str, WrittenUnit] = {
    "m/s^2": _unit(1.0, m=1, s=-2),
    "m/s²": _unit(1.0, m=1, s=-2),
    "rad/s": _unit(1.0, s=-1, rad=1),
    "deg/s": _unit(math.pi / 180.0, s=-1, rad=1),
    "km/h": _unit(1.0 / 3.6, m=1, s=-1),
    "m/s": _unit(1.0, m=1, s=-1),
    "N m": _unit(1.0, m=2, kg=1, s=-2),
    "min": _unit(60.0, s=1),
    "rad": _unit(1.0, rad=1),
    "deg": _unit(math.pi / 180.0, rad=1),
    "ms": _unit(1e-3, s=1),
    "mm": _unit(1e-3, m=1),
    "cm": _unit(1e-2, m=1),
    "km": _unit(1e3, m=1),
    "kg": _unit(1.0, kg=1),
    "Hz": _unit(1.0, s=-1),
    "m": _unit(1.0, m=1),
    "s": _unit(1.0, s=1),
    "h": _unit(3600.0, s=1),
    "g": _unit(1e-3, kg=1),
    "N": _unit(1.0, m=1, kg=1, s=-2),
    "V": _unit(1.0, m=2, kg=1, s=-3, a=-1),
    "A": _unit(1.0, a=1),
    "%": _unit(1e-2),
}
# The longest unit first. A unit must not be followed by a word character.
UNIT = re.compile(r"\s*(" + "|".join(re.escape(u) for u in sorted(UNITS, key=len, reverse=True)) + r")(?![\w(\[])")


def dimension_of(unit: str) -> Dimension | None:
    """Return the dimension of a unit by its name; None if it is unknown."""
    if unit in ("", "?"):
        return None
    return NONE if unit == "1" else UNITS[unit].dimension


def shown(dimension: Dimension) -> str:
    """Return a dimension as text in SI units, such as m s^-1; 1 for dimensionless."""
    parts = [name if power == 1 else f"{name}^{power}" for name, power in zip(_BASE, dimension, strict=True) if power]
    return " ".join(parts) or "1"
