"""What a file says of the run as a whole: where another file includes it, that one's own word counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sim_node.world.model import World
from sim_node.world.problems import Place, Problem


class Setting(NamedTuple):
    """A value that a file sets of the whole world: where, and by which fields a World has it (time, step_ns)."""

    place: Place
    fields: tuple[str, ...]
    value: Any


def unused(settings: list[Setting], world: World) -> Iterator[Problem]:
    """What an included file sets and the world that includes it has otherwise, each place once."""
    told: set[Place] = set()
    for place, fields, value in settings:
        if place.where.file == world.source or place in told:
            continue
        told.add(place)
        counts: Any = world
        for name in fields:
            counts = getattr(counts, name)
        if not _same(value, counts):
            message = f"is not used in an included file; {world.source} has {_shown(counts, fields[-1])}"
            yield Problem(place.where, place.key, message)


def _same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)


def _shown(value: Any, name: str) -> str:
    """A value as a person would write it in a world file."""
    if value is None:
        return "none"
    if name.endswith("_ns"):
        return f"{value / 1e9:.9g} s"
    if isinstance(value, np.ndarray):
        return f"[{', '.join(f'{part:g}' for part in value)}]"
    if isinstance(value, (bool, str)):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, (int, float)) else "another"
