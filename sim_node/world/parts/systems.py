"""Systems and attachments as parts of a world, which the assembly converts to frames, bodies and loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sim_node.world.mates import Attachment
from sim_node.world.model import World
from sim_node.world.part import Entry, Kind, Refer, Rename, part
from sim_node.world.problems import Problem, Where
from sim_node.world.systems import System
from sim_node.world.writers.systems import system_data


@part("systems", System)
class Systems(Kind[System]):
    """Bodies, shapes and connectors that mates assemble."""

    frame = "name"

    def data(self, part: System, refer: Refer) -> dict[str, Any]:
        """Return it with everything that it owns, and its parent."""
        data = system_data(part, refer)
        return {"name": data.pop("name"), **({"parent": part.parent} if part.parent else {}), **data}

    def entries(self, world: World) -> Iterator[Entry]:
        """Return each system and all systems and bodies in it, which become frames in the assembly."""
        for system in self.parts(world):
            for path, of in system.frames():
                if of is system:
                    parent = system.parent or world.fixed_frame
                    yield Entry(path, parent, None, of.place, system.parent_place, system)
                else:
                    yield Entry(path, path.rpartition("/")[0], None, of.place, of.place, of)

    def problems(self, world: World) -> Iterator[Problem]:
        """Return a problem if there are any: a world must be assembled before it is laid out."""
        if any((self.parts(world), world.of(Attachment))):
            message = "are not assembled; call sim_node.assembly.assemble(world)"
            yield Problem(Where(world.source), "systems", message)


@part("attachments", Attachment)
class Attachments(Kind[Attachment]):
    """Frames and sensors whose poses follow from mates."""

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add each as the mate of its frame or sensor, in place of a pose."""
        entries = {entry["name"]: entry for key in ("frames", "sensors") for entry in sections.get(key, ())}
        for attachment in self.parts(world):
            if attachment.frame in entries:
                entries[attachment.frame].pop("pose", None)
                entries[attachment.frame]["mate"] = attachment.data()

    def renamed(self, part: Attachment, rename: Rename) -> Attachment:
        """Return the same frame at the same connector."""
        first, second = map(rename.frame, part.mate.connectors)
        return replace(part, frame=rename.frame(part.frame), mate=replace(part.mate, connectors=(first, second)))
