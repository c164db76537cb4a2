"""Models and worlds of SDF as scopes of names, and the poses of their frames: the frame semantics of SDFormat.

Sources: sdformat.org, "Pose frame semantics" and "Model composition", proposals of the formats 1.7 to 1.9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sim_node import names
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.problems import quoted
from sim_node.world.readers.xml_elements import Element

MODEL, WORLD = "__model__", "world"
# The prefix of the names of merged models. No other name may begin with two underscores.
MERGED = "__merged__"
# The maximum length of a chain of frames that are attached to each other.
MAX_CHAIN = 500


class ScopeFault(Exception):
    """An element refers to something that does not exist, or is invalid. Raised with the element and a message."""

    def __init__(self, element: Element, message: str) -> None:
        super().__init__(message)
        self.element, self.message = element, message


@dataclass(eq=False)
class ScopeEntry:
    """A name in a scope: a link, joint, frame or model.

    Attributes:
        name: The name.
        kind: "link", "joint", "frame" or "model".
        element: The element.
        pose: The pose (7,) as the file gives it.
        relative_to: The reference frame of the pose; empty for the default.
        attached_to: The frame to which a frame is attached, or the child of a joint; empty for the default.
        inner: The scope of a model.
    """

    name: str
    kind: str
    element: Element
    pose: FloatArray
    relative_to: str = ""
    attached_to: str = ""
    inner: SdfScope | None = None
    found: FloatArray | None = None
    fault: ScopeFault | None = None


@dataclass(eq=False)
class SdfScope:
    """The names of a model or a world.

    Attributes:
        name: The name.
        element: The element.
        version: The format version of its file, such as (1, 9).
        above: The scope that contains it.
        merged: Whether its names belong to the scope above: an include with merge="true".
        static: Whether the model is static.
        placement: The frame placed by the model's pose; empty for the model frame.
        canonical: The link to which the model frame is attached; empty for the first.
        entries: Its entries by name, in the order of the file.
        aliases: The merged models by the names that they contribute.
        entry: The entry of the model in the scope above.
        found: Cache of the pose (7,) of its frame in the world.
    """

    name: str
    element: Element
    version: tuple[int, ...]
    above: SdfScope | None = None
    merged: bool = False
    static: bool = False
    placement: str = ""
    canonical: str = ""
    entries: dict[str, ScopeEntry] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    entry: ScopeEntry | None = None
    found: FloatArray | None = None

    @property
    def is_world(self) -> bool:
        """Whether it is a world."""
        return self.above is None

    @property
    def path(self) -> str:
        """Its name in the frame tree; empty for a world."""
        if self.above is None:
            return ""
        return self.above.path if self.merged else names.prefixed(self.above.path, frame_name(self.name))

    @property
    def unmerged(self) -> SdfScope:
        """The scope itself, or the scope into which its names are merged."""
        return self.above.unmerged if self.merged and self.above is not None else self

    def frame(self, name: str) -> str:
        """Return the name of one of its frames in the frame tree."""
        return names.prefixed(self.path, frame_name(name))

    @property
    def is_fixed(self) -> bool:
        """Whether it is static or within a static model."""
        return self.static or (self.above is not None and self.above.is_fixed)

    def within(self) -> Iterator[SdfScope]:
        """Yield the scope and all scopes in it."""
        yield self
        for entry in self.entries.values():
            if entry.inner is not None:
                yield from entry.inner.within()

    def of_kind(self, kind: str) -> Iterator[ScopeEntry]:
        """Yield its entries of a kind, in the order of the file."""
        return (entry for entry in self.entries.values() if entry.kind == kind)


def frame_name(name: str) -> str:
    """Convert an SDF name to a part of a frame name: :: becomes /, and white space becomes _."""
    return "_".join(name.replace("::", "/").split())


def find(scope: SdfScope, name: str, by: Element) -> tuple[SdfScope, ScopeEntry]:
    """Return the entry with a name, which may be in a nested model (a::b), and its scope. Raises ScopeFault."""
    if (flattened := scope.entries.get(name)) is not None:
        return scope, flattened
    at, rest = scope, name.removesuffix(f"::{MODEL}")
    while True:
        # Old files have names with :: in them.
        entry = at.entries.get(rest)
        if entry is not None:
            return at, entry
        first, separator, after = rest.partition("::")
        merged = at.aliases.get(rest, at.aliases.get(first))
        if merged is not None:
            inner = at.entries[merged].inner
        else:
            outer = at.entries.get(first) if separator else None
            inner, rest = (None if outer is None else outer.inner), after or rest
        if inner is None:
            where = "the world" if at.is_world else f"the model {quoted(at.name)}"
            hint = did_you_mean(rest, [each for each in (*at.entries, *at.aliases) if not each.startswith(MERGED)])
            raise ScopeFault(by, f"no frame {quoted(rest)} in {where}{hint}")
        at = inner


def pose_in(scope: SdfScope, name: str, by: Element) -> FloatArray:
    """Return the pose (7,) of a named frame in the frame of a scope: a model frame, or the world. Raises ScopeFault."""
    if name in ("", MODEL) or (name == WORLD and scope.is_world):
        return poses.IDENTITY
    owner, entry = find(scope, name, by)
    pose = own_pose(owner, entry)
    while owner is not scope:
        assert owner.above is not None
        assert owner.entry is not None
        pose = poses.compose(own_pose(owner.above, owner.entry), pose)
        owner = owner.above
    return pose


def own_pose(scope: SdfScope, entry: ScopeEntry) -> FloatArray:
    """Return the pose (7,) of an entry in the frame of its scope. Raises ScopeFault, also for circular references."""
    if entry.found is not None:
        return entry.found
    if entry.fault is not None:
        raise entry.fault
    entry.fault = ScopeFault(entry.element, f"the pose of {quoted(entry.name)} depends on itself")
    try:
        entry.found = _own_pose(scope, entry)
    except ScopeFault as fault:
        entry.fault = fault
        raise
    return entry.found


def _own_pose(scope: SdfScope, entry: ScopeEntry) -> FloatArray:
    relative_to = entry.relative_to or (entry.attached_to if entry.kind in ("frame", "joint") else "")
    if relative_to == WORLD and not scope.is_world:
        if entry.kind != "joint":
            raise ScopeFault(entry.element, f"{quoted(entry.name)}: the world is no frame of a model")
        relative_to = MODEL
    pose = poses.compose(pose_in(scope, relative_to, entry.element), entry.pose)
    if entry.inner is not None and entry.inner.placement:
        placed = pose_in(entry.inner, entry.inner.placement, entry.element)
        pose = poses.compose(pose, poses.invert(placed))
    return pose


def world_pose(scope: SdfScope, entry: ScopeEntry) -> FloatArray:
    """Return the pose (7,) of an entry in the world. Raises ScopeFault."""
    return poses.compose(scope_pose(scope), own_pose(scope, entry))


def scope_pose(scope: SdfScope) -> FloatArray:
    """Return the pose (7,) of the frame of a scope in the world. Raises ScopeFault."""
    if scope.above is None or scope.entry is None:
        return poses.IDENTITY
    if scope.found is None:
        scope.found = world_pose(scope.above, scope.entry)
    return scope.found


def link_of(scope: SdfScope, name: str, by: Element, depth: int = 0) -> tuple[SdfScope, ScopeEntry] | None:
    """Return the link to which a frame is attached, and its scope; None for the world. Raises ScopeFault."""
    if depth > MAX_CHAIN:
        raise ScopeFault(by, f"{quoted(name)} is attached to itself")
    if name == WORLD:
        return None
    if name in ("", MODEL):
        return canonical_link(scope, by)
    owner, entry = find(scope, name, by)
    if entry.kind == "link":
        return owner, entry
    if entry.inner is not None:
        return canonical_link(entry.inner, entry.element)
    return link_of(owner, entry.attached_to, entry.element, depth + 1)


def canonical_link(scope: SdfScope, by: Element) -> tuple[SdfScope, ScopeEntry] | None:
    """Return the canonical link of a model and its scope, or None if there is none. Raises ScopeFault."""
    if scope.is_world:
        return None
    if scope.canonical:
        owner, entry = find(scope, scope.canonical, by)
        if entry.kind != "link":
            raise ScopeFault(
                scope.element, f"canonical_link {quoted(scope.canonical)} is a {entry.kind}; a link is needed"
            )
        return owner, entry
    return first_link(scope)


def first_link(scope: SdfScope) -> tuple[SdfScope, ScopeEntry] | None:
    """Return the first link of a model, or else of its nested models; None if there is none."""
    # Links of merged models count as the model's own.
    for entry in scope.entries.values():
        if entry.kind == "link":
            return scope, entry
        if entry.inner is not None and entry.inner.merged and (merged := first_link(entry.inner)) is not None:
            return merged
    return next((found for each in scope.of_kind("model") if each.inner and (found := first_link(each.inner))), None)
