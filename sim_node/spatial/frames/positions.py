"""Conversion of positions between frames."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.spatial.frames.axes import reordered
from sim_node.spatial.frames.conventions import AttitudeRequired, Frame, FrameKind, InvalidCoordinates, checked_origin
from sim_node.spatial.geometry.arrays import FloatArray, as_rows


def convert_position(
    values: npt.ArrayLike, source: Frame, target: Frame, origin: npt.ArrayLike | None = None
) -> FloatArray:
    """Convert positions from one frame to another.

    LLA is degrees, degrees, and metres above the WGS84 ellipsoid. Round trips stay within 1e-8 m up to 2000 km above
    and 5000 km below the ellipsoid, for any origin. ENU to NED is exact. NaN stays NaN. The first call in a process
    loads the compiled kernels. Sources of the formulas: sim_node/spatial/frames/kernels.py.

    Args:
        values: Positions (..., 3) in `source`.
        source: The frame of `values`.
        target: The frame of the result.
        origin: LLA of the local frame's origin; needed between ENU or NED and ECEF or LLA, ignored elsewhere.

    Returns:
        Positions (..., 3) in `target`; longitudes are in [-180, 180].

    Raises:
        OriginRequired: `origin` is needed and None.
        AttitudeRequired: One frame is a world frame, the other a body frame.
        InvalidCoordinates: A latitude is beyond 90 degrees, a longitude beyond 360 degrees, or an ECEF point within
            1000 km of Earth's centre.
        ValueError: The last axis does not have length 3.
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
        raise _invalid(points, refused, source)
    return converted


def _locally(
    kernel: str, source: Frame, target: Frame, down: bool, points: FloatArray, origin: npt.ArrayLike | None
) -> FloatArray:
    latitude, longitude, altitude = checked_origin(origin, source, target)
    converted = np.empty(points.shape)
    refused = _compiled(kernel)(points.ravel(), converted.ravel(), latitude, longitude, altitude, down)
    if refused >= 0:
        raise _invalid(points, refused, source)
    return converted


@cache
def _compiled(kernel: str) -> Callable[..., int]:
    """Import numba only when a conversion needs it."""
    from sim_node.spatial.frames import kernels

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
            return TypeError(f"{frame!r} is not a Frame; Frame.named() finds one by its name")
    body, world = (source, target) if source.kind is FrameKind.BODY else (target, source)  # type: ignore[attr-defined]
    return AttitudeRequired(
        f"a position in {source} is in {target} only for one pose of the vehicle: convert the pose of {body} in "
        f"{world} by convert_transform, then move points with sim_node.spatial.geometry.poses.apply"
    )


def _invalid(points: FloatArray, refused: int, source: Frame) -> InvalidCoordinates:
    index = tuple(int(i) for i in np.unravel_index(refused, points.shape[:-1]))
    a, b, c = points[index]
    which = f"position{list(index) if index else ''} in {source} is ({a:.10g}, {b:.10g}, {c:.10g})"
    if source is Frame.LLA:
        return InvalidCoordinates(
            f"{which}: latitude must be in [-90, 90] and longitude in [-360, 360] degrees; are they swapped, or scaled?"
        )
    return InvalidCoordinates(f"{which}: latitude is undefined within 1000 km of Earth's centre")
