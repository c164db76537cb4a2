"""Constraints between bodies besides the joints of the tree, and pairs of bodies that do not touch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.declared import BAD, Spread, declared, given, place_of
from sim_node.world.fields import floats
from sim_node.world.model import World
from sim_node.world.part import PARTS, Kind, Refer, Rename, entries_of_kind, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.quantities import FrameName, Number, Pair, PartOf, Text
from sim_node.world.readers.keys import listing
from sim_node.world.readers.yaml_poses import UNMOVED, Pose
from sim_node.world.readers.yaml_section import Context, listed, section
from sim_node.world.readers.yaml_values import Value

_LENGTH = Number(0.0, MAX_DISTANCE)


@declared(define="loop closure end")
class End:
    """The connector at one end."""

    frame: str = given(FrameName(), "The frame of a body")
    pose: FloatArray = given(Pose(), "Its pose in the frame", "m", default=UNMOVED)


_ENDS = Pair(PartOf(End), noun="ends")


def _read_ends(value: Value, context: Any) -> dict[str, Any]:
    ends = [end for end in _ENDS.read(value, context) if end is not BAD]
    return {"frames": tuple(end.frame for end in ends), "poses": np.array([end.pose for end in ends])}


def _ends_data(of: LoopClosure) -> Any:
    return _ENDS.data([End(*end) for end in zip(of.frames, of.poses, strict=True)], str)


@declared(
    spread={"between": Spread(("frames", "poses"), _ENDS.form("The two ends."), _read_ends, _ends_data)},
    needs={"between is missing": ("between",)},
)
class LoopClosure:
    """A constraint between two frames that closes a kinematic loop.

    Raises:
        ValueError: `poses` has the wrong shape.
    """

    name: str = given(Text(least=1), "Its name, unique in the world")
    # A key of MATES.
    kind: str = given(Text(least=1), "What is held: ball, hinge, distance or lock", key="type")
    frames: tuple[str, str] = given(None, "Names of the two frames")
    poses: FloatArray = given(None, "Pose (2, 7) of the connector in each frame", "m")
    distance: float = given(_LENGTH, "Distance of the ends, for the type distance", "m", default=0.0, omit=True)
    # 0 for as fast as the timestep allows.
    relaxation: float = given(Number(0.0), "Time in which they take it", "s", default=0.0, omit=True)
    place: Place = place_of(default=NO_PLACE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "poses", floats(self.poses, (2, 7), self.name, "poses"))

    __hash__ = None  # type: ignore[assignment]


class ContactExclusion(NamedTuple):
    """Two bodies, by name, whose contacts are ignored."""

    first: str
    second: str


@part("loop_closures", LoopClosure)
class LoopClosures(Kind[LoopClosure]):
    """Constraints of bodies besides the joints of the tree."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of names and frames."""
        kinds = PARTS.values() if self.parts(world) else ()
        frames = {entry.name for kind in kinds for entry in entries_of_kind(kind, world)} | {world.fixed_frame}
        names: set[str] = set()
        for closure, place in self.located(world):
            if closure.name in names:
                yield place.problem(f"a second loop closure {quoted(closure.name)}")
            names.add(closure.name)
            for frame in closure.frames:
                if frame not in frames:
                    yield place.problem(f"no frame {quoted(frame)}{did_you_mean(frame, frames)}")

    def renamed(self, part: LoopClosure, rename: Rename) -> LoopClosure:
        """Return the constraint between the same frames."""
        first, second = map(rename.frame, part.frames)
        return replace(part, name=rename.under(part.name), frames=(first, second))


@part("contact_exclusions", ContactExclusion)
class ContactExclusions(Kind[ContactExclusion]):
    """Pairs of bodies whose contacts are ignored."""

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add the pairs."""
        sections[self.name] = [list(pair) for pair in self.parts(world)]

    def renamed(self, part: ContactExclusion, rename: Rename) -> ContactExclusion:
        """Return the same pair."""
        return ContactExclusion(*map(rename.frame, part))


listed("loop_closures", "Constraints that close loops of bodies.", LoopClosure)
_TWO = Pair(FrameName(), noun="bodies")


@section("contact_exclusions", listing("Pairs of bodies that do not touch.", _TWO.form("")))
def read_contact_exclusions(value: Value, context: Context) -> None:
    """Read a list of pairs of bodies."""
    for entry in value.items():
        errors = len(entry.report.errors)
        names = _TWO.read(entry, context)
        if len(entry.report.errors) == errors:
            context.add(ContactExclusion(*names))
