"""Contacts that kinematic bases do without: nothing that stands still can stop them, so that it does not push them."""

from __future__ import annotations

import mujoco

from sim_node.world.bases import Base
from sim_node.world.layout import Layout
from sim_node.world.model import World


def exclude_scenery(spec: mujoco.MjSpec, world: World, layout: Layout) -> None:
    """Exclude contacts of what kinematic bases carry with all that is fixed to the fixed frame."""
    bases = [base for base in world.of(Base) if base.drive == "kinematic"]
    if not bases:
        return
    frames = layout.frames
    still = ["world", *(frames.names[row] for row, _ in layout.links if frames.still[row])]
    for base in bases:
        top = frames.index(base.body)
        for row, _ in layout.links:
            if top in frames.chain(row):
                for scenery in still:
                    spec.add_exclude(bodyname1=frames.names[row], bodyname2=scenery)
