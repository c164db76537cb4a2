"""Parts of a world that exist only for scene graphs: actors (assets, effectors, other components) and resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sim_node.extensions.aerosim.json_text import keys_of
from sim_node.text import did_you_mean
from sim_node.world.declared import declared, given, place_of
from sim_node.world.fields import compared
from sim_node.world.model import World
from sim_node.world.part import PARTS, Kind, Refer, Rename, entries_of_kind, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.quantities import FrameName, ListOf, Other, PartOf, Text
from sim_node.world.readers.keys import ANYTHING, by_name
from sim_node.world.readers.yaml_section import Context, listed, section
from sim_node.world.readers.yaml_values import Value

if TYPE_CHECKING:
    from sim_node.extensions.aerosim.graph import Json

_DATA = Other(lambda about: {"type": "object"}, keys_of)


@declared
class EffectorPart:
    """An effector of an actor: its frame, its id in the scene graph, and where it is in the asset."""

    frame: str = given(FrameName(), "The frame of the effector")
    id: str = given(Text(), "Its id in the scene graph")
    path: str = given(Text(), "Where it is in the asset", default="", omit=True)
    extra: Mapping[str, Json] = given(_DATA, "Further keys", default_factory=dict, omit=True)


@declared
class Actor:
    """A frame as an entity of a scene graph. Without an id it gets the next free one."""

    frame: str = given(FrameName(), "The frame that is an entity of a scene graph")
    id: str = given(Text(), "Its id in the scene graph", default="", omit=True)
    asset: str = given(Text(), "Where its 3D model is", default="", omit=True)
    effectors: tuple[EffectorPart, ...] | None = given(ListOf(PartOf(EffectorPart)), "Its effectors", default=None)
    sensor: Mapping[str, Json] | None = given(_DATA, "The component `sensor` of the file, if it had one", default=None)
    components: Mapping[str, Json] = given(_DATA, "Components of further groups", default_factory=dict, omit=True)
    extra: Mapping[str, Json] = given(
        _DATA, "Further keys of actor_properties and actor_state, by group", default_factory=dict, omit=True
    )
    place: Place = place_of("frame", default=NO_PLACE)


@compared
class Resource:
    """A resource of a scene graph, such as weather: a value of JSON under a name."""

    name: str
    value: Json
    place: Place = NO_PLACE


@part("actors", Actor)
class Actors(Kind[Actor]):
    """Frames with their scene graph data."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return problems: actors of missing frames, several actors of one frame, and effectors in wrong places."""
        if not self.parts(world):
            return
        frames = {entry.name for kind in PARTS.values() for entry in entries_of_kind(kind, world)}
        seen: set[str] = set()
        for actor in self.parts(world):
            for name in (actor.frame, *(each.frame for each in actor.effectors or ())):
                if name not in frames:
                    hint = did_you_mean(name, frames)
                    yield Problem(actor.place.where, actor.place.key, f"no frame {quoted(name)}{hint}")
                elif name in seen:
                    yield Problem(actor.place.where, actor.place.key, f"{quoted(name)} is an actor or effector already")
                seen.add(name)

    def renamed(self, part: Actor, rename: Rename) -> Actor:
        """Return the actor of the renamed frame. Entities of an included scene get new ids."""
        parts = part.effectors and tuple(replace(each, frame=rename.frame(each.frame)) for each in part.effectors)
        return replace(part, frame=rename.frame(part.frame), id="" if rename.prefix else part.id, effectors=parts)


@part("resources", Resource)
class SceneResources(Kind[Resource]):
    """Resources of the scene by name."""

    def data(self, part: Resource, refer: Refer) -> dict[str, Any]:
        """Return the value under its name."""
        return {part.name: part.value}

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add them as a mapping by name."""
        for each in self.parts(world):
            sections.setdefault(self.section, {})[each.name] = each.value

    def problems(self, world: World) -> Iterator[Problem]:
        """Return problems: names that two included scenes both define."""
        seen: dict[str, Resource] = {}
        for each in self.parts(world):
            first = seen.setdefault(each.name, each)
            if first is not each and first.value != each.value:
                yield Problem(each.place.where, each.place.key, f"{quoted(each.name)} differs from {first.place.where}")


listed("actors", "What scene graphs say of frames.", Actor)


@section("resources", by_name("Resources of scene graphs, such as weather.", ANYTHING))
def read_resources(value: Value, context: Context) -> None:
    """Read a mapping of resources."""
    for name, found in keys_of(value).items():
        context.add(Resource(name, found, value.place))
