"""Parts: what a world is made of. A new kind of part is one file with a class and its `@part` entry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from sim_node import names
from sim_node.geometry.arrays import FloatArray
from sim_node.registry import Registry
from sim_node.world.problems import NO_PLACE, Place, Problem, shown_key
from sim_node.world.writers.values import words_of

if TYPE_CHECKING:
    from sim_node.world.model import World

P = TypeVar("P")
# How a world file names another file.
Refer = Callable[[Path], str]
# Whether a frame moves in its parent. What is "mountable" moves unless it stands still as a sensor's mounting.
Mobility = Literal["static", "mountable", "dynamic"]


class Standing(Protocol):
    """What stands at a frame. What is mountable has a method moves() -> bool, too."""

    @property
    def mobility(self) -> Mobility:
        """Whether it moves in the parent frame."""

    def start(self) -> FloatArray:
        """Return its pose (7,) in the parent frame at the start."""


class Entry(NamedTuple):
    """A frame as the tree sees it.

    of: what stands there; None for a frame at its parent that never moves. part: whose frame it is, by which engines
    find its row; None for a frame that only comes with a part. place, parent_place: where a file says name and parent.
    """

    name: str
    parent: str
    of: Standing | None
    place: Place
    parent_place: Place
    part: object = None

    def problem(self, message: str) -> Problem:
        """Return a fault of the frame's name."""
        return Problem(self.place.where, self.place.key or shown_key(self.name), message)

    def parent_problem(self, message: str) -> Problem:
        """Return a fault of its parent."""
        return Problem(self.parent_place.where, self.parent_place.key or shown_key(self.name), message)


@dataclass(frozen=True)
class Rename:
    """How the names of an included world read in the one that includes it.

    prefix: before all names. root: what becomes of its `fixed_frame`, as `root_place` says where that is not None.
    place: of the include, where faults of its models are told.
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
    """What parts of one kind are to a world. Subclass it, and register the subclass with `@part`.

    name: the attribute of a World and its keyword. type: the class of the parts.
    frame: the field that names a part's own frame, empty where it has none. Parts with a frame have the fields parent,
    place and parent_place, too. single: whether a world has one such part or None, instead of a tuple.
    section: the top-level key of world files that lists them; the kind's name where it is empty.
    """

    frame: str = ""
    single: bool = False
    section: str = ""

    def __init__(self, name: str, part_type: type[P]) -> None:
        self.name, self.type = name, part_type
        self.section = type(self).section or name

    def parts(self, world: World) -> tuple[P, ...]:
        """Return the parts of this kind that a world has."""
        found: tuple[P, ...] = world.parts.get(self.name, ())
        return found

    def entries(self, world: World) -> Iterable[Entry]:
        """Return the frames that a world's parts of this kind make: by default their own, where they stand."""
        if self.frame:
            for part in self.parts(world):
                of: Any = part
                yield Entry(getattr(part, self.frame), of.parent, of, of.place, of.parent_place, part)

    def problems(self, world: World) -> Iterable[Problem]:
        """Return every fault of a world's parts of this kind, but for names and parents of frames."""
        return ()

    def renamed(self, part: P, rename: Rename) -> P | None:
        """Return a part of an included world as the including one has it; None where it is not taken over."""
        changes = {self.frame: rename.frame(getattr(part, self.frame)), **rename.below(part)} if self.frame else {}
        return replace(part, **changes) if changes else part  # type: ignore[type-var]

    def data(self, part: P, refer: Refer) -> dict[str, Any]:
        """Return what a world file says of a part: by default its fields.

        refer: how a file is named there. Raises NotImplementedError for what has no words in world files.
        """
        return words_of(part)

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add to the sections of a world file what its parts of this kind say: by default a list of their data."""
        for part in self.parts(world):
            data = self.data(part, refer)
            PARTS.expect(self.name, data, dict, "from data(), a dict")
            sections.setdefault(self.section, []).append(data)

    def default_parent(self, name: str, known: Collection[str], fixed_frame: str) -> str:
        """Return the parent of a frame that names none: the nearest frame that its name lies below."""
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


# By the name of the kind. Frames, problems and sections of a world come in this order.
PARTS: Registry[str, Kind[Any]] = Registry(
    "kind of part",
    shipped=tuple(
        f"sim_node.world.parts.{name}"
        for name in ("frames", "bodies", "vehicles", "forces", "systems", "models", "processes")
    ),
    group="sim_node.parts",
)
K = TypeVar("K", bound=type[Kind[Any]])
# The kinds by the classes of parts, for a table of the registry.
_KINDS: tuple[Mapping[str, Kind[Any]], dict[type, Kind[Any]]] = ({}, {})


def part(name: str, part_type: type) -> Callable[[K], K]:
    """Register a subclass of Kind: world.NAME and World(NAME=...) are then parts of the type."""

    def enter(kind: K) -> K:
        PARTS.add(name, module=kind.__module__)(kind(name, part_type))
        return kind

    return enter


def kind_of(part_type: type) -> Kind[Any]:
    """Return the kind of a class of parts, or of its nearest base. Raises TypeError."""
    global _KINDS
    table = PARTS.table()
    if _KINDS[0] is not table:
        _KINDS = (table, {kind.type: kind for kind in table.values()})
    by_type = _KINDS[1]
    kind = by_type.get(part_type)
    if kind is None:
        kind = next((by_type[base] for base in part_type.__mro__ if base in by_type), None)
        if kind is None:
            known = ", ".join(each.type.__name__ for each in table.values())
            raise TypeError(f"{part_type.__name__} is no part of a world; there are {known}")
        by_type[part_type] = kind
    return kind


def all_parts(world: World) -> Iterator[tuple[Kind[Any], Any]]:
    """Yield every part of a world with its kind."""
    for kind in PARTS.values():
        for each in world.parts.get(kind.name, ()):
            yield kind, each
