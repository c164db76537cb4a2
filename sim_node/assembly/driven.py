"""Actuators and transmissions that name mates, on the joints that the mates become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sim_node.world.model import World
from sim_node.world.problems import Place, Problem, quoted, shown_key


def driven_names(world: World) -> frozenset[str]:
    """Return what actuators and transmissions call joints, without the number of a value."""
    names = {actuator.joint for actuator in world.actuators}
    names.update(joint for each in world.transmissions for joint, _ in each.joints)
    return frozenset(name.rpartition("#")[0] or name for name in names)


def on_joints(world: World, joints: Mapping[str, str], mates: frozenset[str]) -> tuple[World, list[Problem]]:
    """Return a world whose actuators and transmissions name joints instead of mates, and the mates without a joint.

    Args:
        world: The world.
        joints: The joint of each mate that carries a body, by the mate's name.
        mates: The names of all mates.
    """
    problems: list[Problem] = []

    def joint(name: str, place: Place) -> str:
        mate = name.rpartition("#")[0] or name
        if name not in joints and mate in mates:
            parts = [each for each in joints if each.startswith(f"{mate}#")]
            hint = f"it has {' and '.join(parts)}" if parts else "it closes a loop or is fixed; drive another one"
            problems.append(Problem(place.where, place.key or shown_key(name), f"{quoted(name)} has no joint: {hint}"))
        return joints.get(name, name)

    actuators = tuple(replace(each, joint=joint(each.joint, each.place)) for each in world.actuators)
    transmissions = tuple(
        replace(each, joints=tuple((joint(name, each.place), factor) for name, factor in each.joints))
        for each in world.transmissions
    )
    parts = {"actuators": actuators, "transmissions": transmissions}
    return replace(world, **{kind: some for kind, some in parts.items() if some}), problems
