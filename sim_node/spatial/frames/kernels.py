"""Compiled inner loops of conversions between LLA, ECEF and a local frame, accurate to the last bits of a double.

A double holds Earth's radius to 1 nm. Six conversions in a row stay within 10 nm only if no step adds more than the
rounding of its result. For that, angles stay in degrees until they are small, products that would round use fused
multiply-add, and the local axes are kept as the sum of two doubles.

The loops come last, because they are compiled where they are defined. They read points as flat contiguous arrays
[a0 b0 c0 a1 b1 c1 ...] and write to `out`. They return the index of the first invalid point, or -1.
Importing this module imports numba, and compiles for about two seconds if the cache is cold. Import it on first use.
"""

# numba infers the types; the functions below have none to write down.
# mypy: disable-error-code="no-untyped-def, untyped-decorator"

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from sim_node.spatial.frames.altitudes import (
    ECCENTRICITY_SQUARED,
    FLATTENING,
    SECOND_ECCENTRICITY_SQUARED,
    SEMI_MAJOR_AXIS,
    SEMI_MINOR_AXIS,
)
from sim_node.spatial.geometry.kernel import kernel

# Closer to Earth's centre than this, in metres, latitude is inaccurate and soon undefined.
INNERMOST = 1.0e6

# pi / 180 and 180 / pi, each as the nearest double and the nearest double to the remainder.
_RADIANS, _RADIANS_REST = math.pi / 180.0, 2.9486522708701687e-19
_DEGREES, _DEGREES_REST = 180.0 / math.pi, -1.9878495670576283e-15

_OPTIONS = {"nogil": True, "error_model": "numpy"}
_compiled = kernel(**_OPTIONS)


# ----------------------------------------------------------------------------------------- geodetic and geocentric


@_compiled
def _off_earth(latitude, longitude):
    """Return whether the degrees are out of range. NaN, an unknown position, passes."""
    return abs(latitude) > 90.0 or abs(longitude) > 360.0


@_compiled
def _too_deep(x, y, z):
    return x * x + y * y + z * z < INNERMOST * INNERMOST


@_compiled
def _ecef_of(latitude, longitude, altitude):
    """EPSG method 9602, Guidance Note 7-2, section 4.1.1."""
    sin_lat, cos_lat = _sin_cos(latitude)
    sin_lon, cos_lon = _sin_cos(longitude)
    normal = SEMI_MAJOR_AXIS / math.sqrt(1.0 - ECCENTRICITY_SQUARED * sin_lat * sin_lat)
    radius = (normal + altitude) * cos_lat
    return radius * cos_lon, radius * sin_lon, (normal * (1.0 - ECCENTRICITY_SQUARED) + altitude) * sin_lat


@_compiled
def _lla_of(x, y, z):
    """Compute LLA from ECEF by two of Bowring's iterations, with a start that converges far above the ground, too.

    Bowring, Transformation from spatial to geographical coordinates, Survey Review 23 (1976), for the iteration;
    The accuracy of geodetic latitude and height equations, Survey Review 28 (1985), for the start. The error is a few
    nm from 1000 km off Earth's centre outwards. The height is the distance to the point's foot on the ellipsoid along
    the normal; an error in latitude changes it only in second order.
    """
    p = math.sqrt(x * x + y * y)
    r = math.sqrt(p * p + z * z)
    sin_reduced, cos_reduced = _direction(
        SEMI_MINOR_AXIS * z * (1.0 + SECOND_ECCENTRICITY_SQUARED * SEMI_MINOR_AXIS / r), SEMI_MAJOR_AXIS * p
    )
    up, out = _normal(p, z, sin_reduced, cos_reduced)
    sin_reduced, cos_reduced = _direction((1.0 - FLATTENING) * up, out)
    up, out = _normal(p, z, sin_reduced, cos_reduced)
    sin_lat, cos_lat = _direction(up, out)
    sin_reduced, cos_reduced = _unit(*_direction((1.0 - FLATTENING) * up, out))
    above_foot = _fma(-SEMI_MINOR_AXIS, sin_reduced, z)
    beside_foot = _fma(-SEMI_MAJOR_AXIS, cos_reduced, p)
    return _atan2(up, out), _atan2(y, x), beside_foot * cos_lat + above_foot * sin_lat


@_compiled
def _normal(p, z, sin_reduced, cos_reduced):
    """Return the ellipsoid's normal through (p, z), unscaled, from an estimate of the reduced latitude."""
    up = z + SECOND_ECCENTRICITY_SQUARED * SEMI_MINOR_AXIS * sin_reduced * sin_reduced * sin_reduced
    out = p - ECCENTRICITY_SQUARED * SEMI_MAJOR_AXIS * cos_reduced * cos_reduced * cos_reduced
    return up, out


