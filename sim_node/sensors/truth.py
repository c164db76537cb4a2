"""FrameState: how frames really move, which is what sensors measure. Any engine can fill it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sim_node.geometry import poses, quaternions
from sim_node.geometry.arrays import FloatArray

# Standard gravity: 3rd General Conference on Weights and Measures, 1901.
STANDARD_GRAVITY = 9.80665
DOWN: FloatArray = np.array([0.0, 0.0, -STANDARD_GRAVITY])
DOWN.flags.writeable = False


@dataclass(slots=True, eq=False)
class FrameState:
    """S frames in the fixed frame (ENU), which is taken as inertial: Earth does not turn under it.

    pose (S, 7) [x y z qx qy qz qw], of the frame in the fixed frame.
    twist (S, 6) [linear, angular], m/s and rad/s: velocity of the frame's origin and rate of its axes, both with
    components along the fixed frame's axes.
    acceleration (S, 6) [linear, angular], m/s² and rad/s²: their time derivatives, along the same axes.
    gravity (S, 3), m/s²: what a free fall accelerates by there, along the same axes; given as (3,), of all frames.
    time_ns: when; for what sensors work out between two readings.

    A run lays the arrays out once and fills them in place.
    """

    pose: FloatArray
    twist: FloatArray
    acceleration: FloatArray
    gravity: FloatArray = field(default_factory=lambda: DOWN)
    time_ns: int = 0

    def __post_init__(self) -> None:
        self.gravity = np.broadcast_to(self.gravity, (len(self.pose), 3))
        for part in ("pose", "twist", "acceleration", "gravity"):
            # As kernels take them; what is so already stays the caller's own array.
            setattr(self, part, np.ascontiguousarray(getattr(self, part), dtype=np.float64))

    @classmethod
    def at_rest(cls, frames: int, gravity: npt.ArrayLike = DOWN) -> FrameState:
        """So many frames that stand still where the fixed frame is."""
        twist, acceleration = np.zeros((2, frames, 6))
        return cls(np.tile(poses.IDENTITY, (frames, 1)), twist, acceleration, np.asarray(gravity, dtype=np.float64))

    def rows(self, rows: slice) -> FrameState:
        """Some of the frames, on the same arrays."""
        return FrameState(self.pose[rows], self.twist[rows], self.acceleration[rows], self.gravity[rows], self.time_ns)

    def to_frame(self, vectors: FloatArray) -> FloatArray:
        """Vectors (..., S, 3) along the fixed frame's axes, along each frame's own."""
        return quaternions.rotate(quaternions.conjugate(self.pose[:, 3:]), vectors)

    def from_frame(self, vectors: FloatArray) -> FloatArray:
        """Vectors (..., S, 3) along each frame's axes, along the fixed frame's."""
        return quaternions.rotate(self.pose[:, 3:], vectors)

    def at(self, mounting: FloatArray) -> FrameState:
        """The state of frames fixed to these at poses `mounting` (S, 7) or (7,), lever arms included."""
        there = FrameState.at_rest(len(self.pose))
        there.pose[:] = mounting
        return self.carrying(there)

    def carrying(self, riders: FrameState) -> FrameState:
        """The state of frames that move on these; riders: their state as seen from these, along these frames' axes.

        v' = v + w x r + u and a' = a + dw/dt x r + w x (w x r) + 2 w x u + du/dt, where r is the arm and u the
        velocity along it; w' = w + q and dw'/dt = dw/dt + w x q + dq/dt, where q is the rate of turn on it:
        Goldstein, Classical Mechanics, sections 4.9 and 4.10.
        """
        arm = self.from_frame(riders.pose[:, :3])
        velocity, rate = self.from_frame(riders.twist.reshape(-1, 2, 3).swapaxes(0, 1))
        push, spin_up = self.from_frame(riders.acceleration.reshape(-1, 2, 3).swapaxes(0, 1))
        turn, spin = self.twist[:, 3:], self.acceleration[:, 3:]
        around = np.cross(turn, arm)
        twist, acceleration = np.array(self.twist), np.array(self.acceleration)
        twist[:, :3] += around + velocity
        twist[:, 3:] += rate
        acceleration[:, :3] += np.cross(spin, arm) + np.cross(turn, around + 2.0 * velocity) + push
        acceleration[:, 3:] += np.cross(turn, rate) + spin_up
        return FrameState(poses.compose(self.pose, riders.pose), twist, acceleration, self.gravity, self.time_ns)
