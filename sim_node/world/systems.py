"""Systems: parts of a world that are assembled by mates. Their poses may be undefined.

References are paths of names, starting in the system that contains the reference: `arm/rod/pin`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_MASS
from sim_node.world.declared import BAD, Refer, Spread, data_of, declared, given, keys_of, place_of, read
from sim_node.world.mates import Attachment, Mate, MateConnector, RedirectedMateConnector, mate_keys, read_connector
from sim_node.world.model import World
from sim_node.world.part import FrameEntry, Kind, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, Where
from sim_node.world.quantities import POINT, Flag, FrameName, ListOf, Number, Other, PartOf, Plain, Vector
from sim_node.world.readers.keys import Form, Keys, by_name, text, vector
from sim_node.world.readers.yaml_poses import Pose, read_pose
from sim_node.world.readers.yaml_section import listed
from sim_node.world.readers.yaml_values import Table, Value
from sim_node.world.shapes import SHAPES, Geometry, Inertia

DEFAULT_DENSITY = 1000.0  # kg/m^3


@declared
class ContactGeometry:
    """A shape of a body, to whose mass and inertia it adds, or of a system, where it does not move."""

    name: str = given(None, "Unique in its owner")
    geometry: Geometry = given(
        None, "Shape, sizes, pose in the owner, and colour; a mass in it (kg) takes precedence over the density"
    )
    density: float = given(None, "Density", "kg/m^3", default=DEFAULT_DENSITY)
    massive: bool = given(None, "Whether it adds to the mass of the body", default=True)
    place: Place = place_of(default=NO_PLACE)

    __hash__ = None  # type: ignore[assignment]


SHAPE_KEYS = Keys(
    {**keys_of(Geometry), "name": text("Its name.")},
    exactly_one=(tuple(SHAPES),),
    at_most_one=(("mass", "density"),),
    about="A shape.",
    define="contact geometry",
)


class NamedShape(Plain):
    """A shape with a name, which has a density (kg/m^3) unless it has a mass."""

    def form(self, about: str) -> Form:
        """Return the form of its mapping."""
        return SHAPE_KEYS

    def read(self, value: Value, context: Any) -> Any:
        """Read it."""
        shape, name = read(Geometry, value, context, known=SHAPE_KEYS), value.get("name")
        called = f"geometry_{value.key}" if name is None else name.text()
        if shape is BAD:
            return BAD
        massive = shape.mass > 0.0 or value.get("density") is None
        return ContactGeometry(called, shape, massive=massive, place=value.place)

    def data(self, found: ContactGeometry, refer: Refer) -> dict[str, Any]:
        """Return the shape with its mass, or else its density, which is 0 if it has no mass."""
        data = {"name": found.name, **data_of(found.geometry, refer)}
        if not found.geometry.mass:
            del data["mass"]
            if not found.massive or found.density != DEFAULT_DENSITY:
                data["density"] = found.density if found.massive else 0.0
        return data


class OwnPose(Pose):
    """The pose of a system or a body in its owner."""

    def read(self, value: Value, context: Any) -> FloatArray:
        """Read a pose without a scale."""
        pose, scale = read_pose(value)
        if scale is not None:
            value.error("systems and bodies have no scale")
        return pose


def _connectors(value: Value) -> tuple[MateConnector, ...]:
    found = [read_connector(name, entry) for name, _, entry in value.named("by name")]
    return tuple(each for each in found if each is not BAD)


def _velocity(about: str, part: slice) -> Spread:
    """Return the form of one of the two keys of a body's `speed`, which are read together."""

    def data(body: RigidBody) -> Any:
        return None if body.speed is None else body.speed[part].tolist()

    return Spread(("speed",), vector(about, 3), lambda value, context: {}, data)


_NAME = "Its name, unique in its system"
_SHAPES = ListOf(NamedShape())
_ABOUT_SHAPES = "Shapes, which have a density (kg/m^3) or a mass (kg)"
_CONNECTORS = Other(
    lambda about: by_name(about, keys_of(RedirectedMateConnector)),
    _connectors,
    writes=lambda found: {each.name: data_of(each) for each in found},
)
_ABOUT_CONNECTORS = "Points and axes that mates connect, by name"


