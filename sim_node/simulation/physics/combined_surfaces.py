"""Contacts with the smaller of two friction coefficients, by geom priorities or, if these do not suffice, by pairs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement, product
from typing import NamedTuple

import mujoco

from sim_node.simulation.physics.contact_materials import ContactFilter, Touching
from sim_node.simulation.physics.drives import integrator_of
from sim_node.simulation.physics.surfaces import friction_of
from sim_node.world.contact_materials import MAX_PAIRS
from sim_node.world.model import World
from sim_node.world.problems import NOWHERE, Problem, WorldWarning
from sim_node.world.surfaces import IMPEDANCE, Surface, largest_timestep, solref

_GEOM, _PAIR = "sim_node/combined_geom/", "sim_node/combined_pair/"
# DART, Gazebo's physics engine, ignores restitution below this value.
_LEAST_RESTITUTION = 1e-3


class _Contact(NamedTuple):
    """Contact parameters: those of a shape, or the combined ones of a contact."""

    friction: tuple[float, ...]
    dimensions: int
    restitution: float
    contact_time: float


class _Group(NamedTuple):
    """Shapes with the same contact parameters, rule for combining friction, and priority."""

    contact: _Contact
    is_smaller: bool
    priority: int


def set_priorities(spec: mujoco.MjSpec, touching: Sequence[Touching]) -> None:
    """Set geom priorities such that contacts of shapes with `combine: smaller` get the smaller sliding friction.

    MuJoCo uses the friction of the geom with the higher priority, so geoms with smaller coefficients get higher ones.
    Shapes with friction or restitution that combine by the larger coefficient share one priority, that of the smallest
    coefficient among them. Contacts without shapes of the first kind are unaffected.

    Args:
        spec: The specification, with models attached.
        touching: Each colliding geom of the world, and its surface.
    """
    given = [(geom, surface) for geom, surface in touching if surface is not None]
    ranked = [(geom, _contact_of(surface).friction[0]) for geom, surface in given if surface.combine == "smaller"]
    if not ranked or not any(surface.decides for _, surface in given):
        return
    larger = [s for _, s in given if s.decides and s.combine == "larger"]
    least = min((_contact_of(surface).friction[0] for surface in larger), default=float("inf"))
    coefficients = sorted({sliding for _, sliding in ranked}, reverse=True)
    below = sum(sliding > least for sliding in coefficients)
    for geom in spec.geoms:
        if geom.priority > 0:
            geom.priority += below if geom.priority == 1 else len(coefficients)
    rank = {sliding: 1 + at + (at >= below) for at, sliding in enumerate(coefficients)}
    for geom, sliding in ranked:
        geom.priority = rank[sliding]


def add_combined_pairs(spec: mujoco.MjSpec, world: World, touching: Sequence[Touching]) -> None:
    """Add contact pairs for shapes whose contact parameters cannot be combined by priorities.

    These get the smaller sliding friction, the larger torsional and rolling friction, and the product of the
    restitutions, as in DART (ContactConstraint.cpp). Few pairs are needed: those of shapes that bounce or have
    torsional or rolling friction, and some of those with shapes that combine by the larger coefficient.

    Args:
        spec: The specification, with all priorities, exclusions and pairs of contact materials.
        world: The world.
        touching: Each colliding geom of the world, and its surface.
    """
    groups: dict[_Group, list[tuple[mujoco.MjsGeom, Surface]]] = {}
    for geom, surface in touching:
        if surface is not None and geom.priority > 0:
            group = _Group(_contact_of(surface), surface.combine == "smaller", int(geom.priority))
            groups.setdefault(group, []).append((geom, surface))
    if not any(group.is_smaller for group in groups):
        return
    filters = ContactFilter(spec)
    paired = {frozenset((pair.geomname1, pair.geomname2)) for pair in spec.pairs}
    found = []
    for one, other in combinations_with_replacement(groups, 2):
        wanted = _combined(one.contact, other.contact)
        if not (one.is_smaller or other.is_smaller) or _decided(one, other) == wanted:
            continue
        pairs = combinations(groups[one], 2) if one is other else product(groups[one], groups[other])
        for first, second in pairs:
            names = frozenset((first[0].name, second[0].name))
            if filters.meet(first, second) and ("" in names or names not in paired):
                found.append((first[0], second[0], wanted))
            if len(found) > MAX_PAIRS:
                message = (
                    f"more than {MAX_PAIRS} contacts of shapes with `combine: smaller` would need contact pairs of "
                    "their own; further ones have the friction and restitution of the shape with the smaller friction"
                )
                warnings.warn(WorldWarning(str(Problem(NOWHERE, "bodies", message))), stacklevel=2)
                break
        else:
            continue
        break
    integrator = integrator_of(world)
    for number, (first, second, wanted) in enumerate(found[:MAX_PAIRS]):
        for geom in (first, second):
            geom.name = geom.name or f"{_GEOM}{number}/{geom is second:d}"
        pair = spec.add_pair(name=f"{_PAIR}{number}", geomname1=first.name, geomname2=second.name)
        sliding, torsional, rolling = wanted.friction
        pair.friction, pair.condim = [sliding, sliding, torsional, rolling, rolling], wanted.dimensions
        if wanted.restitution:
            shortest = spec.option.timestep / largest_timestep(wanted.restitution, 1.0, integrator)
            pair.solref = solref(wanted.restitution, max(wanted.contact_time, shortest))
            pair.solimp = (IMPEDANCE, IMPEDANCE, 0.001, 0.5, 2.0)


def _contact_of(surface: Surface) -> _Contact:
    friction, dimensions = friction_of(surface)
    return _Contact(tuple(friction), dimensions, surface.restitution or 0.0, surface.contact_time)


def _combined(one: _Contact, other: _Contact) -> _Contact:
    """Return the parameters of a contact to which the smaller coefficient applies."""
    (sliding, *rest), (others_sliding, *others_rest) = one.friction, other.friction
    restitution = one.restitution * other.restitution
    return _Contact(
        (min(sliding, others_sliding), *map(max, rest, others_rest)),
        max(one.dimensions, other.dimensions),
        restitution if restitution > _LEAST_RESTITUTION else 0.0,
        max(one.contact_time, other.contact_time),
    )


def _decided(one: _Group, other: _Group) -> _Contact | None:
    """Return the parameters that MuJoCo would give a contact; None if it would mix restitutions."""
    if one.priority != other.priority:
        return max(one, other, key=lambda group: group.priority).contact
    first, second = one.contact, other.contact
    if first.restitution or second.restitution:
        return None
    friction = tuple(map(max, first.friction, second.friction))
    return _Contact(
        friction, max(first.dimensions, second.dimensions), 0.0, max(first.contact_time, second.contact_time)
    )
