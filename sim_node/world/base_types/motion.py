"""Exact planar motion at a constant twist: arcs."""

from __future__ import annotations

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray


def arcs(twists: FloatArray, seconds: float) -> FloatArray:
    """Return the displacement of a base that moves at a constant twist: the exponential of SE(2).

    Args:
        twists: Twists (K, 3) [vx vy wz] along the base's axes, m/s and rad/s.
        seconds: Duration, s.

    Returns:
        Displacements (K, 3) [x y yaw] along the initial axes of the base, m and rad.
    """
    vx, vy, turn = twists[:, 0] * seconds, twists[:, 1] * seconds, twists[:, 2] * seconds
    half = 0.5 * turn
    # The chord is sinc(half) times the arc, at half the angle.
    chord = np.sinc(half / np.pi)
    cos, sin = chord * np.cos(half), chord * np.sin(half)
    return np.stack([vx * cos - vy * sin, vx * sin + vy * cos, turn], axis=1)


def advance(poses: FloatArray, displacements: FloatArray) -> None:
    """Move poses (K, 3) [x y yaw] in place by displacements (K, 3) in their own axes. Yaws are not wrapped."""
    cos, sin = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    poses[:, 0] += cos * displacements[:, 0] - sin * displacements[:, 1]
    poses[:, 1] += sin * displacements[:, 0] + cos * displacements[:, 1]
    poses[:, 2] += displacements[:, 2]
