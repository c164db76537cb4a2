"""Connectors that adapt: they take the place at which their mate is met, when other mates have placed the bodies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim_node.assembly.assembly_log import Assembly
from sim_node.assembly.mate_motion import at_rest, given_values, motion_pose, part_offsets
from sim_node.assembly.table import AssemblyTable
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.mates import Mate


def without_adaptive(table: AssemblyTable) -> AssemblyTable:
    """Return a table whose mates with adaptive connectors do not take part in the assembly."""
    left_out = frozenset(_adaptive_mates(table))
    mates = tuple(replace(mate, snap=False) if m in left_out else mate for m, mate in enumerate(table.mates))
    return replace(table, mates=mates)


def adapted(table: AssemblyTable, placed: Assembly) -> AssemblyTable:
    """Return a table whose adaptive connectors are where their mates are met in an assembly without these mates.

    A connector of several mates adapts to the first of them; the second connector of a mate adapts to the first, at the
    mate's initial values. The other mates begin their search where they stand, so that a second assembly ends there.
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
    """Return a mate that is searched for near its positions q, unless its values are given or cannot be."""
    if not mate.type.values or None not in given_values(mate):
        return mate
    offsets = part_offsets(mate.type)
    return replace(mate, near=tuple(float(q[offsets[k]]) for k in mate.type.valued))
