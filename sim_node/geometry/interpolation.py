"""Motion between poses: along the shortest arc, and smoothly through many knots.

`u` runs from 0 at the first knot to 1 at the second, has the shape (...) of the leading axes it broadcasts
with, and is not clipped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray, as_rows


def slerp(a: npt.ArrayLike, b: npt.ArrayLike, u: npt.ArrayLike) -> FloatArray:
    """Interpolate along the shorter great arc from `a` to `b`, at constant angular velocity.

    a, b: (..., 4) unit quaternions [x, y, z, w]; u: (...).
    Returns (..., 4), unit to 1e-15 where a and b are, exactly `a` at u = 0 and `b` (or -b) at u = 1.
    Where a.b rounds to 1 (turns below 3e-8 rad) the arc is its chord: the two differ by less than one ulp.
    Shoemake, Animating rotation with quaternion curves, SIGGRAPH 1985.
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
    """Interpolate poses (..., 7): positions along the straight line, orientations by slerp.

    Returns (..., 7), written to `out` if given (which may be `pa` or `pb`). Exactly `pa` at u = 0 and `pb` (its
    quaternion perhaps negated) at u = 1; a position that both poses share stays exactly as it is.
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


def smooth_tangents(times_s: npt.ArrayLike, poses: npt.ArrayLike, closed: bool) -> FloatArray:
    """Return the velocities (K, 6) at which a smooth motion passes the knots, for `smooth`.

    times_s: (K,) seconds, strictly increasing, evenly spaced or not; poses: (K, 7).
    A row is [linear velocity in the parent's axes (m/s), angular velocity in the child's axes (rad/s)].
    closed: the last pose is the first again and the motion goes round, with one velocity at both. Open ends
    move at the mean velocity of their interval, so two knots give constant velocity.
    Raises ValueError for fewer than two knots, times that do not increase, or a closed motion with a gap.
    """
    poses = as_rows(poses, 7, "poses")
    return np.concatenate(
        [
            catmull_rom_tangents(poses[:, :3], times_s, closed),
            catmull_rom_angular_velocities(poses[:, 3:], times_s, closed),
        ],
        axis=-1,
    )


def smooth(
    pa: npt.ArrayLike, pb: npt.ArrayLike, ta: npt.ArrayLike, tb: npt.ArrayLike, dt: npt.ArrayLike, u: npt.ArrayLike
) -> FloatArray:
    """Return the pose (..., 7) at fraction u (...) of the way between two knots that lie dt (...) seconds apart.

    pa, pb: (..., 7) the knots' poses; ta, tb: (..., 6) their velocities as smooth_tangents gives them. Position and
    velocity, linear and angular, are continuous in time across knots of any spacing. Exactly `pa` at u = 0 and `pb`
    (its quaternion perhaps negated) at u = 1.
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


def catmull_rom_tangents(points: npt.ArrayLike, times: npt.ArrayLike, closed: bool) -> FloatArray:
    """Return the velocities (K, D) of a Catmull-Rom spline through points (K, D) at times (K,), evenly spaced or not.

    Inside, the velocity of the parabola through three neighbours; at an open end, the mean of its interval.
    Barry & Goldman, A recursive evaluation algorithm for a class of Catmull-Rom splines, SIGGRAPH 1988.
    Raises ValueError as smooth_tangents does.
    """
    points = np.asarray(points, dtype=np.float64)
    steps = _steps(times, len(points))
    if closed and not np.allclose(points[0], points[-1], rtol=0.0, atol=1e-6):
        raise ValueError(f"closed motion: starts at {points[0].tolist()} and ends at {points[-1].tolist()}, needs one")
    return _knot_velocities(np.diff(points, axis=0) / steps[:, None], steps, closed)


def catmull_rom_angular_velocities(qs: npt.ArrayLike, times: npt.ArrayLike, closed: bool) -> FloatArray:
    """Return the angular velocities (K, 3), in the child's axes, of a smooth rotation through qs (K, 4) at times (K,).

    The weights of catmull_rom_tangents on the mean angular velocities of the shortest arcs; an arc's axis is the
    same seen from both its ends. Raises ValueError as smooth_tangents does.
    """
    qs = as_rows(qs, 4, "quaternions")
    steps = _steps(times, len(qs))
    if closed and (gap := float(quaternions.angle_between(qs[0], qs[-1]))) > 1e-6:
        raise ValueError(f"closed motion: orientations at start and end are {gap:.3g} rad apart, needs one orientation")
    arcs = quaternions.log(quaternions.multiply(quaternions.conjugate(qs[:-1]), qs[1:]))
    return _knot_velocities(arcs / steps[:, None], steps, closed)


def _knot_velocities(means: FloatArray, steps: FloatArray, closed: bool) -> FloatArray:
    """Return velocities (K, D) at the knots from the mean velocities (K-1, D) and lengths (K-1,) of the intervals."""
    velocities = np.empty((len(means) + 1, means.shape[1]))
    before, after = steps[:-1, None], steps[1:, None]
    velocities[1:-1] = (after * means[:-1] + before * means[1:]) / (before + after)
    velocities[0], velocities[-1] = means[0], means[-1]
    if closed:
        seam = (steps[0] * means[-1] + steps[-1] * means[0]) / (steps[0] + steps[-1])
        velocities[0] = velocities[-1] = seam
    return velocities


def _steps(times: npt.ArrayLike, knots: int) -> FloatArray:
    times = np.asarray(times, dtype=np.float64)
    if times.shape != (knots,) or knots < 2:
        raise ValueError(f"knots: {knots} with times of shape {times.shape}, needs two or more and one time for each")
    steps = np.diff(times)
    if not np.all(steps > 0.0):
        i = int(np.argmin(steps > 0.0))
        raise ValueError(f"times[{i + 1}]: {times[i + 1]} after {times[i]}, needs strictly increasing times")
    return steps


def _unwound(vector: FloatArray, expected: FloatArray) -> FloatArray:
    """Add the whole turns about its own axis that bring a rotation vector (..., 3) closest to `expected`."""
    angle = np.sqrt(np.einsum("...i,...i->...", vector, vector))
    axis = vector / np.where(angle > 0.0, angle, 1.0)[..., None]
    turns = np.round((np.einsum("...i,...i->...", axis, expected) - angle) / (2.0 * np.pi))
    return np.asarray(vector + (2.0 * np.pi * turns)[..., None] * axis)
