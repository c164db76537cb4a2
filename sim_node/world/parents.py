"""The parents that a world's files leave to be understood."""

from __future__ import annotations

from dataclasses import replace

from sim_node.world.model import World
from sim_node.world.part import PARTS
from sim_node.world.part_checks import entries_of_kind


def with_default_parents(world: World) -> World:
    """Every frame without a parent gets one, as its kind of part has it.

    A sensor's is the nearest base_link at or above its namespace. Any other frame's is the nearest frame that
    its name lies below (`drone` for `drone/mast`), else the fixed frame.
    """
    if not any(PARTS[name].lacks_parents(parts) for name, parts in world.parts.items()):
        return world
    known = {entry.name for kind in PARTS.values() for entry in entries_of_kind(kind, world) if entry.part is not None}
    known.add(world.fixed_frame)
    parts = {name: PARTS[name].with_parents(parts, known, world.fixed_frame) for name, parts in world.parts.items()}
    return replace(world, parts=parts)
