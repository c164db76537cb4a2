"""Rotations between the axes of two frames: a reordering with signs, or a rotation that depends on the position."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sim_node.spatial.frames.conventions import AttitudeRequired, Frame, FrameKind, checked_origin
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray

# Each frame's rotation in ENU or FLU. Half turns are written out, because cos(pi/2) in doubles is not 0: NED is
# Rz(pi/2) Rx(pi), FRD is Rx(pi). This sign of FRD's quaternion gives convert_orientation the signs of MAVROS.
_IN_ROS_AXES = {
    Frame.ENU: (0.0, 0.0, 0.0, 1.0),
    Frame.NED: (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0),
    Frame.FLU: (0.0, 0.0, 0.0, 1.0),
    Frame.FRD: (-1.0, 0.0, 0.0, 0.0),
}


def reordered(vectors: FloatArray, source: Frame, target: Frame) -> FloatArray:
    """Swap and negate the components of vectors (..., 3). Exact; NaN stays in its own component.

    Only for frames between which `reordering` is not None.
    """
    order, signs = _reorderings[source, target]
    out = vectors.take(order, axis=-1)
    out *= signs
    return out


def reordering(source: Frame, target: Frame) -> tuple[IntArray, FloatArray] | None:
    """Return (order, signs): component i in `target` is signs[i] times component order[i] in `source`.

    Return None if the frames are not a reordering of each other, as for ECEF and any other.
    """
    return _reorderings.get((source, target))


def rotation(source: Frame, target: Frame, origin: npt.ArrayLike | None) -> FloatArray:
    """Return the quaternion (4,) that rotates components in `source` to components in `target`.

    `origin` is the LLA of the local frame's origin. It is needed between ECEF and ENU or NED.
    Raises OriginRequired, and the exceptions of `check_directions`.
    """
    check_directions(source, target)
    if source is target:
        return np.array(_IN_ROS_AXES[Frame.ENU])
    into_ros_axes = _in_ros_axes(source, source, target, origin)
    return quaternions.multiply(quaternions.conjugate(_in_ros_axes(target, source, target, origin)), into_ros_axes)


def rotation_matrix(source: Frame, target: Frame, origin: npt.ArrayLike | None) -> FloatArray:
    """Return the matrix (3, 3) of `rotation`. Entries that are 0 or 1 at multiples of 90 degrees are exact."""
    check_directions(source, target)
    if Frame.ECEF not in (source, target) or source is target:
        order, signs = _reorderings.get((source, target), _reorderings[Frame.ENU, Frame.ENU])
        return np.asarray(np.eye(3)[order] * signs[:, None])
    latitude, longitude, _ = checked_origin(origin, source, target)
    order, signs = _reorderings[Frame.ENU, source if target is Frame.ECEF else target]
    into_local = _enu_axes(latitude, longitude)[order] * signs[:, None]
    return np.asarray(into_local.T if target is Frame.ECEF else into_local)


def check_directions(source: Frame, target: Frame) -> None:
    """Raise AttitudeRequired between world and body frames, ValueError for LLA, TypeError for anything but a Frame."""
    for frame in (source, target):
        if not isinstance(frame, Frame):
            raise TypeError(f"{frame!r} is not a Frame; Frame.named() finds one by its name")
        if frame is Frame.LLA:
            raise ValueError(
                "LLA has no axes: degrees per second are not a velocity. Receivers give velocities, courses and "
                "covariances in NED or ENU at the fix; use those with the fix as origin"
            )
    if (source.kind is FrameKind.BODY) != (target.kind is FrameKind.BODY):
        raise AttitudeRequired(
            f"{source} to {target} depends on the vehicle's attitude: rotate with it, as Orientation.rotate and "
            "Orientation.unrotate do, or sim_node.spatial.geometry.quaternions.rotate"
        )


def _in_ros_axes(frame: Frame, source: Frame, target: Frame, origin: npt.ArrayLike | None) -> FloatArray:
    """Return the rotation of `frame` in ENU or FLU."""
    if frame is Frame.ECEF:
        latitude, longitude, _ = checked_origin(origin, source, target)
        return quaternions.conjugate(_enu_in_ecef(latitude, longitude))
    return np.array(_IN_ROS_AXES[frame])


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
    if source.kind is target.kind and source.kind is not FrameKind.GLOBAL
}