@declared(
    define="system body",
    bare=("name",),
    spread={
        "velocity": _velocity("Initial velocity, m/s.", slice(3)),
        "spin": _velocity("Initial angular velocity, rad/s.", slice(3, 6)),
    },
)
class RigidBody:
    """A body of a system.

    `mass`, `centre` and `inertia` take precedence over those of the geometries.

    Raises:
        ValueError: An array has the wrong shape.
    """

    name: str = given(FrameName(), _NAME)
    pose: FloatArray | None = given(OwnPose(), "Pose in its owner; None if mates determine it", default=None)
    geometries: tuple[ContactGeometry, ...] = given(_SHAPES, _ABOUT_SHAPES, default=(), key="geometry", omit=True)
    connectors: tuple[MateConnector, ...] = given(_CONNECTORS, _ABOUT_CONNECTORS, default=(), omit=True)
    mass: float | None = given(Number(0.0, MAX_MASS), "Mass", "kg", default=None)
    centre: FloatArray | None = given(POINT, "Centre of mass in the body", "m", default=None, key="center")
    inertia: FloatArray | None = given(Inertia(), "Inertia about the centre of mass, kg m^2", default=None)
    static: bool = given(Flag(), "Whether it is fixed in its system", default=False)
    kinematic: bool = given(
        Flag(), "Whether it keeps its initial velocity whatever acts on it, mates too", default=False, omit=True
    )
    speed: FloatArray | None = given(
        Vector(6),
        "Linear and angular velocity at the start in the axes of its owner, if no mate carries it",
        "m/s and rad/s",
        default=None,
    )
    place: Place = place_of(default=NO_PLACE)

    @property
    def held(self) -> bool:
        """Whether it is not moved by mates, because it is fixed or moves by itself."""
        return self.static or self.kinematic

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Read the velocities."""
        given = [table.get(key) for key in ("velocity", "spin")]
        if any(given):
            parts = [None if each is None else each.vector(3) for each in given]
            found["speed"] = np.array([each or [0.0, 0.0, 0.0] for each in parts]).reshape(6)


class InnerSystem(Plain):
    """A system in a system."""

    def form(self, about: str) -> Form:
        """Return the form of its mapping, which may contain itself."""
        return lambda: INNER_KEYS

    def read(self, value: Value, context: Any) -> System:
        """Read it."""
        return read(System, value, context, known=INNER_KEYS)

    def data(self, found: System, refer: Refer) -> dict[str, Any]:
        """Return its mapping."""
        return data_of(found, refer)


_MATE = Other(lambda about: mate_keys, lambda value: read(Mate, value, known=mate_keys()), writes=Mate.data)
_OWNED = ("systems", "bodies", "geometries", "connectors", "mates")


@declared(bare=("name", "parent", "pose", *_OWNED))
class System:
    """Systems, bodies, shapes and connectors, and the mates between them.

    The names of what a system owns are unique and contain no slash. Only at the top of a world may a name be a path; a
    pose of None stands there for the origin of `parent`.

    Raises:
        ValueError: `pose` has the wrong shape.
    """

    name: str = given(FrameName(), _NAME)
    pose: FloatArray | None = given(OwnPose(), "Pose in its owner; None if mates determine it", default=None)
    systems: tuple[System, ...] = given(ListOf(InnerSystem()), "Systems within this one", default=(), omit=True)
    bodies: tuple[RigidBody, ...] = given(ListOf(PartOf(RigidBody)), "Its bodies", default=(), omit=True)
    geometries: tuple[ContactGeometry, ...] = given(_SHAPES, _ABOUT_SHAPES, default=(), key="geometry", omit=True)
    connectors: tuple[MateConnector, ...] = given(_CONNECTORS, _ABOUT_CONNECTORS, default=(), omit=True)
    mates: tuple[Mate, ...] = given(ListOf(_MATE), "What connects its connectors", default=(), omit=True)
    parent: str = given(FrameName(), "The frame that it stands in", default="", omit=True)
    # Below the least, a closed loop could not be distinguished from rounding. None stands for that of its owner.
    tolerance: float | None = given(
        Number(1e-12, 0.1), "How well loops are closed, rad and parts of the mechanism's size", default=None
    )
    place: Place = place_of(default=NO_PLACE)
    parent_place: Place = place_of("parent", default=NO_PLACE)

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Omit entries without a unique name."""
        for owned in (("systems", "bodies"), ("mates",)):
            first: dict[str, Place] = {}
            for key in owned:
                found[key] = tuple(_named_once(found.get(key, ()), first, table.value.report.errors))

    def frames(self, path: str = "") -> Iterator[tuple[str, System | RigidBody]]:
        """Iterate over this system and every system and body in it, owners first.

        Args:
            path: The path of its owner; empty at the top.

        Yields:
            The path and the system or body.
        """
        at = f"{path}/{self.name}" if path else self.name
        yield at, self
        for body in self.bodies:
            yield f"{at}/{body.name}", body
        for system in self.systems:
            yield from system.frames(at)


def _named_once(parts: Iterable[Any], first: dict[str, Place], errors: list[Problem]) -> Iterator[Any]:
    """Yield the parts whose names are valid, and new among those that are first; record the others."""
    for each in parts:
        name, place = each.name, each.place
        if "/" in name:
            fault = f"the name {name!r} has a slash, which is not allowed in a system"
        elif (there := first.setdefault(name, place)) is not place:
            fault = f"a second {name!r} in one system, the first is at {there.where}"
        else:
            yield each
            continue
        errors.append(Problem(place.where, place.key, fault))


_INNER = keys_of(System, but=("parent",))
INNER_KEYS = Keys(_INNER, required=_INNER.required, about="A system in a system.", define="system")


@part("systems", System)
class Systems(Kind[System]):
    """Bodies, shapes and connectors that mates assemble, which the assembly converts to frames, bodies and loops."""

    frame = "name"

    def data(self, part: System, refer: Refer) -> dict[str, Any]:
        """Return the system with its parent and everything that it owns."""
        data = data_of(part, refer)
        return {"name": part.name, **({"parent": part.parent} if part.parent else {}), **data}

    def entries(self, world: World) -> Iterator[FrameEntry]:
        """Return each system and all systems and bodies in it, which become frames in the assembly."""
        for system in self.parts(world):
            for path, of in system.frames():
                if of is system:
                    parent = system.parent or world.fixed_frame
                    yield FrameEntry(path, parent, None, of.place, system.parent_place, system)
                else:
                    yield FrameEntry(path, path.rpartition("/")[0], None, of.place, of.place, of)

    def problems(self, world: World) -> Iterator[Problem]:
        """Return a problem if there are any systems: a world must be assembled before it is laid out."""
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


listed("systems", "Parts that are connected by mates.", System)
