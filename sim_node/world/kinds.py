"""The registered kinds of parts of worlds, by name and by class. See sim_node.world.part for what a kind is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sim_node.registry import Registry

# Whether a frame moves in its parent. A "mountable" frame is static if it is a sensor's mounting and does not move.
Mobility = Literal["static", "mountable", "dynamic"]
# The registry of kinds by name. Frames, problems and sections of a world are in this order.
PARTS: Registry[str, Any] = Registry(
    "kind of part",
    shipped=(
        *(
            f"sim_node.world.{name}"
            for name in (
                *("frames", "bodies", "loops", "autopilots", "bases", "forces", "systems"),
                *("models", "joint_motion", "joint_commands", "commands", "processes", "transmissions", "suction"),
                "contact_materials",
                *("signals", "triggers", "scene"),
            )
        ),
        "sim_node.viewing.schematic.part",
    ),
    group="sim_node.parts",
)
# The kinds by the classes of parts, and the table of the registry that they were made from.
_KINDS: tuple[Mapping[str, Any], dict[type, Any]] = ({}, {})


def kind_of(part_type: type) -> Any:
    """Return the kind of a class of parts, or of its nearest base class. Raises TypeError."""
    global _KINDS
    table = PARTS.table()
    if _KINDS[0] is not table:
        _KINDS = (table, {kind.type: kind for kind in table.values()})
    by_type = _KINDS[1]
    kind = by_type.get(part_type)
    if kind is None:
        kind = next((by_type[base] for base in part_type.__mro__ if base in by_type), None)
        if kind is None:
            known = ", ".join(each.type.__name__ for each in table.values())
            raise TypeError(f"{part_type.__name__} is not a part of a world; allowed: {known}")
        by_type[part_type] = kind
    return kind
