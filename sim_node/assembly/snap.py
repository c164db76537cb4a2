"""SNAP: determines poses that are not given from the mates between frames.

This is the algorithm of OpenPLX's Physics3D ("SNAP", Pseudocode). It processes mates until nothing changes. A mate with
one open pose on its two chains determines that pose: N S P = A with S = N^-1 A P^-1. A mate without an open pose closes
a loop. If all remaining mates have several, one open pose becomes the identity, chosen such that it does not affect how
parts fit. Loops are closed last, over the remaining degrees of freedom of the mates, so that the result does not depend
on the order in which they were found.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sim_node.assembly import kernels
from sim_node.assembly.assembly_log import Assembly, Step
from sim_node.assembly.loops import close_loops
from sim_node.assembly.mate_motion import at_rest, given_values, motion_pose, part_offsets
from sim_node.assembly.table import AssemblyTable, floating_parts
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.start_up import collection_paused
from sim_node.world.frame_table import FrameTable
from sim_node.world.mates import Mate
from sim_node.world.systems import System

# Degrees of freedom of a part that is not held in the world.
FLOATING = 6


@dataclass(frozen=True)
class Placed:
    """A mate that determined a frame's pose, at entry `at` of the nodes on the chain of its connector `side`."""

    mate: int
    side: int
    at: int


@collection_paused()
def snap(table: AssemblyTable, *, every: bool = False) -> Assembly:
    """Assemble a table. Conflicts and undetermined poses are part of the result and are not raised.

    Mates with adaptive connectors are added after the others have placed everything, when they are met.

    every: whether to search for all ways to close loops, and to include them in the result.
    """
    if not any(table.adaptive):
        return _snap(table, every=every)
    placed = _snap(without_adaptive(table))
    return replace(_snap(adapted(table, placed), every=every), undefined=placed.undefined)


def _snap(table: AssemblyTable, *, every: bool = False) -> Assembly:
    run = _Run(table)
    run.to_the_end()
    solved_by = {int(table.nodes[p.at]): p.mate for p in run.placed}
    frames = FrameTable(table.names, table.parents.astype(np.int32), np.ones(len(table.names), dtype=bool))

    def in_roots(values: Mapping[int, FloatArray]) -> FloatArray:
        """Return the poses of all frames in their roots at other positions of mates, without changing the assembly."""
        before, poses = {m: np.array(run.values[m]) for m in values}, np.array(run.poses)
        run.put(values)
        found = frames.in_root(run.poses)
        for m, q in before.items():
            run.values[m][:] = q
        run.poses[:] = poses
        return found

    closing = close_loops(table, run.poses, solved_by, run.values, run.loops, in_roots, every=every)
    others = [replace(other, in_roots=in_roots(other.values)) for other in closing.others]
    if closing.moved:
        run.put({})
    return Assembly(
        table=table,
        poses=run.poses,
        in_roots=frames.in_root(run.poses),
        solved=tuple(run.solved),
        undefined=tuple(row for row, known in enumerate(run.known) if not known),
        values=run.values,
        tree=tuple(placed.mate for placed in run.placed),
        loops=tuple(run.loops),
        degrees_of_freedom=closing.degrees_of_freedom + FLOATING * floating_parts(table),
        rates=closing.rates,
        steps=(*run.steps, *closing.steps),
        others=tuple(others),
    )


