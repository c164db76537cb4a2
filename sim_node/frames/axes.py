"""How the axes of two frames lie to each other: a reordering with signs, or a rotation that depends on the place."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sim_node.frames.conventions import AttitudeRequired, Frame, Kind, checked_origin
from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray, IntArray

# Each frame's rotation in ENU or FLU, the half turns written out since cos(pi/2) in doubles is not 0: NED is
# Rz(pi/2) Rx(pi), FRD Rx(pi). Of the two signs of FRD's this one makes convert_orientation's signs MAVROS'.
_IN_HOUSE = {
    Frame.ENU: (0.0, 0.0, 0.0, 1.0),
    Frame.NED: (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0),
    Frame.FLU: (0.0, 0.0, 0.0, 1.0),
    Frame.FRD: (-1.0, 0.0, 0.0, 0.0),
}


def reordered(vectors: FloatArray, source: Frame, target: Frame) -> FloatArray:
    """Swap and negate the components of vectors (..., 3): exact, and NaN stays in its own component.

    Only for two frames between which `reordering` is not None.
    """
    order, signs = _reorderings[source, target]
    out = vectors.take(order, axis=-1)
    out *= signs
    return out


def reordering(source: Frame, target: Frame) -> tuple[IntArray, FloatArray] | None:
    """Return (order, signs): component i in `target` is signs[i] times component order[i] in `source`.

    None where the two are no such reordering of each other, which is where ECEF is one of them.
    """
    return _reorderings.get((source, target))


def rotation(source: Frame, target: Frame, origin: npt.ArrayLike | None) -> FloatArray:
    """Return the quaternion (4,) that takes components in `source` to components in `target`.

    `origin` is the LLA of the local frame, needed where ECEF meets ENU or NED.
    Raises OriginRequired, and what `check_directions` raises.
    """
    check_directions(source, target)
    if source is target:
        return np.array(_IN_HOUSE[Frame.ENU])
    into_house = _in_house(source, source, target, origin)
    return quaternions.multiply(quaternions.conjugate(_in_house(target, source, target, origin)), into_house)


def rotation_matrix(source: Frame, target: Frame, origin: npt.ArrayLike | None) -> FloatArray:
    """Return the matrix (3, 3) of `rotation`, exactly 0 and 1 where it is so at multiples of 90 degrees."""
    check_directions(source, target)
    if Frame.ECEF not in (source, target) or source is target:
        order, signs = _reorderings.get((source, target), _reorderings[Frame.ENU, Frame.ENU])
        return np.asarray(np.eye(3)[order] * signs[:, None])
    latitude, longitude, _ = checked_origin(origin, source, target)
    order, signs = _reorderings[Frame.ENU, source if target is Frame.ECEF else target]
    into_local = _enu_axes(latitude, longitude)[order] * signs[:, None]
    return np.asarray(into_local.T if target is Frame.ECEF else into_local)


def check_directions(source: Frame, target: Frame) -> None:
    """Raise AttitudeRequired between world and body, ValueError for LLA, TypeError for what is no Frame."""
    for frame in (source, target):
        if not isinstance(frame, Frame):
            raise TypeError(f"{frame!r} is no Frame; Frame.named() finds one by its name")
        if frame is Frame.LLA:
            raise ValueError(
                "LLA has no axes: degrees per second are no velocity. Receivers give velocities, courses and "
                "covariances in NED or ENU at the fix; use those with the fix as origin"
            )
    if (source.kind is Kind.BODY) != (target.kind is Kind.BODY):
        raise AttitudeRequired(
            f"{source} to {target} depends on the vehicle's attitude: rotate with it, as Orientation.rotate and "
            "Orientation.unrotate do, or sim_node.geometry.quaternions.rotate"
        )


def _in_house(frame: Frame, source: Frame, target: Frame, origin: npt.ArrayLike | None) -> FloatArray:
    """The rotation of `frame` in ENU or FLU."""
    if frame is Frame.ECEF:
        latitude, longitude, _ = checked_origin(origin, source, target)
        return quaternions.conjugate(_enu_in_ecef(latitude, longitude))
    return np.array(_IN_HOUSE[frame])


def _enu_in_ecef(latitude: float, longitude: float) -> FloatArray:
    """Rz(90 deg + longitude) Rx(90 deg - latitude): EPSG Guidance Note 7-2, section 4.1.2, as half angles."""
    a, b = np.radians(45.0 + 0.5 * longitude), np.radians(45.0 - 0.5 * latitude)
    return np.array([np.cos(a) * np.sin(b), np.sin(a) * np.sin(b), np.sin(a) * np.cos(b), np.cos(a) * np.cos(b)])


def _enu_axes(latitude: float, longitude: float) -> FloatArray:
    """East, north and up in ECEF, row by row: EPSG Guidance Note 7-2, section 4.1.2."""
    s, c = _sin_cos(latitude)
    t, u = _sin_cos(longitude)
    return np.array([(-t, u, 0.0), (-s * u, -s * t, c), (c * u, c * t, s)])


def _sin_cos(degrees: float) -> tuple[float, float]:
    quarter = round(degrees / 90.0)
    angle = math.radians(degrees - 90.0 * quarter)
    s, c = math.sin(angle), math.cos(angle)
    return ((s, c), (c, -s), (-s, -c), (-c, s))[quarter % 4]


def _reordering(source: Frame, target: Frame) -> tuple[IntArray, FloatArray]:
    there, here = source.value.signed_axes, target.value.signed_axes
    assert there is not None
    assert here is not None
    order = np.array([next(i for i in range(3) if abs(there[i]) == abs(axis)) for axis in here])
    return order, np.sign(here).astype(np.float64) * np.sign(there)[order]


_reorderings = {
    (source, target): _reordering(source, target)
    for source in Frame
    for target in Frame
    if source.kind is target.kind and source.kind is not Kind.GLOBAL
}