# ------------------------------------------------------------------------------------------------- the local frame


@_compiled
def _local_frame(latitude, longitude, altitude, down):
    """Return the origin in ECEF, and the rows east north up (north east down if `down`) as nine doubles and remainders.

    EPSG method 9837, Guidance Note 7-2, section 4.1.2. The two parts together are orthonormal to 1e-31. Both
    directions of a round trip share their error in angle.
    """
    s, c = _sin_cos(latitude)
    t, u = _sin_cos(longitude)
    sin_lat, cos_lat = _unit_pair(s, c)
    sin_lon, cos_lon = _unit_pair(t, u)
    zero = (0.0, 0.0)
    east = (_minus(sin_lon), cos_lon, zero)
    north = (_minus(_times(sin_lat, cos_lon)), _minus(_times(sin_lat, sin_lon)), cos_lat)
    upward = (_times(cos_lat, cos_lon), _times(cos_lat, sin_lon), sin_lat)
    if down:
        a, b, d = north, east, (_minus(upward[0]), _minus(upward[1]), _minus(upward[2]))
    else:
        a, b, d = east, north, upward
    axes = (a[0][0], a[1][0], a[2][0], b[0][0], b[1][0], b[2][0], d[0][0], d[1][0], d[2][0])
    rest = (a[0][1], a[1][1], a[2][1], b[0][1], b[1][1], b[2][1], d[0][1], d[1][1], d[2][1])
    return _ecef_of(latitude, longitude, altitude), axes, rest


@_compiled
def _into(origin, axes, rest, x, y, z):
    """Convert ECEF to local: axes (point - origin)."""
    x, dx = _difference(x, origin[0])
    y, dy = _difference(y, origin[1])
    z, dz = _difference(z, origin[2])
    return (
        _dot(axes[0], axes[1], axes[2], x, y, z, _dot(axes[0], axes[1], axes[2], dx, dy, dz,
             _dot(rest[0], rest[1], rest[2], x, y, z, 0.0))),
        _dot(axes[3], axes[4], axes[5], x, y, z, _dot(axes[3], axes[4], axes[5], dx, dy, dz,
             _dot(rest[3], rest[4], rest[5], x, y, z, 0.0))),
        _dot(axes[6], axes[7], axes[8], x, y, z, _dot(axes[6], axes[7], axes[8], dx, dy, dz,
             _dot(rest[6], rest[7], rest[8], x, y, z, 0.0))),
    )  # fmt: skip


@_compiled
def _out_of(origin, axes, rest, a, b, d):
    """Convert local to ECEF: origin + transposed axes times the point."""
    return (
        _dot(axes[0], axes[3], axes[6], a, b, d, origin[0] + _dot(rest[0], rest[3], rest[6], a, b, d, 0.0)),
        _dot(axes[1], axes[4], axes[7], a, b, d, origin[1] + _dot(rest[1], rest[4], rest[7], a, b, d, 0.0)),
        _dot(axes[2], axes[5], axes[8], a, b, d, origin[2] + _dot(rest[2], rest[5], rest[8], a, b, d, 0.0)),
    )


# ------------------------------------------------------------------------------------------------ careful arithmetic


