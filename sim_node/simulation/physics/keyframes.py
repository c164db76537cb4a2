"""Frames that follow keyframes: all motions of a world evaluated at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sim_node.simulation.columns import Array, AtInstants, Column, Columns
from sim_node.simulation.physics.engine import engine
from sim_node.spatial.geometry import interpolation, quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.spatial.geometry.tangents import catmull_rom_tangents, pchip_tangents
from sim_node.world.layout import Layout
from sim_node.world.model import CURVED, OUTSIDE, Motion, World

HOLD, LOOP, PINGPONG = range(3)
assert OUTSIDE == ("hold", "loop", "pingpong")
TANGENTS = {"smooth": pchip_tangents, "catmull_rom": catmull_rom_tangents}
assert tuple(TANGENTS) == CURVED


@engine("keyframes")
def open_keyframes(world: World, layout: Layout, columns: Columns) -> KeyframeEngine | None:
    """Return the engine of a world's motions, or None if there are none."""
    if not layout.moving:
        return None
    names = [layout.frames.names[row] for row, _ in layout.moving]
    motions = [motion for _, motion in layout.moving]
    return KeyframeEngine(names, motions, world.time.start_ns, world.time.step_ns, columns)


class KeyframeEngine:
    """Moves frames along their keyframes. Poses are functions of time, so any instant can be evaluated.

    Args:
        names: The frames, in the order of `motions`.
        motions: The motion of each frame.
        start_ns: Simulation time at the start of the run, ns.
        step_ns: Length of a step, ns.
        columns: The columns of the run, in which the frames' rows of `pose` are claimed.
    """

    def __init__(
        self, names: Sequence[str], motions: Sequence[Motion], start_ns: int, step_ns: int, columns: Columns
    ) -> None:
        self._all, self._motions = Motions(motions), motions
        self._start_ns, self._step_ns = start_ns, step_ns
        self._time_ns = start_ns
        self._rows = columns.claim("pose", names, self._instants)
        time = Column("keyframes/time", ("keyframes",), dtype=np.int64, unit="ns", meaning="simulation time")
        columns.compute(time, lambda: (np.array([self._time_ns]),), self._put_time)

    def reset(self, seed: int) -> None:
        """Go back to the start; keyframes draw no random numbers."""
        self._time_ns = self._start_ns

    def resume(self, step: int) -> None:
        """Go to a step.

        Args:
            step: Steps since the start of the run.
        """
        self._time_ns = self._start_ns + step * self._step_ns

    def step(self, steps: int) -> None:
        """Advance time by whole steps."""
        self._time_ns += steps * self._step_ns

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Write the pose of every motion at the current time plus `ahead_ns` to its row of poses (N, 7)."""
        poses[self._rows] = self._all.at(np.array([self._time_ns + ahead_ns]))[0]

    def _instants(self, places: IntArray) -> AtInstants:
        """Return a function that evaluates the poses of only these motions at any instants."""
        if len(places) == len(self._motions) and (np.diff(places) == 1).all():
            return self._all.at
        return Motions([self._motions[place] for place in places.tolist()]).at

    def _put_time(self, kept: Sequence[Array]) -> None:
        self._time_ns = int(kept[0][0])


class Motions:
    """Motions as functions of time. Any instant costs the same and is equally accurate.

    The knots of all motions are in one array: those of motion m are first[m] to last[m].
    """

    def __init__(self, motions: Sequence[Motion]) -> None:
        motions = [_with_two_knots(motion) for motion in motions]
        tangents = [_tangents(motion) for motion in motions]
        poses = [_in_one_go(*each) for each in zip(motions, tangents, strict=True)]
        counts = np.array([len(motion.times_ns) for motion in motions])
        self._last = np.cumsum(counts) - 1
        self._first = self._last - counts + 1
        self._knot_ns: IntArray = np.concatenate([motion.times_ns for motion in motions])
        self._knots: FloatArray = np.concatenate(poses)
        self._tangents: FloatArray = np.concatenate(tangents)
        self._begin_ns, self._end_ns = self._knot_ns[self._first], self._knot_ns[self._last]
        self._before = np.array([OUTSIDE.index(motion.before) for motion in motions])
        self._after = np.array([OUTSIDE.index(motion.after) for motion in motions])
        # A loop that ends with minus its first quaternion continues in the other hemisphere, so that no sign jumps.
        ends, begins = self._knots[self._last, 3:], self._knots[self._first, 3:]
        self._lap_sign = np.where(np.sum(ends * begins, axis=1) < 0.0, -1.0, 1.0)
        self._halvings = int(np.ceil(np.log2(max(int(counts.max()) - 1, 1))))

        kinds = np.array([motion.interpolation for motion in motions])
        self._slerps = np.flatnonzero(kinds == "slerp")
        self._steps = np.flatnonzero(kinds == "step")
        self._curves = np.flatnonzero(np.isin(kinds, CURVED))

    def at(self, times_ns: IntArray) -> FloatArray:
        """Return the poses (K, M, 7) of all motions at times (K,)."""
        phase_ns, laps = self._phase(times_ns[:, None])
        before = self._segment(phase_ns)
        left, right = self._knot_ns[before], self._knot_ns[before + 1]
        u = (phase_ns - left) / (right - left)
        now = self._knots[before]
        if len(self._slerps):
            pick = self._slerps
            now[:, pick] = interpolation.interpolate(now[:, pick], self._knots[before[:, pick] + 1], u[:, pick])
        if len(self._steps):
            over = np.zeros_like(u, dtype=bool)
            over[:, self._steps] = u[:, self._steps] >= 1.0
            now[over] = self._knots[before[over] + 1]
        if len(self._curves):
            pick = self._curves
            lower = before[:, pick]
            now[:, pick] = interpolation.hermite_pose(
                now[:, pick],
                self._knots[lower + 1],
                self._tangents[lower],
                self._tangents[lower + 1],
                (right - left)[:, pick] * 1e-9,
                u[:, pick],
            )
        now[(laps % 2 == 1) & (self._lap_sign < 0.0), 3:] *= -1.0
        return now

    def _phase(self, time_ns: IntArray) -> tuple[IntArray, IntArray]:
        """Return the time within each motion's keyframes at times (K, 1), and the lap of its loop; both (K, M)."""
        early, late = time_ns < self._begin_ns, time_ns >= self._end_ns
        outside = np.where(early, self._before, np.where(late, self._after, HOLD))
        duration = self._end_ns - self._begin_ns
        lap, inside = np.divmod(time_ns - self._begin_ns, duration)
        inside = np.where((outside == PINGPONG) & (lap % 2 == 1), duration - inside, inside)
        held = np.clip(time_ns, self._begin_ns, self._end_ns)
        phase_ns = np.where(outside == HOLD, held, self._begin_ns + inside)
        return phase_ns, np.where(outside == LOOP, lap, 0)

    def _segment(self, phase_ns: IntArray) -> npt.NDArray[np.intp]:
        """Return the knot at or before each phase (K, M), never the last one, by bisection of all motions at once."""
        low: npt.NDArray[np.intp] = np.broadcast_to(self._first, phase_ns.shape)
        high = self._last
        for _ in range(self._halvings):
            middle = (low + high) >> 1
            right = self._knot_ns[middle] <= phase_ns
            # A range of one knot is done: its middle is its lower end.
            low, high = np.where(right, middle, low), np.where(right, high, np.maximum(middle, low + 1))
        return low


