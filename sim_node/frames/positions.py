"""Positions from one frame to another."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.frames.axes import reordered
from sim_node.frames.conventions import AttitudeRequired, Frame, InvalidCoordinates, Kind, checked_origin
from sim_node.geometry.arrays import FloatArray, as_rows


def convert_position(
    values: npt.ArrayLike, source: Frame, target: Frame, origin: npt.ArrayLike | None = None
) -> FloatArray:
    """Return positions (..., 3), given in `source`, in `target`.

    LLA is degrees, degrees, metres above the WGS84 ellipsoid; longitudes come out in [-180, 180]. `origin` is the
    LLA of the local frame's origin, needed where ENU or NED meets ECEF or LLA and left aside elsewhere. NaN stays
    NaN. Round trips stay within 1e-8 m up to 2000 km above and 5000 km below the ellipsoid, wherever the origin
    is; ENU to NED is exact. The first call in a process loads the compiled kernels.

    Raises OriginRequired; AttitudeRequired between a world and a body frame; InvalidCoordinates for a latitude
    beyond 90, a longitude beyond 360 degrees or an ECEF point within 1000 km of Earth's centre; ValueError for a
    last axis that is not 3 long. Sources of the formulas: sim_node/frames/kernels.py.
    """
    points = as_rows(values, 3, "position")
    try:
        route = _ROUTES[source, target]
    except KeyError:
        raise _refusal(source, target) from None
    return route(points, origin)


_Route = Callable[[FloatArray, Any], FloatArray]


def _reorder(source: Frame, target: Frame, points: FloatArray, origin: npt.ArrayLike | None) -> FloatArray:
    return reordered(points, source, target)


def _copy(points: FloatArray, origin: npt.ArrayLike | None) -> FloatArray:
    return np.array(points)


def _globally(kernel: str, source: Frame, points: FloatArray, origin: npt.ArrayLike | None) -> FloatArray:
    converted = np.empty(points.shape)
    refused = _compiled(kernel)(points.ravel(), converted.ravel())
    if refused >= 0:
        raise _no_place(points, refused, source)
    return converted


def _locally(
    kernel: str, source: Frame, target: Frame, down: bool, points: FloatArray, origin: npt.ArrayLike | None
) -> FloatArray:
    latitude, longitude, altitude = checked_origin(origin, source, target)
    converted = np.empty(points.shape)
    refused = _compiled(kernel)(points.ravel(), converted.ravel(), latitude, longitude, altitude, down)
    if refused >= 0:
        raise _no_place(points, refused, source)
    return converted


@cache
def _compiled(kernel: str) -> Callable[..., int]:
    """Import numba no earlier than the first conversion that needs it."""
    from sim_node.frames import kernels

    return getattr(kernels, kernel)  # type: ignore[no-any-return]


def _routes() -> dict[tuple[Frame, Frame], _Route]:
    routes: dict[tuple[Frame, Frame], _Route] = {(frame, frame): _copy for frame in Frame}
    for a, b in ((Frame.ENU, Frame.NED), (Frame.FLU, Frame.FRD)):
        routes[a, b] = partial(_reorder, a, b)
        routes[b, a] = partial(_reorder, b, a)
    routes[Frame.LLA, Frame.ECEF] = partial(_globally, "lla_to_ecef", Frame.LLA)
    routes[Frame.ECEF, Frame.LLA] = partial(_globally, "ecef_to_lla", Frame.ECEF)
    for world in (Frame.LLA, Frame.ECEF):
        for local, down in ((Frame.ENU, False), (Frame.NED, True)):
            name = world.name.lower()
            routes[world, local] = partial(_locally, f"{name}_to_local", world, local, down)
            routes[local, world] = partial(_locally, f"local_to_{name}", local, world, down)
    return routes


_ROUTES = _routes()


def _refusal(source: object, target: object) -> Exception:
    for frame in (source, target):
        if not isinstance(frame, Frame):
            return TypeError(f"{frame!r} is no Frame; Frame.named() finds one by its name")
    body, world = (source, target) if source.kind is Kind.BODY else (target, source)  # type: ignore[attr-defined]
    return AttitudeRequired(
        f"a position in {source} is in {target} only for one pose of the vehicle: take the pose of {body} in {world} "
        "through convert_transform, then move points with sim_node.geometry.poses.apply"
    )


def _no_place(points: FloatArray, refused: int, source: Frame) -> InvalidCoordinates:
    index = tuple(int(i) for i in np.unravel_index(refused, points.shape[:-1]))
    a, b, c = points[index]
    which = f"position{list(index) if index else ''} in {source} is ({a:.10g}, {b:.10g}, {c:.10g})"
    if source is Frame.LLA:
        return InvalidCoordinates(
            f"{which}: latitude must be in [-90, 90] and longitude in [-360, 360] degrees; are they swapped, or scaled?"
        )
    return InvalidCoordinates(f"{which}: within 1000 km of Earth's centre there is no latitude")
