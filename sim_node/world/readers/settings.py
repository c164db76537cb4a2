"""What an included file sets for the whole world, without effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sim_node.world.model import World
from sim_node.world.problems import Place, Problem
from sim_node.world.readers.report import Setting


def unused(settings: list[Setting], world: World) -> Iterator[Problem]:
    """Yield what an included file sets and the including world sets differently, once for each location."""
    seen: set[Place] = set()
    for place, fields, value in settings:
        if place.where.file == world.source or place in seen:
            continue
        seen.add(place)
        used: Any = world
        for name in fields:
            used = getattr(used, name)
        if not _same(value, used):
            message = f"is not used in an included file; {world.source} has {_shown(used, fields[-1])}"
            yield Problem(place.where, place.key, message)


def _same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)


def _shown(value: Any, name: str) -> str:
    """Format a value as in a world file."""
    if value is None:
        return "none"
    if name.endswith("_ns"):
        return f"{value / 1e9:.9g} s"
    if isinstance(value, np.ndarray):
        return f"[{', '.join(f'{part:g}' for part in value)}]"
    if isinstance(value, (bool, str)):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, (int, float)) else "another"
