"""LLA, ECEF and ENU against the same formulas in 50 decimal digits."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, getcontext

import numpy as np
import pytest

from sim_node.spatial.frames import Frame, convert_position
from sim_node.spatial.geometry.arrays import FloatArray

getcontext().prec = 50
PI = Decimal("3.14159265358979323846264338327950288419716939937511")
A = Decimal(6378137)
F = 1 / Decimal("298.257223563")
E2 = F * (2 - F)


def sin_cos(degrees: float) -> list[Decimal]:
    """The Taylor series, summed until nothing changes."""
    x = Decimal(degrees) * PI / 180
    sums = []
    for start in (x, Decimal(1)):
        total, term, n = Decimal(0), start, 0 if start == 1 else 1
        while total + term != total:
            total += term
            term *= -x * x / ((n + 1) * (n + 2))
            n += 2
        sums.append(total)
    return sums


def ecef_of(latitude: float, longitude: float, altitude: float) -> list[Decimal]:
    (s, c), (t, u) = sin_cos(latitude), sin_cos(longitude)
    n, h = A / (1 - E2 * s * s).sqrt(), Decimal(altitude)
    return [(n + h) * c * u, (n + h) * c * t, (n * (1 - E2) + h) * s]


def enu_of(ecef: Sequence[Decimal], origin: tuple[float, float, float]) -> list[Decimal]:
    (s, c), (t, u) = sin_cos(origin[0]), sin_cos(origin[1])
    x, y, z = (a - b for a, b in zip(ecef, ecef_of(*origin), strict=True))
    return [-t * x + u * y, -s * u * x - s * t * y + c * z, c * u * x + c * t * y + s * z]


def distance(a: FloatArray, b: Sequence[Decimal]) -> float:
    return float(Decimal(sum((Decimal(float(p)) - q) ** 2 for p, q in zip(a, b, strict=True))).sqrt())


def places() -> FloatArray:
    random = np.random.default_rng(11)
    edges = [(lat, lon, 1234.5) for lat in (-90, -89.9999999, 0, 1e-9, 90) for lon in (-180, -90, 0, 1e-9, 179.9999999)]
    anywhere = random.uniform((-90, -180, -10e3), (90, 180, 20e3), (60, 3))
    above = random.uniform((-90, -180, 20e3), (90, 180, 2000e3), (20, 3))
    return np.concatenate([edges, anywhere, above])


@pytest.mark.parametrize("place", places().tolist())
def test_to_the_last_bits(place: Sequence[float]) -> None:
    """ECEF to 3 nm; LLA so that its exact ECEF is within 6 nm; ENU about a place far off to 7 nm."""
    exact = ecef_of(*place)
    ecef = convert_position(place, Frame.LLA, Frame.ECEF)
    assert distance(ecef, exact) < 3e-9

    lla = convert_position(ecef, Frame.ECEF, Frame.LLA)
    assert distance(ecef, ecef_of(*lla.tolist())) < 6e-9

    origin = (47.397742, 8.545594, 488.0)
    enu = convert_position(ecef, Frame.ECEF, Frame.ENU, origin)
    assert distance(enu, enu_of([Decimal(float(c)) for c in ecef], origin)) < 7e-9
