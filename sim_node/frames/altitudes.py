"""Altitudes above the ellipsoid (GNSS, LLA) and above mean sea level (maps, MAVLink), kept apart by name."""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt

from sim_node.frames.geoid import geoid_undulation
from sim_node.geometry.arrays import FloatArray


class VerticalDatum(Enum):
    """What an altitude counts from."""

    ELLIPSOID = "the WGS84 ellipsoid"  # LLA, NavSatFix, MAVROS' global_position/global
    MEAN_SEA_LEVEL = "mean sea level"  # MAVLink's GLOBAL_POSITION_INT, HIL_GPS, HOME_POSITION; charts

    def __repr__(self) -> str:
        return f"VerticalDatum.{self.name}"


def convert_altitude(
    values: npt.ArrayLike,
    source: VerticalDatum,
    target: VerticalDatum,
    latitude: npt.ArrayLike,
    longitude: npt.ArrayLike,
) -> FloatArray:
    """Return altitudes in metres above `source` as metres above `target`, at the places given in degrees.

    The difference is EGM96's geoid undulation. Raises GeoidUnavailable where no grid of it is installed, rather
    than take one altitude for the other.
    """
    altitudes = np.asarray(values, dtype=np.float64)
    for datum in (source, target):
        if not isinstance(datum, VerticalDatum):
            raise TypeError(f"{datum!r} is no VerticalDatum; needs ELLIPSOID or MEAN_SEA_LEVEL")
    if source is target:
        return np.array(altitudes)
    undulation = geoid_undulation(latitude, longitude)
    return np.asarray(altitudes + undulation if target is VerticalDatum.ELLIPSOID else altitudes - undulation)


def altitude_ellipsoid(altitude_msl: npt.ArrayLike, latitude: npt.ArrayLike, longitude: npt.ArrayLike) -> FloatArray:
    """Return metres above the WGS84 ellipsoid for metres above mean sea level; see convert_altitude."""
    return convert_altitude(altitude_msl, VerticalDatum.MEAN_SEA_LEVEL, VerticalDatum.ELLIPSOID, latitude, longitude)


def altitude_msl(altitude_ellipsoid: npt.ArrayLike, latitude: npt.ArrayLike, longitude: npt.ArrayLike) -> FloatArray:
    """Return metres above mean sea level for metres above the WGS84 ellipsoid; see convert_altitude."""
    return convert_altitude(
        altitude_ellipsoid, VerticalDatum.ELLIPSOID, VerticalDatum.MEAN_SEA_LEVEL, latitude, longitude
    )
