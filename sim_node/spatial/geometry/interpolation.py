"""Motion between two poses: along the shortest arc, or along the cubic with given velocities at both.

`u` runs from 0 at the first knot to 1 at the second, has the shape (...) of the leading axes it broadcasts
with, and is not clipped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, as_rows


def slerp(a: npt.ArrayLike, b: npt.ArrayLike, u: npt.ArrayLike) -> FloatArray:
    """Interpolate along the shorter great arc from `a` to `b`, at constant angular velocity.

    If a.b rounds to 1 (angles below 3e-8 rad), the arc is its chord: the two differ by less than one ulp.
    Shoemake, Animating rotation with quaternion curves, SIGGRAPH 1985.

    Args:
        a: Unit quaternions (..., 4) [x, y, z, w].
        b: Unit quaternions (..., 4) [x, y, z, w].
        u: Fractions (...), not clipped.

    Returns:
        Quaternions (..., 4), unit to 1e-15 if a and b are; exactly `a` at u = 0 and `b` (or -b) at u = 1.
    """
    a, b = as_rows(a, 4, "quaternion"), as_rows(b, 4, "quaternion")
    u = np.asarray(u, dtype=np.float64)
    rest = 1.0 - u
    dot = np.einsum("...i,...i->...", a, b)
    cosine = np.minimum(np.abs(dot), 1.0)
    # The arccosine's loss near 1 does no harm: the weights depend on the angle only through its square.
    angle = np.arccos(cosine)
    chord = angle == 0.0
    sine = np.where(chord, 1.0, np.sin(angle))
    weight_a = np.where(chord, rest, np.sin(rest * angle) / sine)
    weight_b = np.where(chord, u, np.sin(u * angle) / sine)
    weight_b = np.where(dot < 0.0, -weight_b, weight_b)
    return np.asarray(weight_a[..., None] * a + weight_b[..., None] * b)


def interpolate(pa: npt.ArrayLike, pb: npt.ArrayLike, u: npt.ArrayLike, out: FloatArray | None = None) -> FloatArray:
    """Interpolate positions linearly and orientations by slerp.

    Args:
        pa: Poses (..., 7) [x y z qx qy qz qw].
        pb: Poses (..., 7) [x y z qx qy qz qw].
        u: Fractions (...), not clipped.
        out: An array (..., 7) to write to, which may be `pa` or `pb`.

    Returns:
        Poses (..., 7): exactly `pa` at u = 0 and `pb` (its quaternion perhaps negated) at u = 1. A position that both
        poses share is returned exactly.
    """
    pa, pb = as_rows(pa, 7, "pose"), as_rows(pb, 7, "pose")
    u = np.asarray(u, dtype=np.float64)
    orientation = slerp(pa[..., 3:], pb[..., 3:], u)
    along, start, end = u[..., None], pa[..., :3], pb[..., :3]
    position = np.where(along == 1.0, end, start + along * (end - start))
    if out is None:
        out = np.empty((*orientation.shape[:-1], 7))
    out[..., :3] = position
    out[..., 3:] = orientation
    return out


def hermite_pose(
    pa: npt.ArrayLike, pb: npt.ArrayLike, ta: npt.ArrayLike, tb: npt.ArrayLike, dt: npt.ArrayLike, u: npt.ArrayLike
) -> FloatArray:
    """Interpolate between two poses with given velocities at both.

    Position and velocity, linear and angular, are continuous in time across knots of any spacing; accelerations are
    not.

    Args:
        pa: Poses (..., 7) [x y z qx qy qz qw] at the first knot.
        pb: Poses (..., 7) [x y z qx qy qz qw] at the second knot.
        ta: Velocities (..., 6) at the first knot, from `sim_node.spatial.geometry.tangents`.
        tb: Velocities (..., 6) at the second knot, likewise.
        dt: Time between the knots (...), s.
        u: Fractions (...), not clipped.

    Returns:
        Poses (..., 7): exactly `pa` at u = 0 and `pb` (its quaternion perhaps negated) at u = 1.
    """
    pa, pb = as_rows(pa, 7, "pose"), as_rows(pb, 7, "pose")
    step = np.asarray(dt, dtype=np.float64)[..., None]
    ma, mb = as_rows(ta, 6, "tangent") * step, as_rows(tb, 6, "tangent") * step
    position = hermite(pa[..., :3], pb[..., :3], ma[..., :3], mb[..., :3], u)
    orientation = hermite_rotation(pa[..., 3:], pb[..., 3:], ma[..., 3:], mb[..., 3:], u)
    return np.concatenate([position, orientation], axis=-1)


def hermite(p0: npt.ArrayLike, p1: npt.ArrayLike, m0: npt.ArrayLike, m1: npt.ArrayLike, u: npt.ArrayLike) -> FloatArray:
    """Return the cubic (..., D) from p0 at u = 0 to p1 at u = 1 with derivatives m0, m1 by u there.

    Exactly p0 and p1 at the ends. A velocity becomes a derivative by u when multiplied by the knots' spacing.
    """
    u = np.asarray(u, dtype=np.float64)[..., None]
    rest = 1.0 - u
    p0, p1, m0, m1 = (np.asarray(value, dtype=np.float64) for value in (p0, p1, m0, m1))
    blend = u * u * (3.0 - 2.0 * u)
    return np.asarray((1.0 - blend) * p0 + blend * p1 + u * rest * (rest * m0 - u * m1))


def hermite_rotation(
    q0: npt.ArrayLike, q1: npt.ArrayLike, w0: npt.ArrayLike, w1: npt.ArrayLike, u: npt.ArrayLike
) -> FloatArray:
    """Return the rotation (..., 4) from q0 at u = 0 to q1 at u = 1, turning by w0, w1 (..., 3) per u there.

    w0, w1: rotation vectors in the child's axes. About one fixed axis it is `hermite` of the angle.
    The cubic Bezier curve in cumulative form: squad (Shoemake 1987) has no knob for uneven spacing and so would
    turn at one rate into a knot and at another out of it.
    Kim, Kim & Shin, A general construction scheme for unit quaternion curves with simple high order
    derivatives, SIGGRAPH 1995.
    """
    q0, q1 = as_rows(q0, 4, "quaternion"), as_rows(q1, 4, "quaternion")
    first, last = as_rows(w0, 3, "rotation vector") / 3.0, as_rows(w1, 3, "rotation vector") / 3.0
    u = np.asarray(u, dtype=np.float64)[..., None]
    arc = quaternions.multiply(quaternions.conjugate(q0), q1)
    middle = quaternions.log(
        quaternions.multiply(quaternions.exp(-first), quaternions.multiply(arc, quaternions.exp(-last)))
    )
    middle = _unwound(middle, quaternions.log(arc) - first - last)
    q = quaternions.multiply(q0, quaternions.exp((1.0 - (1.0 - u) ** 3) * first))
    q = quaternions.multiply(q, quaternions.exp(u * u * (3.0 - 2.0 * u) * middle))
    q = quaternions.multiply(q, quaternions.exp(u**3 * last))
    return np.where(u == 1.0, quaternions.aligned(q1, q), q)


def _unwound(vector: FloatArray, expected: FloatArray) -> FloatArray:
    """Add the whole turns about its own axis that bring a rotation vector (..., 3) closest to `expected`."""
    angle = np.sqrt(np.einsum("...i,...i->...", vector, vector))
    axis = vector / np.where(angle > 0.0, angle, 1.0)[..., None]
    turns = np.round((np.einsum("...i,...i->...", axis, expected) - angle) / (2.0 * np.pi))
    return np.asarray(vector + (2.0 * np.pi * turns)[..., None] * axis)
