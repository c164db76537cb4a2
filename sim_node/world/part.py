"""Parts, which a world consists of. A new kind of part is one file with a class and its `@part` entry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, get_args

import numpy as np

from sim_node import names
from sim_node.registry import Registry
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import declared, kinds
from sim_node.world.kinds import Mobility as Mobility
from sim_node.world.kinds import kind_of as kind_of
from sim_node.world.model import World
from sim_node.world.problems import NO_PLACE, Place, Problem, Where, shown_key
from sim_node.world.writers.values import data_of

P = TypeVar("P")
# Returns how a world file refers to another file.
Refer = Callable[[Path], str]

# Tolerance of the norm of a quaternion.
_UNIT = 1e-6


class NamedNumbers(NamedTuple):
    """Named numbers of a run: a row of a column, and a label for each number."""

    column: str
    row: int
    labels: tuple[str, ...]


class Placement(Protocol):
    """The pose and mobility of a frame. A "mountable" one also has a method moves() -> bool."""

    @property
    def mobility(self) -> Mobility:
        """Whether it moves in the parent frame."""

    def start(self) -> FloatArray:
        """Return the pose (7,) in the parent frame at the start."""


class FrameEntry(NamedTuple):
    """A frame of the tree.

    Attributes:
        name: The frame.
        parent: Its parent.
        of: Its pose and mobility; None for a frame that is always at its parent.
        place: Location of the name in a file.
        parent_place: Location of the parent in a file.
        part: The part that the frame belongs to, by which engines find its row; None for an additional frame of a part.
    """

    name: str
    parent: str
    of: Placement | None
    place: Place
    parent_place: Place
    part: object = None

    def problem(self, message: str) -> Problem:
        """Return a problem of the frame's name."""
        return Problem(self.place.where, self.place.key or shown_key(self.name), message)

    def parent_problem(self, message: str) -> Problem:
        """Return a problem of the frame's parent."""
        return Problem(self.parent_place.where, self.parent_place.key or shown_key(self.name), message)


@dataclass(frozen=True)
class Rename:
    """How names of an included world are changed in the including one.

    Attributes:
        prefix: Goes before all names.
        fixed_frame: The fixed frame of the included world.
        root: Its new name.
        place: Location of the include, to report problems of models.
        root_place: Location of `root`, or None.
    """

    prefix: str
    fixed_frame: str
    root: str
    place: Place = NO_PLACE
    root_place: Place | None = None

    def frame(self, name: str) -> str:
        """Return the new name of a frame."""
        return self.root if name == self.fixed_frame else self.under(name)

    def under(self, name: str) -> str:
        """Return the new name of anything else."""
        return names.prefixed(self.prefix, name)

    def below(self, part: Any) -> dict[str, Any]:
        """Return the new `parent` and `parent_place` of a part."""
        on_root = part.parent == self.fixed_frame and self.root_place is not None
        return {"parent": self.frame(part.parent), "parent_place": self.root_place if on_root else part.parent_place}


class Kind(Generic[P]):
    """A kind of part. Subclass it, and register the subclass with `@part`.

    Attributes:
        name: The attribute of a World, and its keyword.
        type: The class of the parts.
        frame: The field with the name of a part's own frame; empty if it has none. Parts with a frame also have the
            fields parent, place and parent_place.
        single: Whether a world has one such part or None, instead of a tuple.
        section: The top-level key of world files that lists the parts; by default the name of the kind.
        starts_programs: Whether parts with a name start programs, in which case those of included worlds are left out.
        blank: For a single part, the data of one with defaults only, which is added to a world without one when a
            number in it is set by key path; None if such a part would be meaningless.
    """

    frame: str = ""
    single: bool = False
    section: str = ""
    starts_programs: bool = False
    blank: Mapping[str, Any] | None = None

    def __init__(self, name: str, part_type: type[P]) -> None:
        self.name, self.type = name, part_type
        self.section = type(self).section or name

    def parts(self, world: World) -> tuple[P, ...]:
        """Return a world's parts of this kind."""
        found: tuple[P, ...] = world.parts.get(self.name, ())
        return found

    def entries(self, world: World) -> Iterable[FrameEntry]:
        """Return the frames of a world's parts of this kind: by default, one for each part."""
        if self.frame:
            for part in self.parts(world):
                of: Any = part
                yield FrameEntry(getattr(part, self.frame), of.parent, of, of.place, of.parent_place, part)

    def located(self, world: World) -> Iterator[tuple[P, Place]]:
        """Yield a world's parts of this kind with their locations: in a file, or by kind and index."""
        for index, each in enumerate(self.parts(world)):
            place: Place = getattr(each, "place", NO_PLACE)
            key = self.name if self.single else f"{self.name}[{index}]"
            yield each, Place(Where(world.source), key) if place == NO_PLACE else place

    def problems(self, world: World) -> Iterable[Problem]:
        """Return every problem of a world's parts of this kind, except for names and parents of frames.

        By default those of declared fields.
        """
        for each, place in self.located(world):
            if declared.is_declared(each):
                yield from (place.problem(message, key) for key, message in declared.faults(each))

    def remarks(self, world: World) -> Iterable[Problem]:
        """Return remarks on what is valid but has no effect, because another part of the world overrides it."""
        return ()

    def misfits(self, run: Any) -> Iterable[Problem]:
        """Return what a run cannot do for a world's parts of this kind, such as formulas with signals that it lacks.

        run: a Simulation of the world at its start.
        """
        return ()

    @property
    def asks_run(self) -> bool:
        """Whether some problems can only be found by a run: whether the kind overrides `misfits`."""
        return type(self).misfits is not Kind.misfits

    def columns(self, world: World) -> Mapping[str, NamedNumbers]:
        """Return numbers of a run that formulas may refer to, besides frames and sensors, by name."""
        return {}

    def renamed(self, part: P, rename: Rename) -> P | None:
        """Return a part of an included world as part of the including world; None to leave it out."""
        changes = {self.frame: rename.frame(getattr(part, self.frame)), **rename.below(part)} if self.frame else {}
        return replace(part, **changes) if changes else part  # type: ignore[type-var]

    def data(self, part: P, refer: Refer) -> dict[str, Any]:
        """Return a part as data of a world file: by default its fields.

        refer: returns the reference to a file. Raises NotImplementedError, with an optional reason, if world files
        cannot express the part.
        """
        return declared.data_of(part, refer) if declared.is_declared(part) else data_of(part)

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add a world's parts of this kind to the sections of a world file: by default a list of their data."""
        for part in self.parts(world):
            data = self.data(part, refer)
            PARTS.expect(self.name, data, dict, "from data(), a dict")
            sections.setdefault(self.section, []).append(data)

    def default_parent(self, name: str, known: Collection[str], fixed_frame: str) -> str:
        """Return the default parent of a frame: the nearest frame whose name contains its own."""
        return next((above for above in names.enclosing(name) if above in known), fixed_frame)

    def with_parents(self, parts: tuple[P, ...], known: Collection[str], fixed_frame: str) -> tuple[P, ...]:
        """Return parts whose frames all have parents."""

        def placed(part: Any) -> P:
            parent = part.parent or self.default_parent(getattr(part, self.frame), known, fixed_frame)
            PARTS.expect(self.name, parent, str, "from default_parent(), the name of a frame")
            return part if part.parent else replace(part, parent=parent)  # type: ignore[no-any-return]

        return tuple(map(placed, parts)) if self.lacks_parents(parts) else parts

    def lacks_parents(self, parts: tuple[P, ...]) -> bool:
        """Return whether a part's frame has no parent yet."""
        return bool(self.frame) and not all(getattr(each, "parent", "") for each in parts)


