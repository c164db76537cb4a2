"""Velocities of a curve at its knots: Catmull-Rom, and the shape-preserving ones of PCHIP."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray, as_rows


def catmull_rom_tangents(times_s: npt.ArrayLike, poses: npt.ArrayLike, closed: bool) -> FloatArray:
    """Return the velocities of a Catmull-Rom spline.

    Inside, they are those of the parabola through three neighbours; at an open end, the mean of its interval, so that
    two knots result in constant velocity. Rotations use the same weights of the mean angular velocities of the shortest
    arcs; the axis of an arc is the same from both ends. The curve may overshoot its knots.
    Barry & Goldman, A recursive evaluation algorithm for a class of Catmull-Rom splines, SIGGRAPH 1988.

    Args:
        times_s: Times (K,) of the knots (s), strictly increasing, with any spacing.
        poses: Poses (K, 7) [x y z qx qy qz qw] of the knots.
        closed: Whether the last pose equals the first and the motion repeats, with one velocity at both.

    Returns:
        Velocities (K, 6) for `hermite_pose`: linear along the parent's axes (m/s), angular along the child's axes
        (rad/s).

    Raises:
        ValueError: There are fewer than two knots, times do not increase, or a closed motion has a gap.
    """
    means, steps = _means(times_s, poses, closed)
    before, after = steps[:-1, None], steps[1:, None]
    inner = (after * means[:-1] + before * means[1:]) / (before + after)
    return inner if closed else np.concatenate([means[:1], inner, means[-1:]])


def pchip_tangents(times_s: npt.ArrayLike, poses: npt.ArrayLike, closed: bool) -> FloatArray:
    """Return the velocities of a shape-preserving curve.

    Positions are PCHIP on each axis: between two knots no coordinate leaves the range of the two. The velocity is zero
    where the mean velocities on both sides differ in sign, else their weighted harmonic mean; an open end uses the
    limited three-point formula. Fritsch & Butland, A method for constructing local monotone piecewise cubic
    interpolants, SIAM J. Sci. Stat. Comput. 5(2), 1984; Moler, Numerical Computing with MATLAB, SIAM 2004, 3.6.
    Rotations about one axis are PCHIP of the angle. In general, with a and b the mean angular velocities of the arcs
    on both sides, the rate is the same harmonic mean, along both axes in proportion to their weights, times the cosine
    of the angle between a and b, and zero where that is negative. It is at most three times the smaller of the two, is
    continuous in the poses, and depends neither on the parent's axes nor on the child's.

    Args:
        times_s: Times (K,) of the knots (s), strictly increasing, with any spacing.
        poses: Poses (K, 7) [x y z qx qy qz qw] of the knots.
        closed: Whether the last pose equals the first and the motion repeats, with one velocity at both.

    Returns:
        Velocities (K, 6) for `hermite_pose`: linear along the parent's axes (m/s), angular along the child's axes
        (rad/s).

    Raises:
        ValueError: There are fewer than two knots, times do not increase, or a closed motion has a gap.
    """
    means, steps = _means(times_s, poses, closed)
    weights = steps[:-1, None] + 2.0 * steps[1:, None], 2.0 * steps[:-1, None] + steps[1:, None]
    linear, angular = means[:, :3], means[:, 3:]
    inner = np.hstack([_harmonic(linear[:-1], linear[1:], *weights), _turning(angular, *weights)])
    if closed:
        return inner
    first, last = _end(means, steps), _end(means[::-1], steps[::-1])
    return np.concatenate([first[None], inner, last[None]])


def _harmonic(a: FloatArray, b: FloatArray, weight_a: FloatArray, weight_b: FloatArray) -> FloatArray:
    """Return the weighted harmonic means of a and b, zero where their signs differ."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        mean: FloatArray = (weight_a + weight_b) / (weight_a / a + weight_b / b)
    return np.where(((a > 0.0) & (b > 0.0)) | ((a < 0.0) & (b < 0.0)), mean, 0.0)


def _turning(means: FloatArray, weight_a: FloatArray, weight_b: FloatArray) -> FloatArray:
    """Return the rates (N, 3) between neighbouring ones of the mean angular velocities `means` (N + 1, 3)."""
    lengths = np.sqrt(np.einsum("ki,ki->k", means, means))[:, None]
    axes = means / np.where(lengths > 0.0, lengths, 1.0)
    a, b = axes[:-1], axes[1:]
    cosine = np.maximum(np.einsum("ki,ki->k", a, b), 0.0)[:, None]
    rate = _harmonic(lengths[:-1], lengths[1:], weight_a, weight_b)
    return np.asarray(cosine * rate / (weight_a + weight_b) * (weight_a * a + weight_b * b))


def _end(means: FloatArray, steps: FloatArray) -> FloatArray:
    """Return the velocity (6,) at the open end before means[0]: per axis, and about the axis of the first arc."""
    if len(means) == 1:
        return np.asarray(means[0])
    length = float(np.linalg.norm(means[0, 3:]))
    axis = means[0, 3:] / (length or 1.0)
    turns = means[:2, 3:] @ axis
    linear = _three_point(*means[:2, :3], *steps[:2])
    return np.concatenate([linear, _three_point(turns[:1], turns[1:], *steps[:2]) * axis])


def _three_point(first: FloatArray, second: FloatArray, step: float, next_step: float) -> FloatArray:
    """Return the slope of the parabola through the first three knots at its end, limited to avoid a new extremum."""
    slope = ((2.0 * step + next_step) * first - step * second) / (step + next_step)
    slope = np.where(np.sign(slope) == np.sign(first), slope, 0.0)
    steep = (np.sign(first) != np.sign(second)) & (np.abs(slope) > 3.0 * np.abs(first))
    return np.where(steep, 3.0 * first, slope)


def _means(times_s: npt.ArrayLike, poses: npt.ArrayLike, closed: bool) -> tuple[FloatArray, FloatArray]:
    """Return mean velocities (N, 6) and lengths (N,) of the intervals.

    A closed motion is extended by one interval at each end.
    """
    poses = as_rows(poses, 7, "poses")
    steps = _steps(times_s, len(poses))
    points, qs = poses[:, :3], poses[:, 3:]
    arcs = quaternions.log(quaternions.multiply(quaternions.conjugate(qs[:-1]), qs[1:]))
    means = np.hstack([np.diff(points, axis=0), arcs]) / steps[:, None]
    if not closed:
        return means, steps
    if not np.allclose(points[0], points[-1], rtol=0.0, atol=1e-6):
        raise ValueError(f"closed motion: starts at {points[0].tolist()} and ends at {points[-1].tolist()}, needs one")
    if (gap := float(quaternions.angle_between(qs[0], qs[-1]))) > 1e-6:
        raise ValueError(f"closed motion: orientations at start and end are {gap:.3g} rad apart, needs one orientation")
    return np.concatenate([means[-1:], means, means[:1]]), np.concatenate([steps[-1:], steps, steps[:1]])


def _steps(times: npt.ArrayLike, knots: int) -> FloatArray:
    times = np.asarray(times, dtype=np.float64)
    if times.shape != (knots,) or knots < 2:
        raise ValueError(f"knots: {knots} with times of shape {times.shape}, needs two or more and one time for each")
    steps = np.diff(times)
    if not np.all(steps > 0.0):
        i = int(np.argmin(steps > 0.0))
        raise ValueError(f"times[{i + 1}]: {times[i + 1]} after {times[i]}, needs strictly increasing times")
    return steps
