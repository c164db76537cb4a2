"""Earth's magnetic field: the World Magnetic Model, and its straight continuation around one place."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sim_node.frames import Frame, convert_position, convert_velocity
from sim_node.geometry.arrays import FloatArray
from sim_node.world.model import Origin

FIRST_YEAR, LAST_YEAR = 2025.0, 2030.0
# Between the places whose difference is the field's gradient.
_STEP = 1_000.0


def field(latitude: float, longitude: float, altitude: float, year: float) -> FloatArray:
    """Return Earth's field (3,) in tesla along east, north, up.

    latitude, longitude in degrees, altitude in metres above the WGS84 ellipsoid, year with decimals, 2025 to 2030.
    WMM2025 by pygeomag: Chulliat et al., The US/UK World Magnetic Model for 2025-2030, NOAA NCEI, 2024; the field of
    core and lithosphere to degree 12, good to about 150 nT. Raises ImportError without pygeomag.
    """
    result = _model().calculate(glat=latitude, glon=longitude, alt=altitude * 1e-3, time=year)
    return np.array([result.y, result.x, -result.z]) * 1e-9


class StraightField(NamedTuple):
    """A field (T) by its value (3,) at a place and its gradient there (3, 3), T/m, a row for each of its axes."""

    centre: FloatArray
    gradient: FloatArray

    def at(self, positions: FloatArray) -> FloatArray:
        """The field (..., 3) at positions (..., 3) from that place, m."""
        return np.asarray(self.centre + positions @ self.gradient.T)


def field_around(origin: Origin, year: float) -> StraightField:
    """Return the field as a function of positions, both along `origin`'s ENU axes.

    The field and its gradient at the origin: the model itself takes 0.2 ms for a place. What is left out grows with
    the square of the distance: under 1 nT within 10 km, under 100 nT within 100 km.
    """
    here = (origin.latitude, origin.longitude, origin.altitude)
    centre = field(*here, year)
    gradient = np.empty((3, 3))
    for axis in range(3):
        ends = []
        for sign in (-1.0, 1.0):
            offset = np.zeros(3)
            offset[axis] = sign * _STEP
            place = convert_position(offset, Frame.ENU, Frame.LLA, here)
            ends.append(_along(here, place, field(place[0], place[1], place[2], year)))
        gradient[:, axis] = (ends[1] - ends[0]) / (2.0 * _STEP)
    return StraightField(centre, gradient)


def _along(here: tuple[float, float, float], there: FloatArray, vector: FloatArray) -> FloatArray:
    """A vector along ENU at one place, along ENU at another."""
    through = convert_velocity(vector, Frame.ENU, Frame.ECEF, tuple(there.tolist()))
    return convert_velocity(through, Frame.ECEF, Frame.ENU, here)


@cache
def _model() -> Any:
    from pygeomag import GeoMag

    return GeoMag(coefficients_file="wmm/WMM_2025.COF")
