"""Assembling a world: systems and mates become frames, bodies on joints and loop closures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sim_node.world.checks import entries_of, tree_problems
from sim_node.world.model import World
from sim_node.world.problems import Place, Problem, Where, WorldWarning, quoted, refuse_any, shown_key, shown_lines
from sim_node.world.signals import OF_JOINTS, NamedSignal

if TYPE_CHECKING:
    from sim_node.assembly.assembly_log import Assembly


def assembly_of(world: World, *, every: bool = False) -> Assembly:
    """Assemble a world's systems and report the result, including mates that cannot be met.

    Args:
        world: A world, with systems or without.
        every: Whether to search for all ways to close its loops.

    Returns:
        The assembly, computed by the SNAP algorithm of OpenPLX's Physics3D. Conflicts are reported among its steps, not
        raised.

    Raises:
        WorldError: Names or parents are invalid, or a mate refers to a connector that does not exist.
    """
    # Imported here so that worlds without systems start without all this, and without compiled kernels.
    from sim_node.assembly.snap import snap
    from sim_node.assembly.table import tabulate

    refuse_any(tree_problems(entries_of(world)))
    table, problems = tabulate(world)
    refuse_any(problems)
    return snap(table, every=every)


def assemble(world: World) -> World:
    """Replace a world's systems by frames, bodies on joints and loop closures, under their hierarchical names.

    Warns with WorldWarning about poses that no mate determines; they become the identity.

    Args:
        world: A world, with systems or without.

    Returns:
        A world without systems; `world` itself if it has none.

    Raises:
        WorldError: As in `assembly_of`; also mates that cannot be met, with the distance and angle that remain.
    """
    if not world.systems and not world.attachments:
        return world
    from sim_node.assembly.motion import set_in_motion

    assembly = assembly_of(world)
    moving, problems = set_in_motion(assembly, driven_names(world))
    found, unknown = on_joints(world, moving.joints, frozenset(assembly.table.mate_names))
    refuse_any([*_conflicts(assembly), *problems, *unknown])
    for line in shown_lines(_undefined(assembly)):
        warnings.warn(WorldWarning(line), stacklevel=2)
    table = assembly.table
    attached = {attachment.frame for attachment in world.attachments}
    poses = {name: assembly.poses[row] for row, name in enumerate(table.names) if name in attached}
    return replace(
        found,
        frames=(*(replace(f, pose=poses.get(f.name, f.pose)) for f in world.frames), *moving.frames),
        sensors=tuple(replace(s, pose=poses.get(s.name, s.pose)) for s in world.sensors),
        bodies=(*world.bodies, *moving.bodies),
        loop_closures=(*world.loop_closures, *moving.loop_closures),
        contact_exclusions=(*world.contact_exclusions, *moving.contact_exclusions),
        systems=(),
        attachments=(),
    )


def _conflicts(assembly: Assembly) -> Iterator[Problem]:
    mates = dict(zip(assembly.table.mate_names, assembly.table.mates, strict=True))
    for step in assembly.conflicts:
        place = mates[step.mate].place
        yield Problem(place.where, place.key or step.mate, str(step).removeprefix(f"{step.mate}: "))


def _undefined(assembly: Assembly) -> Iterator[Problem]:
    for row in assembly.undefined:
        name, of = assembly.table.names[row], assembly.table.of[row]
        where = of.place.where if of is not None else Where()
        yield Problem(where, name, "no pose is given and no mate determines one; it stands where its owner does")


def driven_names(world: World) -> frozenset[str]:
    """Return the names of joints that actuators and transmissions refer to, without the number of a value."""
    names = {actuator.joint for actuator in world.actuators}
    names.update(joint for each in world.transmissions for joint, _ in each.joints)
    return frozenset(name.rpartition("#")[0] or name for name in names)


def on_joints(world: World, joints: Mapping[str, str], mates: frozenset[str]) -> tuple[World, list[Problem]]:
    """Return a world whose actuators and transmissions refer to joints instead of mates, and the mates without a joint.

    Args:
        world: The world.
        joints: The joint of each mate that carries a body, by name of the mate.
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
    """Yield the signals, with those of mates as signals of joints. Warn of mates without a joint, and omit these."""
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
