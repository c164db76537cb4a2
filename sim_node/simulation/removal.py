"""Removal of named parts from a world, with everything that depends on them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from sim_node.text import did_you_mean
from sim_node.world.bases import Base
from sim_node.world.bodies import Body
from sim_node.world.checks import entries_of
from sim_node.world.joint_commands import JointCommands
from sim_node.world.model import Sensor, World
from sim_node.world.models import Model
from sim_node.world.part import Kind, Rename, all_parts
from sim_node.world.problems import quoted, refuse
from sim_node.world.sensor_types import naming
from sim_node.world.vehicles import Multirotor


def without(world: World, name: str) -> World:
    """Remove what has a name or is in its namespace, and everything that depends on it.

    These are the frames, bodies, joints and sensors below it, and vehicles, forces, loop closures, actuators and
    commands that refer to any of them. Joints that mimic a removed joint become free to move.

    Args:
        world: The world.
        name: A frame, a body, a vehicle, a model (by its prefix or its name), a prefix of included names, or a loop
            closure.

    Returns:
        The world without them.

    Raises:
        WorldError: There is no such name, it is the fixed frame, or a link of a model, which is removed as a whole.
    """
    name = name.removesuffix("/")
    if name == world.fixed_frame:
        refuse(name, "is the fixed frame, which stays")
    owned = _owned(world)
    gone = _named(world, name, [frame for _, _, frames in owned for frame in frames])
    gone |= _below(world, gone)
    mentioned = gone | {name}
    for kind, part, frames in owned:
        if not gone.isdisjoint(frames):
            if not gone.issuperset(frames):
                refuse(name, f"is a part of {_title(kind, part)}, which is removed as a whole")
            mentioned.update(_joints(part))
    lost = _referring(world, [(kind, part) for kind, part, frames in owned if not frames], mentioned)
    parts: dict[str, tuple[Any, ...]] = {}
    for kind, part, frames in owned:
        if gone.isdisjoint(frames) and id(part) not in lost:
            parts[kind.name] = (*parts.get(kind.name, ()), _pruned(part, mentioned))
    return replace(world, parts=parts)


def _referring(world: World, parts: list[tuple[Kind[Any], Any]], mentioned: set[str]) -> set[int]:
    """Return the ids of parts that refer to a mentioned name. Names of vehicles among them are mentioned then, too."""
    lost: set[int] = set()
    while found := [(k, p) for k, p in parts if id(p) not in lost and _refers(k, p, world, mentioned)]:
        lost.update(id(part) for _, part in found)
        mentioned.update(part.name for _, part in found if isinstance(part, Multirotor))
    return lost


def _below(world: World, frames: set[str]) -> set[str]:
    """Return all frames below some frames."""
    children: dict[str, list[str]] = {}
    for entry in entries_of(world)[1:]:
        children.setdefault(entry.parent, []).append(entry.name)
    found: set[str] = set()
    open_frames = list(frames)
    while open_frames:
        inner = [frame for frame in children.get(open_frames.pop(), ()) if frame not in found]
        found.update(inner)
        open_frames += inner
    return found


@dataclass(frozen=True)
class _Mentions(Rename):
    """A Rename that changes no names, but records those that a part refers to."""

    noted: set[str] = field(default_factory=set)

    def frame(self, name: str) -> str:
        self.noted.add(name)
        return name

    under = frame


def _refers(kind: Kind[Any], part: Any, world: World, names_of: set[str]) -> bool:
    mentions = _Mentions("", world.fixed_frame, world.fixed_frame)
    kind.renamed(part, mentions)
    # A group of named joints is kept as long as any of its joints is left.
    joints = part.joints if isinstance(part, JointCommands) else ()
    noted = mentions.noted.difference(joints)
    return not noted.isdisjoint(names_of) or bool(joints and names_of.issuperset(joints))


def _pruned(part: Any, gone: set[str]) -> Any:
    """Return a part without references to removed joints."""
    if isinstance(part, Body) and part.mimic is not None and part.mimic.joint in gone:
        return replace(part, mimic=None)
    if isinstance(part, JointCommands) and not gone.isdisjoint(part.joints):
        return replace(part, joints=tuple(joint for joint in part.joints if joint not in gone))
    if isinstance(part, Sensor):
        listed = {key: part.parameters.get(key, ()) for key in naming(part.type)}
        left = {key: [name for name in value if name not in gone] for key, value in listed.items()}
        # A list that would become empty is kept, so that the sensor reports the missing names when it is opened.
        fewer = {key: value for key, value in left.items() if value and len(value) < len(listed[key])}
        return replace(part, parameters={**part.parameters, **fewer}) if fewer else part
    return part


def _owned(world: World) -> list[tuple[Kind[Any], Any, tuple[str, ...]]]:
    """Return each part of a world with its kind and its frames."""
    found = []
    for kind, part in all_parts(world):
        if kind.frame:
            frames: tuple[str, ...] = (getattr(part, kind.frame),)
        else:
            alone = World("", world.fixed_frame, parts={kind.name: (part,)})
            frames = tuple(entry.name for entry in kind.entries(alone))
        found.append((kind, part, frames))
    return found


def _named(world: World, name: str, known: list[str]) -> set[str]:
    """Return the frames that a name stands for. Raises WorldError if there are none and nothing else has the name."""
    found = {frame for frame in known if frame == name or frame.startswith(f"{name}/")}
    vehicles: list[Multirotor | Base] = [*world.vehicles, *world.bases]
    found.update(vehicle.body for vehicle in vehicles if vehicle.name == name)
    for model in world.models:
        if name in (model.prefix, model.name if not model.prefix else ""):
            found.update(model.full_name(link.name) for link in model.links)
    others = [*(vehicle.name for vehicle in vehicles), *(closure.name for closure in world.loop_closures)]
    if not found and name not in others:
        hint = did_you_mean(name, [*known, *others, *filter(None, (model.prefix for model in world.models))])
        refuse(name, f"there is nothing of this name{hint}")
    return found


def _joints(part: Any) -> list[str]:
    """Return the names of the joints of a part."""
    if isinstance(part, Body):
        return [part.name, *(joint.name for joint in part.joints)]
    return [part.full_name(joint.name) for joint in part.joints()] if isinstance(part, Model) else []


def _title(kind: Kind[Any], part: Any) -> str:
    return f"the {kind.name.removesuffix('s')} {quoted(getattr(part, 'prefix', '') or getattr(part, 'name', ''))}"