PARTS: Registry[str, Kind[Any]] = kinds.PARTS
K = TypeVar("K", bound=type[Kind[Any]])


def part(name: str, part_type: type) -> Callable[[K], K]:
    """Register a subclass of Kind, so that world.NAME and World(NAME=...) are parts of the type."""

    def enter(kind: K) -> K:
        PARTS.add(name, module=kind.__module__)(kind(name, part_type))
        return kind

    return enter


def all_parts(world: World) -> Iterator[tuple[Kind[Any], Any]]:
    """Yield every part of a world with its kind."""
    for kind in PARTS.values():
        for each in world.parts.get(kind.name, ()):
            yield kind, each


def misfits_of(run: Any) -> list[Problem]:
    """Return everything in its world that a run cannot do, in the order of its file. run: a Simulation at its start."""
    found = (problem for kind in PARTS.values() if kind.parts(run.world) for problem in kind.misfits(run))
    return sorted(found, key=lambda problem: problem.where)


def entries_of_kind(kind: Kind[Any], world: World) -> Iterator[FrameEntry]:
    """Yield the frames of a world's parts of a kind. Raises PluginFault if something else is returned."""
    if PARTS.is_shipped(kind.name):
        yield from kind.entries(world)
        return
    for entry in kind.entries(world):
        PARTS.expect(kind.name, entry, FrameEntry, "from entries(), an Entry")
        if not (isinstance(entry.name, str) and isinstance(entry.parent, str)):
            PARTS.refuse(kind.name, f"entries() needs names as text, found {entry.name!r} below {entry.parent!r}")
        if entry.of is not None:
            _check_placement(kind, entry)
        yield entry


def problems_of_kind(kind: Kind[Any], world: World) -> Iterator[Problem]:
    """Yield the problems of a world's parts of a kind. Raises PluginFault if something else is returned."""
    for problem in kind.problems(world):
        PARTS.expect(kind.name, problem, Problem, "from problems(), a Problem")
        yield problem


def _check_placement(kind: Kind[Any], entry: FrameEntry) -> None:
    of: Any = entry.of
    for needed in ("mobility", "start"):
        if not hasattr(of, needed):
            PARTS.refuse(kind.name, f"entries() needs what stands at {entry.name} to have {needed}", of)
    if of.mobility not in get_args(Mobility):
        allowed = ", ".join(get_args(Mobility))
        PARTS.refuse(kind.name, f"the mobility of {entry.name} is {of.mobility!r}; allowed: {allowed}", of)
    pose = np.asarray(of.start())
    if pose.shape != (7,) or pose.dtype.kind not in "fiu":
        PARTS.refuse(kind.name, f"start() of {entry.name} is of shape {pose.shape}; a pose (7,) is needed", of)
    if not np.isfinite(pose).all() or abs(float(np.linalg.norm(pose[3:])) - 1.0) > _UNIT:
        PARTS.refuse(kind.name, f"start() of {entry.name} is not a pose with a unit quaternion: {pose.tolist()}", of)
