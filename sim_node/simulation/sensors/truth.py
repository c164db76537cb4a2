"""FrameState: the true motion of frames, which sensors measure; from an engine, or from poses over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.frame_table import FrameTable

# Standard gravity: 3rd General Conference on Weights and Measures, 1901.
STANDARD_GRAVITY = 9.80665
DOWN: FloatArray = np.array([0.0, 0.0, -STANDARD_GRAVITY])
DOWN.flags.writeable = False


@dataclass(slots=True, eq=False)
class FrameState:
    """The motion of S frames in the fixed frame (ENU), which is treated as inertial: Earth's rotation is neglected.

    A run allocates the arrays once and fills them in place.

    Attributes:
        pose: Poses (S, 7) [x y z qx qy qz qw] of the frames in the fixed frame, m.
        twist: Twists (S, 6) [linear, angular], m/s and rad/s: velocity of the frame's origin and angular velocity, both
            along the fixed frame's axes.
        acceleration: Their time derivatives (S, 6) [linear, angular], m/s² and rad/s², along the fixed frame's axes.
        gravity: Acceleration of free fall (S, 3) along the fixed frame's axes, m/s²; (3,) is broadcast.
        time_ns: Simulation time, ns, for sensors that depend on the time between measurements.
    """

    pose: FloatArray
    twist: FloatArray
    acceleration: FloatArray
    gravity: FloatArray = field(default_factory=lambda: DOWN)
    time_ns: int = 0

    def __post_init__(self) -> None:
        if np.shape(self.gravity) != (len(self.pose), 3):
            self.gravity = np.array(np.broadcast_to(self.gravity, (len(self.pose), 3)), dtype=np.float64)
        for part in ("pose", "twist", "acceleration", "gravity"):
            # Kernels need contiguous float64 arrays; an array that is one already is not copied.
            setattr(self, part, np.ascontiguousarray(getattr(self, part), dtype=np.float64))

    @classmethod
    def at_rest(cls, frames: int, gravity: npt.ArrayLike = DOWN) -> FrameState:
        """Return the state of frames at rest at the fixed frame's origin.

        Args:
            frames: Number S of frames.
            gravity: Acceleration of free fall (3,) or (S, 3), m/s².

        Returns:
            The state, with arrays of its own.
        """
        twist, acceleration = np.zeros((2, frames, 6))
        return cls(np.tile(poses.IDENTITY, (frames, 1)), twist, acceleration, np.asarray(gravity, dtype=np.float64))

    def rows(self, rows: slice) -> FrameState:
        """Return the state of some of the frames, as views of the same arrays.

        Args:
            rows: The rows of the frames.

        Returns:
            Their state.
        """
        return FrameState(self.pose[rows], self.twist[rows], self.acceleration[rows], self.gravity[rows], self.time_ns)

    def to_frame(self, vectors: FloatArray) -> FloatArray:
        """Rotate vectors from the fixed frame's axes to each frame's own.

        Args:
            vectors: Vectors (..., S, 3) along the fixed frame's axes.

        Returns:
            Vectors (..., S, 3) along the frames' axes.
        """
        return quaternions.rotate(quaternions.conjugate(self.pose[:, 3:]), vectors)

    def from_frame(self, vectors: FloatArray) -> FloatArray:
        """Rotate vectors from each frame's own axes to the fixed frame's.

        Args:
            vectors: Vectors (..., S, 3) along the frames' axes.

        Returns:
            Vectors (..., S, 3) along the fixed frame's axes.
        """
        return quaternions.rotate(self.pose[:, 3:], vectors)

    def pairs_to_frame(self, pairs: FloatArray) -> FloatArray:
        """Rotate two vectors per row from the fixed frame's axes to each frame's own.

        Args:
            pairs: Pairs of vectors (S, 6), such as twists, along the fixed frame's axes.

        Returns:
            The pairs (S, 6) along the frames' axes.
        """
        return quaternions.rotate(quaternions.conjugate(self.pose[:, None, 3:]), pairs.reshape(-1, 2, 3)).reshape(-1, 6)

    def at(self, mounting: FloatArray) -> FrameState:
        """Return the state of frames that are fixed to these, lever arms included.

        Args:
            mounting: Their poses (S, 7) or (7,) in these frames, m.

        Returns:
            Their state in the fixed frame.
        """
        there = FrameState.at_rest(len(self.pose))
        there.pose[:] = mounting
        return self.carrying(there)

    def carrying(self, riders: FrameState) -> FrameState:
        """Return the state of frames that move relative to these.

        v' = v + w x r + u and a' = a + dw/dt x r + w x (w x r) + 2 w x u + du/dt, where r is the position and u the
        velocity of a rider relative to its frame; w' = w + q and dw'/dt = dw/dt + w x q + dq/dt, where q is its
        relative angular velocity: Goldstein, Classical Mechanics, sections 4.9 and 4.10.

        Args:
            riders: The state of the riders relative to these frames, along these frames' axes; its gravity is not used.

        Returns:
            Their state in the fixed frame.
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


