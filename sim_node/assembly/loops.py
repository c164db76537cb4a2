"""Closing loops: mates between placed frames, met by moving what other mates leave free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sim_node.assembly.assembly_log import Alternative, Step
from sim_node.assembly.choice import Configurations, InRoots
from sim_node.assembly.closing import close
from sim_node.assembly.mechanism import LoopMechanism, Path
from sim_node.assembly.table import AssemblyTable, Groups
from sim_node.spatial.geometry.arrays import FloatArray

# In worlds with more mechanisms, other assemblies are looked for on demand only.
MAX_SEARCHED = 10


class Closing(NamedTuple):
    """The result of closing loops.

    moved: whether any position changed; steps: what was done; degrees_of_freedom: how many remain in all; rates: of
    mates in loops of which some have an initial speed, for each of their parts' degrees of freedom; others: other ways
    to assemble, if they are asked for.
    """

    moved: bool
    steps: list[Step]
    degrees_of_freedom: int
    rates: dict[int, FloatArray]
    others: list[Alternative]


def close_loops(
    table: AssemblyTable,
    poses: FloatArray,
    solved_by: dict[int, int],
    values: dict[int, FloatArray],
    loops: Sequence[int],
    in_roots: InRoots,
    *,
    every: bool = False,
) -> Closing:
    """Move `values` until the mates in `loops` are met.

    poses (N, 7): local, at `values`; solved_by: the mate of each frame that a mate placed; in_roots: places
    all frames at other positions of mates; every: whether all ways to
    assemble are looked for and returned.
    """
    left = sum(table.mates[m].type.translations + table.mates[m].type.rotations for m in solved_by.values())
    steps: list[Step] = []
    rates: dict[int, FloatArray] = {}
    others: list[Alternative] = []
    moved = False
    if loops:
        paths = dict(zip(loops, _paths(table, solved_by, loops), strict=True))
        order = {m: rank for rank, m in enumerate(solved_by.values())}
        groups = _groups(loops, paths)
        for group in groups:
            mechanism = LoopMechanism(table, poses, values, {m: paths[m] for m in group}, order)
            configurations = Configurations(mechanism, table, in_roots)
            done = close(mechanism, configurations, searched=len(groups) <= MAX_SEARCHED, every=every)
            moved |= done.moved
            steps += done.steps
            others += done.others
            left -= done.constraints
            rates.update(mechanism.rates())
    return Closing(moved, steps, left, rates, others)


def _paths(table: AssemblyTable, solved_by: dict[int, int], loops: Sequence[int]) -> Iterator[Path]:
    """Return the path from the first to the second connector's owner of each loop, over mates that placed frames."""
    neighbours: list[list[tuple[int, str, int, bool]]] = [[] for _ in table.names]
    for row, parent in enumerate(table.parents.tolist()):
        if row in solved_by:
            m = solved_by[row]
            a, b = (table.owners[end] for end in table.ends[m])
            neighbours[a].append((b, "mate", m, True))
            neighbours[b].append((a, "mate", m, False))
        elif parent >= 0:
            neighbours[row].append((parent, "frame", row, True))
            neighbours[parent].append((row, "frame", row, False))
    # Re-rooted: for each row the edge to the row that it was reached from, on the way up.
    above: list[tuple[int, str, int, bool] | None] = [None] * len(table.names)
    depth = [-1] * len(table.names)
    for root in range(len(table.names)):
        if depth[root] >= 0:
            continue
        depth[root] = 0
        stack = [root]
        while stack:
            row = stack.pop()
            for other, kind, index, forward in neighbours[row]:
                if depth[other] < 0:
                    depth[other] = depth[row] + 1
                    above[other] = (row, kind, index, not forward)
                    stack.append(other)
    for m in loops:
        a, b = (table.owners[end] for end in table.ends[m])
        up: Path = []
        down: Path = []
        while a != b:
            if depth[a] >= depth[b]:
                edge = above[a]
                assert edge is not None
                up.append(edge[1:])
                a = edge[0]
            else:
                edge = above[b]
                assert edge is not None
                down.append((edge[1], edge[2], not edge[3]))
                b = edge[0]
        yield up + down[::-1]


def _groups(loops: Sequence[int], paths: dict[int, Path]) -> list[list[int]]:
    """Return groups of loops that share a mate."""
    groups, found = Groups(), dict[int, list[int]]()
    for m in loops:
        for kind, index, _ in paths[m]:
            if kind == "mate":
                groups.join(index, m)
    for m in loops:
        found.setdefault(groups.of(m), []).append(m)
    return list(found.values())
