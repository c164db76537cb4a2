"""Systems: parts of a world that mates assemble. Their poses may be undefined. Frozen data.

A name in a reference is a path of names, starting in the system that contains the reference: `arm/rod/pin`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sim_node.geometry.arrays import FloatArray
from sim_node.world.fields import floats, same
from sim_node.world.mates import Mate, MateConnector
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.shapes import Geometry

DEFAULT_DENSITY = 1000.0  # kg/m^3


class _ComparedByContent:
    """Equality of contents, wherever they were read from."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return same(self, other)


@dataclass(frozen=True, eq=False)
class ContactGeometry(_ComparedByContent):
    """A shape of a body, to whose mass and inertia it adds, or of a system, where it does not move.

    Attributes:
        name: Unique in its owner.
        geometry: Shape, sizes, pose in the owner, and colour. A mass in it (kg) takes precedence over the density.
        density: kg/m^3.
        massive: Whether it adds to the mass of the body.
        place: Where the file describes it.
    """

    name: str
    geometry: Geometry
    density: float = DEFAULT_DENSITY
    massive: bool = True
    place: Place = NO_PLACE


@dataclass(frozen=True, eq=False)
class RigidBody(_ComparedByContent):
    """A rigid body in a system.

    `mass`, `centre` and `inertia` take precedence over those of the geometries.

    Attributes:
        name: Unique in its owner.
        pose: Pose (7,) in its owner, m; None if mates determine it.
        geometries: Its shapes.
        connectors: Its connectors.
        mass: kg, or None.
        centre: Centre of mass (3,) in the body, m, or None.
        inertia: Inertia (3, 3) about the centre, in the axes of the body, kg m^2, or None.
        static: Whether it does not move in its owner.
        speed: Linear and angular velocity (6,) at the start in the axes of its owner, m/s and rad/s, if no mate carries
            it.
        place: Where the file describes it.

    Raises:
        ValueError: An array has the wrong shape.
    """

    name: str
    pose: FloatArray | None = None
    geometries: tuple[ContactGeometry, ...] = ()
    connectors: tuple[MateConnector, ...] = ()
    mass: float | None = None
    centre: FloatArray | None = None
    inertia: FloatArray | None = None
    static: bool = False
    speed: FloatArray | None = None
    place: Place = NO_PLACE

    def __post_init__(self) -> None:
        for what, shape in (("pose", (7,)), ("centre", (3,)), ("inertia", (3, 3)), ("speed", (6,))):
            given = getattr(self, what)
            if given is not None:
                object.__setattr__(self, what, floats(given, shape, self.name, what))


@dataclass(frozen=True, eq=False)
class System(_ComparedByContent):
    """Systems, bodies, shapes and connectors, and the mates between them.

    The names of what a system owns are unique and contain no slash. Only at the top of a world may a name be a path.

    Attributes:
        name: Unique in its owner.
        pose: Pose (7,) in its owner, m; None if mates determine it. At the top of a world, None stands for the origin
            of `parent`.
        systems: Systems in it.
        bodies: Bodies in it.
        geometries: Shapes that do not move in it.
        connectors: Its connectors.
        mates: The mates between connectors in it.
        parent: At the top of a world, a frame of the world; empty for its fixed frame.
        tolerance: How well loops of its mates have to be closed, rad and parts of the size of their mechanism; None
            for that of its owner.
        place: Where the file gives the name.
        parent_place: Where the file gives the parent.

    Raises:
        ValueError: `pose` has the wrong shape.
    """

    name: str
    pose: FloatArray | None = None
    systems: tuple[System, ...] = ()
    bodies: tuple[RigidBody, ...] = ()
    geometries: tuple[ContactGeometry, ...] = ()
    connectors: tuple[MateConnector, ...] = ()
    mates: tuple[Mate, ...] = ()
    parent: str = ""
    tolerance: float | None = None
    place: Place = NO_PLACE
    parent_place: Place = NO_PLACE

    def __post_init__(self) -> None:
        if self.pose is not None:
            object.__setattr__(self, "pose", floats(self.pose, (7,), self.name, "pose"))

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
