"""FrameState: how frames really move, which is what sensors measure. Any engine can fill it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sim_node.geometry import poses, quaternions
from sim_node.geometry.arrays import FloatArray

# Standard gravity: 3rd General Conference on Weights and Measures, 1901.
STANDARD_GRAVITY = 9.80665


def _standard_gravity() -> FloatArray:
    return np.array([0.0, 0.0, -STANDARD_GRAVITY])


@dataclass(frozen=True, slots=True, eq=False)
class FrameState:
    """S frames in the fixed frame (ENU), which is taken as inertial: Earth does not turn under it.

    pose (S, 7) [x y z qx qy qz qw], of the frame in the fixed frame.
    twist (S, 6) [linear, angular], m/s and rad/s: velocity of the frame's origin and rate of its axes, both with
    components along the fixed frame's axes.
    acceleration (S, 6) [linear, angular], m/s² and rad/s²: their time derivatives, along the same axes.
    gravity (3,) or (S, 3), m/s²: what a free fall accelerates by there, along the same axes.
    """

    pose: FloatArray
    twist: FloatArray
    acceleration: FloatArray
    gravity: FloatArray = field(default_factory=_standard_gravity)

    def rows(self, rows: slice) -> FrameState:
        """The state of some of the frames."""
        gravity = self.gravity if self.gravity.ndim == 1 else self.gravity[rows]
        return FrameState(self.pose[rows], self.twist[rows], self.acceleration[rows], gravity)

    def to_frame(self, vectors: FloatArray) -> FloatArray:
        """Vectors (..., S, 3) along the fixed frame's axes, along each frame's own."""
        return quaternions.rotate(quaternions.conjugate(self.pose[:, 3:]), vectors)

    def at(self, mounting: FloatArray) -> FrameState:
        """The state of frames fixed to these at poses `mounting` (S, 7) or (7,), lever arms included.

        v' = v + w x r and a' = a + dw/dt x r + w x (w x r): Goldstein, Classical Mechanics, section 4.10.
        """
        arm = quaternions.rotate(self.pose[:, 3:], mounting[..., :3])
        turn, spin = self.twist[:, 3:], self.acceleration[:, 3:]
        around = np.cross(turn, arm)
        twist, acceleration = np.array(self.twist), np.array(self.acceleration)
        twist[:, :3] += around
        acceleration[:, :3] += np.cross(spin, arm) + np.cross(turn, around)
        return FrameState(poses.compose(self.pose, mounting), twist, acceleration, self.gravity)
