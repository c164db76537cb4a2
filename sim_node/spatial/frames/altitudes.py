"""Altitudes above the WGS 84 ellipsoid and above mean sea level (EGM96)."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.spatial.frames.conventions import InvalidCoordinates
from sim_node.spatial.geometry.arrays import FloatArray

SEMI_MAJOR_AXIS = 6378137.0  # metres
FLATTENING = 1.0 / 298.257223563

SEMI_MINOR_AXIS = SEMI_MAJOR_AXIS * (1.0 - FLATTENING)
ECCENTRICITY_SQUARED = FLATTENING * (2.0 - FLATTENING)
SECOND_ECCENTRICITY_SQUARED = ECCENTRICITY_SQUARED / (1.0 - ECCENTRICITY_SQUARED)


_FILE = "egm96-5.pgm"


def geoid_undulation(latitude: npt.ArrayLike, longitude: npt.ArrayLike) -> FloatArray:
    """Return the height of the EGM96 geoid (mean sea level) above the WGS84 ellipsoid.

    Grids are interpolated bilinearly. The shipped one has a spacing of 15 arc minutes and stays within 1.1 m of EGM96,
    and within 0.3 m on 99.8 % of the Earth; EGM96 itself is accurate to about 1 m. Finer grids of 5 arc minutes, which
    stay within 0.14 m, are used if they are installed: the PyPI package egm96, or GeographicLib's file egm96-5.pgm,
    which MAVROS uses too, in $GEOGRAPHICLIB_GEOID_PATH, $GEOGRAPHICLIB_DATA/geoids or
    [/usr/local]/share/GeographicLib/geoids.

    Args:
        latitude: Degrees, of any shape that broadcasts with `longitude`.
        longitude: Degrees.

    Returns:
        Heights in metres, of the broadcast shape; NaN where latitude or longitude is NaN.

    Raises:
        InvalidCoordinates: A latitude or longitude is out of range.
    """
    return _undulation(_model(), latitude, longitude)


def coarse_geoid_undulation(latitude: npt.ArrayLike, longitude: npt.ArrayLike) -> FloatArray:
    """Return the height of the EGM96 geoid above the WGS84 ellipsoid by the shipped grid: the same on every machine.

    Used by simulations, so that a run gives the same bytes whether or not finer grids are installed.

    Args:
        latitude: Degrees, of any shape that broadcasts with `longitude`.
        longitude: Degrees.

    Returns:
        Heights in metres, of the broadcast shape; NaN where latitude or longitude is NaN.

    Raises:
        InvalidCoordinates: A latitude or longitude is out of range.
    """
    return _undulation(_shipped(), latitude, longitude)


_Model = Callable[[FloatArray, FloatArray], FloatArray]


def _undulation(model: _Model, latitude: npt.ArrayLike, longitude: npt.ArrayLike) -> FloatArray:
    latitudes, longitudes = np.broadcast_arrays(
        np.asarray(latitude, dtype=np.float64), np.asarray(longitude, dtype=np.float64)
    )
    wrong = (np.abs(latitudes) > 90.0) | (np.abs(longitudes) > 360.0)
    if wrong.any():
        raise InvalidCoordinates(
            f"latitude {latitudes[wrong].flat[0]:g}, longitude {longitudes[wrong].flat[0]:g}: needs [-90, 90] "
            "and [-360, 360] degrees; are they swapped, or scaled?"
        )
    unknown = np.isnan(latitudes) | np.isnan(longitudes)
    heights = model(np.where(unknown, 0.0, latitudes), np.where(unknown, 0.0, longitudes))
    return np.where(unknown, np.nan, heights)


@cache
def _model() -> _Model:
    return _package() or _file() or _shipped()


def _package() -> _Model | None:
    try:
        import egm96  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    # Version 0.1, the newest that pip finds for older Pythons, is an empty package.
    undulation: _Model | None = getattr(egm96, "undulation", None)
    return undulation


def _file() -> _Model | None:
    for folder in _folders():
        if (folder / _FILE).is_file():
            return _pgm(folder / _FILE)
    return None


def _folders() -> list[Path]:
    """Return the folders that GeographicLib searches (Geoid::DefaultGeoidPath)."""
    named = [os.environ.get("GEOGRAPHICLIB_GEOID_PATH"), os.environ.get("GEOGRAPHICLIB_DATA")]
    folders = [Path(named[0])] if named[0] else []
    folders += [Path(named[1]) / "geoids"] if named[1] else []
    return [*folders, Path("/usr/local/share/GeographicLib/geoids"), Path("/usr/share/GeographicLib/geoids")]


@cache
def _shipped() -> _Model:
    """Return the grid that tools/geoid.py made: differences of decimetres along both axes."""
    with np.load(Path(__file__).parent / "egm96_15.npz") as file:
        differences = file["differences"]
    return _Grid(differences.cumsum(axis=1, dtype=np.int32).cumsum(axis=0, dtype=np.int32), 0.0, 0.1)


def _pgm(path: Path) -> _Grid:
    """Return a geoid in GeographicLib's file format: a 16-bit PGM image.

    Format: https://geographiclib.sourceforge.io/C++/doc/geoid.html#geoidformat
    """
    with path.open("rb") as file:
        header: dict[str, str] = {}
        magic = file.readline().strip()
        line = file.readline()
        while line.startswith(b"#"):
            key, _, value = line[1:].decode("ascii", "replace").strip().partition(" ")
            header[key] = value
            line = file.readline()
        shape = line.split()
        depth = file.readline().strip()
        if magic != b"P5" or depth != b"65535" or len(shape) != 2 or not {"Offset", "Scale"} <= header.keys():
            raise ValueError(f"{path}: not a geoid in GeographicLib's PGM format")
        rows, columns = int(shape[1]), int(shape[0])
        pixels = np.memmap(path, dtype=">u2", mode="r", offset=file.tell(), shape=(rows, columns))
    return _Grid(pixels, float(header["Offset"]), float(header["Scale"]))


class _Grid:
    """Heights offset + scale * pixels (m): rows from the north pole to the south pole, columns eastward from 0."""

    def __init__(self, pixels: npt.NDArray[Any], offset: float, scale: float) -> None:
        self._pixels, self._offset, self._scale = pixels, offset, scale

    def __call__(self, latitudes: FloatArray, longitudes: FloatArray) -> FloatArray:
        rows, columns = self._pixels.shape
        down = (90.0 - latitudes) * ((rows - 1) / 180.0)
        along = np.mod(longitudes, 360.0) * (columns / 360.0)
        row = np.minimum(down.astype(np.int64), rows - 2)
        column = along.astype(np.int64)
        v, u = down - row, along - column
        west, east = column % columns, (column + 1) % columns
        above = (1.0 - u) * self._pixels[row, west] + u * self._pixels[row, east]
        below = (1.0 - u) * self._pixels[row + 1, west] + u * self._pixels[row + 1, east]
        return np.asarray(self._offset + self._scale * ((1.0 - v) * above + v * below))


class VerticalDatum(Enum):
    """The reference surface of an altitude."""

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
    """Convert altitudes between the WGS84 ellipsoid and mean sea level.

    The difference is the geoid undulation of EGM96.

    Args:
        values: Altitudes in metres above `source`, of any shape that broadcasts with `latitude` and `longitude`.
        source: The datum of `values`.
        target: The datum of the result.
        latitude: Degrees.
        longitude: Degrees.

    Returns:
        Altitudes in metres above `target`.

    Raises:
        InvalidCoordinates: A latitude or longitude is out of range.
        TypeError: `source` or `target` is not a VerticalDatum.
    """
    altitudes = np.asarray(values, dtype=np.float64)
    for datum in (source, target):
        if not isinstance(datum, VerticalDatum):
            raise TypeError(f"{datum!r} is not a VerticalDatum; needs ELLIPSOID or MEAN_SEA_LEVEL")
    if source is target:
        return np.array(altitudes)
    undulation = geoid_undulation(latitude, longitude)
    return np.asarray(altitudes + undulation if target is VerticalDatum.ELLIPSOID else altitudes - undulation)


def altitude_ellipsoid(altitude_msl: npt.ArrayLike, latitude: npt.ArrayLike, longitude: npt.ArrayLike) -> FloatArray:
    """Convert altitudes above mean sea level to altitudes above the WGS84 ellipsoid.

    Args:
        altitude_msl: Metres above mean sea level.
        latitude: Degrees.
        longitude: Degrees.

    Returns:
        Metres above the ellipsoid.

    Raises:
        InvalidCoordinates: A latitude or longitude is out of range.
    """
    return convert_altitude(altitude_msl, VerticalDatum.MEAN_SEA_LEVEL, VerticalDatum.ELLIPSOID, latitude, longitude)


def altitude_msl(altitude_ellipsoid: npt.ArrayLike, latitude: npt.ArrayLike, longitude: npt.ArrayLike) -> FloatArray:
    """Convert altitudes above the WGS84 ellipsoid to altitudes above mean sea level.

    Args:
        altitude_ellipsoid: Metres above the ellipsoid.
        latitude: Degrees.
        longitude: Degrees.

    Returns:
        Metres above mean sea level.

    Raises:
        InvalidCoordinates: A latitude or longitude is out of range.
    """
    return convert_altitude(
        altitude_ellipsoid, VerticalDatum.ELLIPSOID, VerticalDatum.MEAN_SEA_LEVEL, latitude, longitude
    )