class _Run:
    """The state of the algorithm: poses, and for each mate the number of open poses on its chains."""

    def __init__(self, table: AssemblyTable) -> None:
        self.table = table
        self.poses = np.array(table.poses)
        self.known = list(table.known)
        self.steps: list[Step] = []
        self.solved: list[int] = []
        self.placed: list[Placed] = []
        self.loops: list[int] = []
        self.values: dict[int, FloatArray] = {}
        self._nodes = table.nodes.tolist()
        self._used = [False] * len(table.mates)
        self._open = [[0, 0] for _ in table.mates]
        # Frames that contain a placed frame held by mates: this will determine their poses.
        self._anchored = [False] * len(table.names)
        self._half_known: list[int] = []
        self._waiting: dict[int, list[tuple[int, int]]] = {}
        # Mates to visit, in the same order as the passes over all mates in the pseudocode.
        self._due: list[tuple[int, int]] = []
        for m, mate in enumerate(table.mates):
            if m in table.apart or m in table.still or not mate.snap:
                self._leave_out(m, mate)
                continue
            for side, (begin, end) in enumerate(table.chains[m]):
                for node in self._nodes[begin:end]:
                    if not self.known[node]:
                        self._open[m][side] += 1
                        self._waiting.setdefault(node, []).append((m, side))
            self._look(0, m)

    def to_the_end(self) -> None:
        """Run until every mate is used."""
        first_unused, turn = 0, 0
        while True:
            while self._due:
                turn, m = heapq.heappop(self._due)
                if not self._used[m]:
                    self._use(turn, m)
            while first_unused < len(self._used) and self._used[first_unused]:
                first_unused += 1
            if first_unused == len(self._used):
                return
            self._force_identity(turn + 1, first_unused)

    def _look(self, turn: int, m: int) -> None:
        """Schedule a mate with at most one open pose; otherwise mark the frames that its ends anchor."""
        first, second = self._open[m]
        if first + second <= 1:
            heapq.heappush(self._due, (turn, m))
            return
        if not first or not second:
            heapq.heappush(self._half_known, m)
        for side in (0, 1):
            if self._open[m][side]:
                at = self._first_open(m, side)
                node = self._nodes[at]
                if at > self.table.chains[m][side][0] or isinstance(self.table.of[node], System):
                    self._anchored[node] = True

    def put(self, values: Mapping[int, FloatArray]) -> None:
        """Set positions of mates, and compute the poses of all frames again."""
        for m, q in values.items():
            self.values[m][:] = q
        for placed in self.placed:
            self.place(placed)

    def place(self, placed: Placed) -> None:
        """Solve for the pose that a mate determines, at its present positions."""
        table, m, side, at = self.table, placed.mate, placed.side, placed.at
        begin, end = table.chains[m][side]
        mate, (first, second) = table.mates[m], table.ends[m]
        # The motion from the first connector to the second, inverted if the first one is moved.
        motion = motion_pose(mate.type, self.values[m])
        moving, fixed = (second, first) if side else (first, second)
        node = self._nodes[at]
        kernels.solve(
            self.poses,
            table.nodes,
            (at + 1, end),
            (begin, at),
            table.chains[m][1 - side],
            table.connectors[[fixed, moving]],
            motion if side else pose_math.invert(motion),
            self.poses[node],
        )

    def _leave_out(self, m: int, mate: Mate) -> None:
        self._used[m] = True
        if m in self.table.still:
            self.steps.append(Step("ignored", self.table.mate_names[m]))
        elif mate.snap:
            self.steps.append(Step("apart", self.table.mate_names[m]))

    def _use(self, turn: int, m: int) -> None:
        self._used[m] = True
        self.values[m] = at_rest(self.table.mates[m])
        if not any(self._open[m]):
            self.loops.append(m)
            return
        side = 0 if self._open[m][0] else 1
        placed = Placed(m, side, self._first_open(m, side))
        self.place(placed)
        self.placed.append(placed)
        table, node = self.table, self._nodes[placed.at]
        pose = self.poses[node].copy()
        self.steps.append(Step("solved", table.mate_names[m], table.names[node], self._formula(placed), pose))
        self._define(turn, m, node)

    def _force_identity(self, turn: int, first_unused: int) -> None:
        """Set one of several open poses on a chain to the identity, such that it does not affect how parts fit.

        If the other end is placed, the lowest open pose is arbitrary as long as only this mate will place the frame
        above it. If there is no such mate, parts float, and one of them is placed at its owner's origin.
        """
        while self._half_known:
            m = heapq.heappop(self._half_known)
            side = 0 if self._open[m][0] else 1
            if not self._used[m] and self._open[m][side] > 1:
                at = self._first_open(m, side)
                if not self._anchored[self._nodes[self._first_open(m, side, at + 1)]]:
                    self._put_down(turn, m, at)
                    return
        m = first_unused
        side = 0 if self._open[m][0] else 1
        at = self._first_open(m, side)
        if self._open[m][side] > 1:
            above = self._first_open(m, side, at + 1)
            at = above if self._anchored[self._nodes[above]] else at
        self._put_down(turn, m, at)

    def _put_down(self, turn: int, m: int, at: int) -> None:
        node = self._nodes[at]
        self.poses[node] = pose_math.IDENTITY
        self.steps.append(Step("identity", self.table.mate_names[m], self.table.names[node]))
        self._define(turn, -1, node)

    def _define(self, turn: int, m: int, node: int) -> None:
        """Mark a node's pose as known. Mates after the current one are visited in the same pass, others in the next."""
        self.known[node] = True
        self.solved.append(node)
        for other, side in self._waiting.pop(node, ()):
            self._open[other][side] -= 1
            if not self._used[other]:
                self._look(turn if other > m else turn + 1, other)

    def _first_open(self, m: int, side: int, begin: int = -1) -> int:
        """Return the entry of the lowest open pose on a mate's chain from an entry on, or the end if there is none."""
        first, end = self.table.chains[m][side]
        at = max(first, begin)
        while at < end - 1 and self.known[self._nodes[at]]:
            at += 1
        return at

    def _formula(self, placed: Placed) -> str:
        """Return N^-1 A P^-1 in names."""
        table, side = self.table, placed.side
        begin, end = table.chains[placed.mate][side]
        mate = table.mates[placed.mate]
        ends = [table.connector_names[row] for row in table.ends[placed.mate]]

        def product(first: int, last: int) -> list[str]:
            return [table.names[node] for node in reversed(self._nodes[first:last])]

        upper = product(placed.at + 1, end)
        goal = [*product(*table.chains[placed.mate][1 - side]), ends[1 - side]]
        if mate.type.parts:
            goal.append(f"{mate.kind}" if side else f"inv({mate.kind})")
        lower = [*product(begin, placed.at), ends[side]]
        return " * ".join([*([f"inv({' * '.join(upper)})"] if upper else []), *goal, f"inv({' * '.join(lower)})"])