@intrinsic
def _fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a b + c, rounded once."""
    signature = types.float64(types.float64, types.float64, types.float64)
    return signature, lambda context, builder, signature, arguments: builder.fma(*arguments)


@_compiled
def _dot(a, b, c, x, y, z, start):
    return _fma(a, x, _fma(b, y, _fma(c, z, start)))


@_compiled
def _difference(a, b):
    """Return a - b and its rounding error. Knuth, The Art of Computer Programming 2, theorem 4.2.2B."""
    d = a - b
    e = d - a
    return d, (a - (d - e)) - (b + e)


@_compiled
def _times(a, b):
    """Return the product of two double-doubles."""
    p = a[0] * b[0]
    rest = _fma(a[0], b[0], -p) + (a[0] * b[1] + a[1] * b[0])
    total = p + rest
    return total, rest - (total - p)


@_compiled
def _minus(a):
    return -a[0], -a[1]


@_compiled
def _direction(s, c):
    """Scale (s, c) to length 1."""
    scale = 1.0 / math.sqrt(s * s + c * c)
    return s * scale, c * scale


@_compiled
def _unit(s, c):
    """Correct an almost unit (s, c), so that only the rounding of its components remains."""
    lack = 0.5 * _fma(-s, s, _fma(-c, c, 1.0))
    return _fma(s, lack, s), _fma(c, lack, c)


@_compiled
def _unit_pair(s, c):
    """Correct as _unit does, with the corrections as the second parts of two double-doubles."""
    square_s, square_c = s * s, c * c
    left = (1.0 - max(square_s, square_c)) - min(square_s, square_c)  # in this order without rounding
    lack = 0.5 * (left - (_fma(s, s, -square_s) + _fma(c, c, -square_c)))
    return (s, s * lack), (c, c * lack)


@_compiled
def _sin_cos(degrees):
    """Return sine and cosine, exact at multiples of 90: the quadrant is subtracted in degrees, where that is exact."""
    quarter = np.rint(degrees / 90.0)
    small = degrees - 90.0 * quarter
    angle = small * _RADIANS
    rest = _fma(small, _RADIANS, -angle) + small * _RADIANS_REST
    s, c = math.sin(angle), math.cos(angle)
    s, c = s + c * rest, c - s * rest
    turns = int(quarter) & 3
    if turns == 0:
        return s, c
    if turns == 1:
        return c, -s
    if turns == 2:
        return -s, -c
    return -c, s


@_compiled
def _atan2(y, x):
    """Return the angle of (x, y) in degrees, in [-180, 180]; 0 for (0, 0)."""
    ay, ax = abs(y), abs(x)
    if ay > ax:
        angle = math.atan(ax / ay)
        degrees = 90.0 - _fma(angle, _DEGREES, angle * _DEGREES_REST)
    elif ax + ay == 0.0:
        degrees = 0.0
    else:
        angle = math.atan(ay / ax)
        degrees = _fma(angle, _DEGREES, angle * _DEGREES_REST)
    if x < 0.0:
        degrees = 180.0 - degrees
    return math.copysign(degrees, y)


# ----------------------------------------------------------------------------------------------------- the loops

# Points are typed as read-only, so that one signature accepts read-only and writable arrays.
_POINTS, _OUT, _NUMBER = types.Array(types.float64, 1, "C", readonly=True), types.float64[::1], types.float64
_globally = kernel(types.int64(_POINTS, _OUT), **_OPTIONS)
_locally = kernel(types.int64(_POINTS, _OUT, _NUMBER, _NUMBER, _NUMBER, types.boolean), **_OPTIONS)


@_globally
def lla_to_ecef(points, out):
    """Convert degrees, degrees, metres to metres. Stop at a point off Earth."""
    for i in range(0, points.size, 3):
        latitude, longitude, altitude = points[i], points[i + 1], points[i + 2]
        if _off_earth(latitude, longitude):
            return i // 3
        out[i], out[i + 1], out[i + 2] = _ecef_of(latitude, longitude, altitude)
    return -1


@_globally
def ecef_to_lla(points, out):
    """Convert metres to degrees, degrees, metres. Stop at a point near Earth's centre."""
    for i in range(0, points.size, 3):
        x, y, z = points[i], points[i + 1], points[i + 2]
        if _too_deep(x, y, z):
            return i // 3
        out[i], out[i + 1], out[i + 2] = _lla_of(x, y, z)
    return -1


@_locally
def lla_to_local(points, out, latitude, longitude, altitude, down):
    """Convert LLA to ENU about the given origin, or to NED if `down`. Stop at a point off Earth."""
    origin, axes, rest = _local_frame(latitude, longitude, altitude, down)
    for i in range(0, points.size, 3):
        if _off_earth(points[i], points[i + 1]):
            return i // 3
        x, y, z = _ecef_of(points[i], points[i + 1], points[i + 2])
        out[i], out[i + 1], out[i + 2] = _into(origin, axes, rest, x, y, z)
    return -1


@_locally
def ecef_to_local(points, out, latitude, longitude, altitude, down):
    """Convert ECEF to ENU about the given origin, or to NED if `down`."""
    origin, axes, rest = _local_frame(latitude, longitude, altitude, down)
    for i in range(0, points.size, 3):
        out[i], out[i + 1], out[i + 2] = _into(origin, axes, rest, points[i], points[i + 1], points[i + 2])
    return -1


@_locally
def local_to_ecef(points, out, latitude, longitude, altitude, down):
    """Convert ENU about the given origin, or NED if `down`, to ECEF."""
    origin, axes, rest = _local_frame(latitude, longitude, altitude, down)
    for i in range(0, points.size, 3):
        out[i], out[i + 1], out[i + 2] = _out_of(origin, axes, rest, points[i], points[i + 1], points[i + 2])
    return -1


@_locally
def local_to_lla(points, out, latitude, longitude, altitude, down):
    """Convert ENU about the given origin, or NED if `down`, to LLA. Stop at a point near Earth's centre."""
    origin, axes, rest = _local_frame(latitude, longitude, altitude, down)
    for i in range(0, points.size, 3):
        x, y, z = _out_of(origin, axes, rest, points[i], points[i + 1], points[i + 2])
        if _too_deep(x, y, z):
            return i // 3
        out[i], out[i + 1], out[i + 2] = _lla_of(x, y, z)
    return -1
