"""Checks of what kinds of parts return, if they come from another package: errors name that package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import numpy as np

from sim_node.world.model import World
from sim_node.world.part import PARTS, FrameEntry, Kind, Mobility
from sim_node.world.problems import Problem

# Tolerance of the norm of a quaternion.
_UNIT = 1e-6


def entries_of_kind(kind: Kind[Any], world: World) -> Iterator[FrameEntry]:
    """Yield the frames of a world's parts of a kind. Raises PluginFault if something else is returned."""
    if PARTS.is_shipped(kind.name):
        yield from kind.entries(world)
        return
    for entry in kind.entries(world):
        PARTS.expect(kind.name, entry, FrameEntry, "from entries(), an Entry")
        if not (isinstance(entry.name, str) and isinstance(entry.parent, str)):
            PARTS.refuse(kind.name, f"entries() needs names as text, found {entry.name!r} below {entry.parent!r}")
        if entry.of is not None:
            _check_placement(kind, entry)
        yield entry


def problems_of_kind(kind: Kind[Any], world: World) -> Iterator[Problem]:
    """Yield the problems of a world's parts of a kind. Raises PluginFault if something else is returned."""
    for problem in kind.problems(world):
        PARTS.expect(kind.name, problem, Problem, "from problems(), a Problem")
        yield problem


def _check_placement(kind: Kind[Any], entry: FrameEntry) -> None:
    of: Any = entry.of
    for needed in ("mobility", "start"):
        if not hasattr(of, needed):
            PARTS.refuse(kind.name, f"entries() needs what stands at {entry.name} to have {needed}", of)
    if of.mobility not in get_args(Mobility):
        allowed = ", ".join(get_args(Mobility))
        PARTS.refuse(kind.name, f"the mobility of {entry.name} is {of.mobility!r}; allowed: {allowed}", of)
    pose = np.asarray(of.start())
    if pose.shape != (7,) or pose.dtype.kind not in "fiu":
        PARTS.refuse(kind.name, f"start() of {entry.name} is of shape {pose.shape}; a pose (7,) is needed", of)
    if not np.isfinite(pose).all() or abs(float(np.linalg.norm(pose[3:])) - 1.0) > _UNIT:
        PARTS.refuse(kind.name, f"start() of {entry.name} is not a pose with a unit quaternion: {pose.tolist()}", of)
