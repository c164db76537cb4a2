"""Actuators and transmissions that name mates, on the joints that the mates become."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sim_node.world.model import World
from sim_node.world.problems import Place, Problem, WorldWarning, quoted, shown_key
from sim_node.world.signals import OF_JOINTS, NamedSignal


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
    signals = tuple(_signals_on_joints(world, joints, mates))
    parts = {"actuators": actuators, "transmissions": transmissions, "signals": signals}
    return replace(world, **{kind: some for kind, some in parts.items() if some or kind == "signals"}), problems


def _signals_on_joints(world: World, joints: Mapping[str, str], mates: frozenset[str]) -> Iterator[NamedSignal]:
    """Yield the signals, those of mates as signals of joints. Warn about mates without a joint and leave them out."""
    for signal in world.of(NamedSignal):
        if signal.quantity not in OF_JOINTS:
            yield signal
        elif signal.of in joints:
            yield replace(signal, of=joints[signal.of])
        elif (signal.of.rpartition("#")[0] or signal.of) in mates:
            message = f"{quoted(signal.of)} closes a loop or is fixed, so that it has no signals; it is left out"
            problem = Problem(signal.place.where, signal.place.key or shown_key(signal.name), message)
            warnings.warn(WorldWarning(str(problem)), stacklevel=2)
        else:
            yield signal