def without_adaptive(table: AssemblyTable) -> AssemblyTable:
    """Return a table whose mates with adaptive connectors do not take part in the assembly."""
    left_out = frozenset(_adaptive_mates(table))
    mates = tuple(replace(mate, snap=False) if m in left_out else mate for m, mate in enumerate(table.mates))
    return replace(table, mates=mates)


def adapted(table: AssemblyTable, placed: Assembly) -> AssemblyTable:
    """Return a table with adaptive connectors placed such that their mates are met in an assembly without these mates.

    A connector of several mates adapts to the first of them; the second connector of a mate adapts to the first, at the
    mate's initial values. The other mates start from their assembled positions, so that a second assembly ends there.
    """
    connectors, settled = np.array(table.connectors), set[int]()
    for m in _adaptive_mates(table):
        ends = table.ends[m]
        side = 1 if table.adaptive[ends[1]] and ends[1] not in settled else 0
        end, other = ends[side], ends[1 - side]
        if m in table.apart or m in table.still or end in settled or not table.adaptive[end]:
            continue
        motion = motion_pose(table.mates[m].type, at_rest(table.mates[m]))
        met = poses.compose(placed.in_roots[table.owners[other]], connectors[other])
        met = poses.compose(met, motion if side else poses.invert(motion))
        connectors[end] = poses.relative(placed.in_roots[table.owners[end]], met)
        settled.add(end)
    mates = tuple(_near(mate, placed.values[m]) if m in placed.values else mate for m, mate in enumerate(table.mates))
    return replace(table, connectors=connectors, mates=mates)


def _adaptive_mates(table: AssemblyTable) -> list[int]:
    return [m for m, ends in enumerate(table.ends) if any(table.adaptive[end] for end in ends)]


def _near(mate: Mate, q: FloatArray) -> Mate:
    """Return a mate whose values of `near` are its positions q, unless its values are given or it has none."""
    if not mate.type.values or None not in given_values(mate):
        return mate
    offsets = part_offsets(mate.type)
    return replace(mate, near=tuple(float(q[offsets[k]]) for k in mate.type.valued))
