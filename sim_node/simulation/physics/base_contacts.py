"""Contacts that kinematic bases and bodies do without: nothing that is still can stop them, so they do not push it."""

from __future__ import annotations

import itertools

import mujoco

from sim_node.world.bases import Base
from sim_node.world.layout import Layout
from sim_node.world.model import World


def exclude_scenery(spec: mujoco.MjSpec, world: World, layout: Layout) -> None:
    """Exclude contacts of what kinematic bases carry with all that is fixed to the fixed frame.

    Those of kinematic bodies with that, and with each other, are excluded with what is fixed to them.
    """
    frames = layout.frames
    bases = {frames.index(base.body) for base in world.of(Base) if base.drive == "kinematic"}
    bodies = {row for row, body in layout.bodies if body.kinematic}
    if not bases and not bodies:
        return
    still = ["world", *(frames.names[row] for row, _ in layout.links if frames.still[row])]
    jointed = {row for row, link in layout.links if link.joints}
    by_themselves: dict[int, list[str]] = {row: [] for row in bodies}
    for row, _ in layout.links:
        above = list(frames.chain(row))
        carrier = next((each for each in above if each in jointed), 0)
        if carrier in by_themselves:
            by_themselves[carrier].append(frames.names[row])
        if carrier in by_themselves or bases.intersection(above):
            for scenery in still:
                spec.add_exclude(bodyname1=frames.names[row], bodyname2=scenery)
    for some, others in itertools.combinations(by_themselves.values(), 2):
        for one, other in itertools.product(some, others):
            spec.add_exclude(bodyname1=one, bodyname2=other)
