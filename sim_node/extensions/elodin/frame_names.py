"""Frames of entities: their names on the TF tree."""

from __future__ import annotations

from sim_node.world.model import DEFAULT_FIXED_FRAME

# The component whose entities have frames, and the root of the tree.
WORLD_POS = "world_pos"
FIXED_FRAME = DEFAULT_FIXED_FRAME
# The name by which scripts know the root: a frame at the root, unless an entity has the name.
WORLD = "world"


def frame_name(entity: str) -> str:
    """Return the name of an entity's frame, as tf2 needs it.

    White space and control characters become `_`, and empty parts between slashes are left out.
    """
    plain = "".join("_" if letter.isspace() or not letter.isprintable() else letter for letter in entity)
    return "/".join(part for part in plain.split("/") if part) or "_"
