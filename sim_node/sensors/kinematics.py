"""How frames move, from their poses at neighbouring instants: truth for motions that are functions of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.sensors.truth import FrameState
from sim_node.world.frame_table import FrameTable

# Short enough for any vehicle's motion, long enough that a double's rounding of a position 1 km away, divided by its
# square, stays below 1e-6 m/s².
SPAN_NS = 1_000_000

# Writes the poses of moving frames in their parents to their rows of poses (K, N, 7), as they are so many nanoseconds
# from now (K,).
WriteInstants = Callable[[FloatArray, IntArray], None]


class Stencil(NamedTuple):
    """Instants, in spans from now, and what the velocities between neighbouring ones weigh in those of now."""

    instants: tuple[int, ...]
    velocity: tuple[float, ...]
    acceleration: tuple[float, ...]


# Both leave out what grows with the square of the span. Fornberg, Generation of finite difference formulas on
# arbitrarily spaced grids, Mathematics of Computation 51(184), 1988.
CENTRAL = Stencil((-1, 0, 1), (0.5, 0.5), (-1.0, 1.0))
FORWARD = Stencil((0, 1, 2, 3), (15 / 8, -10 / 8, 3 / 8), (-2.0, 3.0, -1.0))


class Differences:
    """The FrameState of some frames by differences over 1 ms: before and after, at the start of a run after only.

    Exact for constant acceleration and turn; what is left out else is span²/12 times the second derivative of the
    acceleration, 1e-7 m/s² where that is 1 m/s⁴, and eleven times that at the start. At a corner of a motion, where
    velocity jumps, the acceleration is the jump divided by the span. `smooth` and `catmull_rom` have no corners, but
    their acceleration jumps at keyframes: there it is the mean of the two sides.

    chains: for each frame its row and those above it; the state is in the parent of the last, along that one's axes.
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
        """The state now, of a motion that `write` evaluates; poses (N, 7) holds those of the frames that stand."""
        stencil = FORWARD if begins else CENTRAL
        instants = np.empty((len(stencil.instants), self._frames, 7))
        instants[:] = poses
        write(instants, np.array(stencil.instants) * SPAN_NS)
        return state_of(self._table.in_root(instants[:, self._rows])[:, self._wanted], SPAN_NS * 1e-9, stencil)


def state_of(poses: FloatArray, span: float, stencil: Stencil = CENTRAL) -> FrameState:
    """The state of frames with poses (K, S, 7) in the fixed frame at a stencil's instants, `span` seconds apart."""
    start, end = poses[:-1], poses[1:]
    between = np.empty((*start.shape[:2], 6))
    between[..., :3] = end[..., :3] - start[..., :3]
    between[..., 3:] = quaternions.log(quaternions.multiply(end[..., 3:], quaternions.conjugate(start[..., 3:])))
    between /= span
    twist = np.einsum("k,ksd->sd", stencil.velocity, between)
    acceleration = np.einsum("k,ksd->sd", stencil.acceleration, between) / span
    return FrameState(np.array(poses[stencil.instants.index(0)]), twist, acceleration)
