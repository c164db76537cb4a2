"""Where a local frame touches Earth: (latitude, longitude, altitude) in degrees, degrees, metres above WGS84."""

from __future__ import annotations

import math

import numpy.typing as npt

from sim_node.frames.conventions import Frame
from sim_node.frames.errors import InvalidCoordinates, OriginRequired


def checked_origin(origin: npt.ArrayLike | None, source: Frame, target: Frame) -> tuple[float, float, float]:
    """Return `origin` as three floats.

    Raises OriginRequired where there is none, ValueError where it is not one point, InvalidCoordinates where it
    is no place on Earth.
    """
    if origin is None:
        raise OriginRequired(
            f"{source} to {target} needs origin=(latitude, longitude, altitude) of the local frame, "
            "in degrees, degrees and metres above the WGS84 ellipsoid"
        )
    try:
        latitude, longitude, altitude = map(float, origin)  # type: ignore[arg-type, unused-ignore]
    except (TypeError, ValueError):
        raise ValueError(f"origin is {origin!r}, needs one point: (latitude, longitude, altitude)") from None
    if not (abs(latitude) <= 90.0 and abs(longitude) <= 360.0 and math.isfinite(altitude)):
        raise InvalidCoordinates(
            f"origin is ({latitude:g}, {longitude:g}, {altitude:g}), needs a latitude in [-90, 90], "
            "a longitude in [-360, 360] and a finite altitude"
        )
    return latitude, longitude, altitude
