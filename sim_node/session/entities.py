"""Entities: the vehicles, models and loose bodies that a user would count in a world, and filters for them.

An entity is a body, a model or a keyframed frame, with everything attached to it by joints and mounts. A body
that floats free is an entity of its own, whatever its parent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

from sim_node import names
from sim_node.mavlink.ports import PortInUse
from sim_node.session.expressions import BadExpression, Expression
from sim_node.simulation import Refused
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import MAX_LINE, did_you_mean, shown
from sim_node.world.bodies import Body
from sim_node.world.layout import Layout
from sim_node.world.model import StaticFrame, World
from sim_node.world.models import Model, ModelLink
from sim_node.world.problems import RunFailed, WorldError

_FREEDOM = 6


class Rejected(Exception):
    """A request that cannot be carried out. Nothing has changed.

    Args:
        code: Name of a simulation_interfaces result code, such as NOT_FOUND.
        reason: One line for the caller.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@contextmanager
def rejecting() -> Iterator[None]:
    """Convert errors of the run inside a block to Rejected (OPERATION_FAILED)."""
    try:
        yield
    except (WorldError, Refused, RunFailed, PortInUse, ValueError, KeyError) as error:
        reason = error.args[0] if isinstance(error, KeyError) and error.args else error
        raise Rejected("OPERATION_FAILED", shown(str(reason), MAX_LINE)) from None


class Category(IntEnum):
    """Entity categories, numbered as in simulation_interfaces."""

    OBJECT = 0
    ROBOT = 1
    HUMAN = 2
    DYNAMIC_OBJECT = 4
    STATIC_OBJECT = 5


@dataclass(frozen=True)
class EntityInfo:
    """Information about an entity, apart from its motion.

    Attributes:
        category: One of Category.
        description: One human-readable line.
        tags: Words to filter by.
    """

    category: Category
    description: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entity:
    """An entity.

    Attributes:
        name: Unique among the entities of a run.
        frame: Its canonical link, whose pose and twist are those of the entity.
        rows: Rows of its frames in the frame table.
        info: Category, description and tags.
        loose: Whether it floats free.
    """

    name: str
    frame: str
    rows: tuple[int, ...]
    info: EntityInfo
    loose: bool = False


@dataclass(frozen=True)
class Filters:
    """Filters for entities. An empty filter matches everything.

    Attributes:
        expression: A POSIX extended regular expression that some part of the name must match.
        categories: Numbers of the allowed categories.
        tags: Tags that an entity must have: any of them, or all.
        all_tags: Whether an entity must have all tags.
        bounds: Type and points (P, 3) of a region in the fixed frame, m; type 0 for no region.
    """

    expression: str = ""
    categories: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    all_tags: bool = False
    bounds: tuple[int, Sequence[Sequence[float]]] = (0, ())


class NamedPose(NamedTuple):
    """A named pose in the world.

    Attributes:
        name: Its name.
        description: A one-line description.
        tags: Tags to find it by.
        pose: Its pose (7,) in the fixed frame, m.
        size: Lengths (3,) of the box around it, along its axes, m; None for a point.
    """

    name: str
    description: str
    tags: tuple[str, ...]
    pose: FloatArray
    size: FloatArray | None = None


def entities_of(
    world: World, layout: Layout, spawned: Collection[str] = (), given: Mapping[str, EntityInfo] | None = None
) -> dict[str, Entity]:
    """Return the entities of a world.

    Args:
        world: The assembled world.
        layout: Its layout.
        spawned: Name prefixes of what was added to the run. All frames below a prefix form one entity of that name.
        given: Information that overrides the world's, by entity name.

    Returns:
        The entities by name, in frame order.
    """
    frames, parts = layout.frames, dict(layout.parts)
    groups = _groups(layout, parts)
    found: dict[str, Entity] = {}
    for name in spawned:
        rows = {row for row, frame in enumerate(frames.names) if frame == name or frame.startswith(f"{name}/")}
        tops = [top for top in groups if top in rows]
        rows.update(*(groups.pop(top) for top in tops))
        if rows:
            top = tops[0] if len(tops) == 1 else min(rows)
            found[name] = _entity(world, layout, parts, top, sorted(rows), name)
    for top, members in groups.items():
        entity = _entity(world, layout, parts, top, members, "")
        found[entity.name if entity.name not in found else frames.names[top]] = entity
    named = {name: replace(entity, name=name) for name, entity in found.items()}
    for name, info in (given or {}).items():
        if name in named:
            named[name] = replace(named[name], info=info)
    return dict(sorted(named.items(), key=lambda item: item[1].rows[0]))


