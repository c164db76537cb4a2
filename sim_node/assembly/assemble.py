"""Assembling a world: systems and mates become frames, bodies on joints and loop closures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sim_node.world.checks import entries_of, tree_problems
from sim_node.world.model import World
from sim_node.world.problems import Problem, Where, WorldError, WorldWarning, shown_lines

if TYPE_CHECKING:
    from sim_node.assembly.assembly_log import Assembly


def assembly_of(world: World, *, every: bool = False) -> Assembly:
    """Assemble a world's systems and report the result, including mates that cannot be met.

    Args:
        world: A world, with systems or without.
        every: Whether to look for all ways to close its loops.

    Returns:
        The assembly, by the SNAP algorithm of OpenPLX's Physics3D. Conflicts are among its steps; they are not raised.

    Raises:
        WorldError: Names or parents are invalid, or a mate refers to a connector that does not exist.
    """
    # Here and not above: worlds without systems start without all this, and without compiled kernels.
    from sim_node.assembly.snap import snap
    from sim_node.assembly.table import tabulate

    problems = list(tree_problems(entries_of(world)))
    if problems:
        raise WorldError(problems)
    table, problems = tabulate(world)
    if problems:
        raise WorldError(problems)
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
    from sim_node.assembly.driven import driven_names, on_joints
    from sim_node.assembly.motion import set_in_motion

    assembly = assembly_of(world)
    moving, problems = set_in_motion(assembly, driven_names(world))
    found, unknown = on_joints(world, moving.joints, frozenset(assembly.table.mate_names))
    problems = [*_conflicts(assembly), *problems, *unknown]
    if problems:
        raise WorldError(problems)
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
