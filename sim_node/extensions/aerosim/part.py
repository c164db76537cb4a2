"""What only scene graphs have, as parts of a world: actors (assets, effectors, free components) and resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from sim_node.extensions.aerosim.graph import Json
from sim_node.extensions.aerosim.reading import keys_of
from sim_node.text import did_you_mean
from sim_node.world.fields import compared
from sim_node.world.model import World
from sim_node.world.part import PARTS, Kind, Refer, Rename, part
from sim_node.world.part_checks import entries_of_kind
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.readers.keys import ANYTHING, Keys, by_name, frame, listing, text
from sim_node.world.readers.yaml_section import Context, frame_name, section
from sim_node.world.readers.yaml_values import Value

_MAPPING = {"type": "object"}
EFFECTOR_KEYS = Keys(
    {
        "frame": frame("The frame of the effector."),
        "id": text("Its id in the scene graph."),
        "path": text("Where it is in the asset."),
        "extra": _MAPPING,
    },
    required=("frame", "id"),
)
ACTOR_KEYS = Keys(
    {
        "frame": frame("The frame that is an entity of a scene graph."),
        "id": text("Its id in the scene graph."),
        "asset": text("Where its 3D model is."),
        "effectors": listing("Its effectors.", EFFECTOR_KEYS),
        "sensor": _MAPPING,
        "components": _MAPPING,
        "extra": _MAPPING,
    },
    required=("frame",),
)


@compared
class Part:
    """An effector of an actor: its frame, its id in the scene graph, and where it is in the asset."""

    frame: str
    id: str
    path: str = ""
    extra: Mapping[str, Json] = field(default_factory=dict)


@compared
class Actor:
    """A frame as an entity of a scene graph.

    Attributes:
        frame: The frame.
        id: Its id in the scene graph; empty for the next free one.
        asset: Where its 3D model is.
        effectors: Its effectors; their frames are below its own.
        has_effectors: Whether it has the component, which may be empty.
        sensor: The component `sensor` of the file, if it had one.
        components: Components of further groups.
        extra: Further keys of actor_properties and actor_state, by group.
        place: Where the file describes it.
    """

    frame: str
    id: str = ""
    asset: str = ""
    effectors: tuple[Part, ...] = ()
    has_effectors: bool = False
    sensor: Mapping[str, Json] | None = None
    components: Mapping[str, Json] = field(default_factory=dict)
    extra: Mapping[str, Json] = field(default_factory=dict)
    place: Place = NO_PLACE


@compared
class Resource:
    """A resource of a scene graph, such as weather: a value of JSON under a name."""

    name: str
    value: Json
    place: Place = NO_PLACE


@part("actors", Actor)
class Actors(Kind[Actor]):
    """Frames with what scene graphs say of them."""

    def data(self, part: Actor, refer: Refer) -> dict[str, Any]:
        """Return what is given."""
        effectors = [
            {key: value for key, value in zip(("frame", "id", "path", "extra"), _fields(each), strict=True) if value}
            for each in part.effectors
        ]
        data = {
            "frame": part.frame,
            "id": part.id,
            "asset": part.asset,
            "effectors": effectors if part.has_effectors else None,
            "sensor": part.sensor,
            "components": dict(part.components),
            "extra": dict(part.extra),
        }
        return {key: value for key, value in data.items() if value or isinstance(value, list)}

    def problems(self, world: World) -> Iterator[Problem]:
        """Return actors of frames that do not exist, second actors of a frame, and effectors that are elsewhere."""
        if not self.parts(world):
            return
        frames = {entry.name for kind in PARTS.values() for entry in entries_of_kind(kind, world)}
        seen: set[str] = set()
        for actor in self.parts(world):
            for name in (actor.frame, *(each.frame for each in actor.effectors)):
                if name not in frames:
                    hint = did_you_mean(name, frames)
                    yield Problem(actor.place.where, actor.place.key, f"no frame {quoted(name)}{hint}")
                elif name in seen:
                    yield Problem(actor.place.where, actor.place.key, f"{quoted(name)} is an actor or effector already")
                seen.add(name)

    def renamed(self, part: Actor, rename: Rename) -> Actor:
        """Return the actor of the renamed frame. Ids of an included scene are given anew."""
        parts = tuple(replace(each, frame=rename.frame(each.frame)) for each in part.effectors)
        return replace(part, frame=rename.frame(part.frame), id="" if rename.prefix else part.id, effectors=parts)


@part("resources", Resource)
class Resources(Kind[Resource]):
    """Resources of the scene by name."""

    def data(self, part: Resource, refer: Refer) -> dict[str, Any]:
        """Return the value under its name."""
        return {part.name: part.value}

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add them as a mapping by name."""
        for each in self.parts(world):
            sections.setdefault(self.section, {})[each.name] = each.value

    def problems(self, world: World) -> Iterator[Problem]:
        """Return names that are given twice, by two included scenes."""
        seen: dict[str, Resource] = {}
        for each in self.parts(world):
            first = seen.setdefault(each.name, each)
            if first is not each and first.value != each.value:
                yield Problem(each.place.where, each.place.key, f"{quoted(each.name)} differs from {first.place.where}")


def _fields(each: Part) -> tuple[Any, ...]:
    return each.frame, each.id, each.path, dict(each.extra)


@section("actors", listing("What scene graphs say of frames.", ACTOR_KEYS))
def read_actors(value: Value, context: Context) -> None:
    """Read a list of actors."""
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(ACTOR_KEYS)
        frame, id, asset, effectors = (table.get(key) for key in ("frame", "id", "asset", "effectors"))
        name = frame_name(frame)
        fields: dict[str, Any] = {
            "id": "" if id is None else id.text(),
            "asset": "" if asset is None else asset.text(),
            "effectors": () if effectors is None else tuple(_effector(each) for each in effectors.items()),
            "has_effectors": effectors is not None,
        }
        for key in ("sensor", "components", "extra"):
            given = table.get(key)
            if given is not None:
                fields[key] = keys_of(given)
        if name and len(entry.report.errors) == errors:
            context.add(Actor(name, place=entry.place if frame is None else frame.place, **fields))


@section("resources", by_name("Resources of scene graphs, such as weather.", ANYTHING))
def read_resources(value: Value, context: Context) -> None:
    """Read a mapping of resources."""
    for name, given in keys_of(value).items():
        context.add(Resource(name, given, value.place))


def _effector(value: Value) -> Part:
    table = value.table(EFFECTOR_KEYS)
    id, path, extra = (table.get(key) for key in ("id", "path", "extra"))
    return Part(
        frame_name(table.get("frame")),
        "" if id is None else id.text(),
        "" if path is None else path.text(),
        {} if extra is None else keys_of(extra),
    )