# Span of finite differences: short enough for the motion of any vehicle, and long enough that the rounding error of a
# position 1 km away, divided by its square, stays below 1e-6 m/s².
SPAN_NS = 1_000_000

# Writes the poses of moving frames in their parents to their rows of an array (K, N, 7), at times (K,) in ns from now.
WriteInstants = Callable[[FloatArray, IntArray], None]


class Stencil(NamedTuple):
    """Instants, in spans from now, and the weights of the mean velocities between them in the current derivatives."""

    instants: tuple[int, ...]
    velocity: tuple[float, ...]
    acceleration: tuple[float, ...]


# Both have errors that grow with the square of the span. Fornberg, Generation of finite difference formulas on
# arbitrarily spaced grids, Mathematics of Computation 51(184), 1988.
CENTRAL = Stencil((-1, 0, 1), (0.5, 0.5), (-1.0, 1.0))
FORWARD = Stencil((0, 1, 2, 3), (15 / 8, -10 / 8, 3 / 8), (-2.0, 3.0, -1.0))


class Differences:
    """The FrameState of frames by finite differences over 1 ms: central, but forward at the start of a run.

    Exact for constant linear and angular acceleration; otherwise the error is span²/12 times the second derivative of
    the acceleration, 1e-7 m/s² where that is 1 m/s⁴, and eleven times that at the start. At a corner of a motion, where
    velocity jumps, the acceleration is the jump divided by the span. `smooth` and `catmull_rom` have no corners, but
    their acceleration jumps at keyframes: there it is the mean of the two sides.

    chains: for each frame, its row and those of its ancestors. The state is relative to the parent of the last one, and
    along the axes of that parent.
    """

    def __init__(self, frames: FrameTable, chains: Sequence[Sequence[int]]) -> None:
        rows = sorted({row for chain in chains for row in chain})
        place = {row: at for at, row in enumerate(rows)}
        parents = np.array([place.get(int(frames.parents[row]), -1) for row in rows], dtype=np.int32)
        # Only the frames on the chains are composed.
        self._rows = np.array(rows, dtype=np.intp)
        self._table = FrameTable(tuple(frames.names[row] for row in rows), parents, frames.static[self._rows])
        self._wanted = np.array([place[chain[0]] for chain in chains], dtype=np.intp)
        self._frames = len(frames)

    def state(self, write: WriteInstants, poses: FloatArray, *, begins: bool = False) -> FrameState:
        """Return the present state of a motion that `write` evaluates; poses (N, 7) holds those of static frames."""
        stencil = FORWARD if begins else CENTRAL
        instants = np.empty((len(stencil.instants), self._frames, 7))
        instants[:] = poses
        write(instants, np.array(stencil.instants) * SPAN_NS)
        return state_of(self._table.in_root(instants[:, self._rows])[:, self._wanted], SPAN_NS * 1e-9, stencil)


def state_of(poses: FloatArray, span: float, stencil: Stencil = CENTRAL) -> FrameState:
    """Return the state of frames from poses (K, S, 7) in the fixed frame at the instants of a stencil, span in s."""
    start, end = poses[:-1], poses[1:]
    between = np.empty((*start.shape[:2], 6))
    between[..., :3] = end[..., :3] - start[..., :3]
    between[..., 3:] = quaternions.log(quaternions.multiply(end[..., 3:], quaternions.conjugate(start[..., 3:])))
    between /= span
    twist = np.einsum("k,ksd->sd", stencil.velocity, between)
    acceleration = np.einsum("k,ksd->sd", stencil.acceleration, between) / span
    return FrameState(np.array(poses[stencil.instants.index(0)]), twist, acceleration)