def _with_two_knots(motion: Motion) -> Motion:
    """Return a motion with two knots: a single keyframe is repeated."""
    if len(motion.times_ns) > 1:
        return motion
    times_ns = np.array([motion.times_ns[0], motion.times_ns[0] + 1_000_000_000])
    return Motion(motion.frame, motion.parent, times_ns, np.repeat(motion.poses, 2, axis=0), "step")


def _tangents(motion: Motion) -> FloatArray:
    """Return the velocities (K, 6) at a motion's knots; zeros unless it is curved.

    A loop that ends where it starts is smooth there. A motion that is held or reversed at its ends comes to rest there,
    because any other velocity would jump.
    """
    if motion.interpolation not in CURVED:
        return np.zeros((len(motion.times_ns), 6))
    seconds = (motion.times_ns - motion.times_ns[0]) * 1e-9
    closed = "loop" in (motion.before, motion.after) and _meets_itself(motion.poses)
    tangents = TANGENTS[motion.interpolation](seconds, motion.poses, closed)
    if not closed:
        tangents[0] *= motion.before == "loop"
        tangents[-1] *= motion.after == "loop"
    return tangents


def _meets_itself(poses: FloatArray) -> bool:
    """Return whether a loop ends in its first pose, to the precision of files with seven digits."""
    first, last = poses[0], poses[-1]
    gap = float(quaternions.angle_between(first[3:], last[3:]))
    return gap <= 1e-6 and bool(np.allclose(first[:3], last[:3], rtol=0.0, atol=1e-6))


def _in_one_go(motion: Motion, tangents: FloatArray) -> FloatArray:
    """Return a motion's poses (K, 7), each quaternion with the sign with which the motion arrives at it.

    That is the hemisphere of the preceding quaternion, unless a curve makes a large rotation in between.
    """
    if motion.interpolation not in CURVED:
        return motion.poses
    poses = np.array(motion.poses)
    seconds = np.diff(motion.times_ns) * 1e-9
    ends = np.ones(len(seconds))
    arrivals = interpolation.hermite_pose(poses[:-1], poses[1:], tangents[:-1], tangents[1:], seconds, ends)
    same = np.sum(arrivals[:, 3:] * poses[1:, 3:], axis=1) > 0.0
    poses[1:, 3:] *= np.cumprod(np.where(same, 1.0, -1.0))[:, None]
    return poses