def _groups(layout: Layout, parts: Mapping[int, object]) -> dict[int, list[int]]:
    """Return the rows of each entity by its top row."""
    frames = layout.frames
    owners = [-1] * len(frames)
    roots: dict[int, int] = {}
    for row, parent in enumerate(frames.parents.tolist()):
        part = parts.get(row)
        above = owners[parent] if parent >= 0 else -1
        if above < 0 and isinstance(part, ModelLink):  # its links may have several roots
            above = roots.setdefault(id(part.model), row)
        solid = isinstance(part, Body | ModelLink) or not frames.static[row]
        owners[row] = row if parent >= 0 and solid and (above < 0 or _floats(part)) else above
    groups: dict[int, list[int]] = {}
    for row, owner in enumerate(owners):
        if owner >= 0:
            groups.setdefault(owner, []).append(row)
    return groups


def _floats(part: object) -> bool:
    """Return whether a body or link has all six degrees of freedom."""
    if isinstance(part, Body):
        return sum(each.qd_size for each in part.type.parts) == _FREEDOM
    return isinstance(part, ModelLink) and any(joint.kind == "free" for joint in part.link.joints)


def _entity(
    world: World, layout: Layout, parts: Mapping[int, object], top: int, rows: Sequence[int], name: str
) -> Entity:
    frames = layout.frames
    frame = frames.names[top]
    held = {frames.names[row] for row in rows}
    members = [part for part in map(parts.get, rows) if part is not None]
    models = _models(members)
    vehicle = next((each for each in world.vehicles if each.body in held), None)
    joints = sum(joint.kind != "free" for model in models for joint in model.joints())
    still = all(frames.static[row] for row in rows) and frames.still[top]
    if vehicle is not None:
        own, about, tag = vehicle.name, f"multirotor with {len(vehicle.rotors)} rotors", "multirotor"
    elif models:
        own, about, tag = models[0].prefix.strip("/") or models[0].name, f"model with {joints} joints", "model"
    else:
        own, about, tag = "", *_described(members, still=still)
    category = Category.STATIC_OBJECT if still else Category.DYNAMIC_OBJECT
    if vehicle or joints or not held.isdisjoint(actuator.joint for actuator in world.actuators):
        category = Category.ROBOT
    info = EntityInfo(category, about, ("spawned", tag) if name else (tag,))
    return Entity(name or _shortened(own, frame), frame, tuple(rows), info, _floats(parts.get(top)))


def _models(parts: Iterable[object]) -> list[Model]:
    return list({id(part.model): part.model for part in parts if isinstance(part, ModelLink)}.values())


def _described(parts: Iterable[object], *, still: bool) -> tuple[str, str]:
    """Return the description and the tag of something that is neither a vehicle nor a model."""
    if bodies := sum(isinstance(part, Body) for part in parts):
        return "body" if bodies == 1 else f"{bodies} bodies on joints", "body"
    return ("frames", "frames") if still else ("moves along keyframes", "keyframes")


def _shortened(name: str, frame: str) -> str:
    """Return an entity's name, derived from its frame: for NAMESPACE/base_link, the namespace."""
    short = frame.rpartition("/")[0] if name in ("", frame) and names.last(frame) == names.BASE_LINK else name
    return short or frame


def find_entity(entities: Mapping[str, Entity], name: str) -> Entity:
    """Return an entity by name. Raises Rejected (NOT_FOUND) with the nearest existing name."""
    entity = entities.get(name)
    if entity is None:
        raise Rejected("NOT_FOUND", f"no entity {shown(name)!r}{did_you_mean(name, entities)}")
    return entity


def matching(entities: Iterable[Entity], filters: Filters) -> list[Entity]:
    """Return the entities that match all filters except bounds, in order.

    Raises Rejected (OPERATION_FAILED) for an invalid expression.
    """
    try:
        wanted = Expression(filters.expression) if filters.expression else None
    except BadExpression as error:
        raise Rejected("OPERATION_FAILED", f"filter {shown(filters.expression)!r}: {error}") from None
    return [
        entity
        for entity in entities
        if (wanted is None or wanted.search(entity.name))
        and (not filters.categories or entity.info.category in filters.categories)
        and has_tags(entity.info.tags, filters.tags, all_tags=filters.all_tags)
    ]


def has_tags(tags: Collection[str], wanted: Collection[str], *, all_tags: bool = False) -> bool:
    """Return whether tags pass a filter of wanted tags (any or all of them). An empty filter passes everything."""
    return not wanted or (all if all_tags else any)(tag in tags for tag in wanted)


def named_poses(world: World, layout: Layout, entities: Mapping[str, Entity]) -> Iterator[tuple[StaticFrame, int]]:
    """Yield each plain frame that is fixed relative to the fixed frame, such as a pad or a goal, and its row.

    Frames of entities, roots of included worlds and frames that carry entities are left out.
    """
    frames = layout.frames
    taken = {row for entity in entities.values() for row in entity.rows}
    carrying = {above for row in taken for above in frames.chain(row)}
    plain = {part.name for part in world.of(StaticFrame)}
    for row, part in layout.parts:
        if type(part) is StaticFrame and row not in carrying and part.name in plain and frames.still[row]:
            yield part, row
