"""The World: what a world file says, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.names import SENSOR_PATTERNS
from sim_node.world.bodies import Body, Loop, Physics
from sim_node.world.drives import Drive
from sim_node.world.fields import floats, same, whole_nanoseconds
from sim_node.world.forces import Force, Wind
from sim_node.world.models import Model
from sim_node.world.problems import NO_PLACE, KeyPlace, Place
from sim_node.world.recipes import Recipe
from sim_node.world.systems import Attachment, System
from sim_node.world.vehicles import Multirotor

DEFAULT_FIXED_FRAME = "map"
INTERPOLATIONS = ("slerp", "step", "smooth", "catmull_rom")
# Those that follow cubics, with one velocity on both sides of a keyframe.
CURVED = ("smooth", "catmull_rom")
OUTSIDE = ("hold", "loop", "pingpong")

# Stamps are builtin_interfaces/Time, which has 31 bits of seconds.
LATEST_NS = (2**31 - 1) * 1_000_000_000
SHORTEST_STEP_NS = 1_000
# Metres; out there a double still tells a millimetre.
FARTHEST = 1e12
# A frame whose pose changes by less, in metres or as a quaternion, stands still.
STILL = 1e-9


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the fixed frame's origin lies: WGS84 degrees, metres above the ellipsoid."""

    latitude: float
    longitude: float
    altitude: float


ORIGIN_RANGES = {"latitude": (-90.0, 90.0), "longitude": (-180.0, 180.0), "altitude": (-12_000.0, 1e8)}


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """The instants of a run: start_ns, start_ns + step_ns, start_ns + 2 step_ns, ...

    Raises ValueError for what is no whole number.
    """

    start_ns: int = 0
    step_ns: int = 10_000_000

    def __post_init__(self) -> None:
        for key in ("start_ns", "step_ns"):
            if not isinstance(getattr(self, key), (int, np.integer)):
                raise ValueError(f"{key}: {getattr(self, key)!r} is not a whole number of nanoseconds")


@dataclass(frozen=True, slots=True, eq=False)
class StaticFrame:
    """A frame that never moves in its parent. pose (7,) [x y z qx qy qz qw], child into parent; scale (3,) or None.

    place and parent_place: where a file says the name and the parent.
    Arrays are kept read-only. Raises ValueError for one of another shape.
    """

    name: str
    parent: str
    pose: FloatArray
    scale: FloatArray | None = None
    place: Place = NO_PLACE
    parent_place: Place = NO_PLACE

    def __post_init__(self) -> None:
        object.__setattr__(self, "pose", floats(self.pose, (7,), self.name, "pose"))
        if self.scale is not None:
            object.__setattr__(self, "scale", floats(self.scale, (3,), self.name, "scale"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class Sensor(StaticFrame):
    """A sensor: its frame, fixed to a base_link, and what reads there.

    type: the registered name of the kind of sensor, empty for a bare frame. parameters: numbers, texts and mappings
    of them by name, as a file gives them; which there are is for the sensors room to say, when a run begins.
    parameter_places: where a file says each, by its path, as in gyroscope.density.
    """

    type: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    parameter_places: Mapping[str, KeyPlace] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """A frame that moves in its parent through keyframes.

    times_ns (K,) strictly increasing; poses (K, 7), of whose quaternions each is kept in the hemisphere of the
    one before; interpolation one of INTERPOLATIONS; before and after one of OUTSIDE. place and parent_place are
    a StaticFrame's. Arrays are kept read-only. Raises ValueError for one of another shape.
    """

    frame: str
    parent: str
    times_ns: IntArray
    poses: FloatArray
    interpolation: str = "slerp"
    before: str = "hold"
    after: str = "hold"
    place: Place = NO_PLACE
    parent_place: Place = NO_PLACE

    def __post_init__(self) -> None:
        times_ns = whole_nanoseconds(self.times_ns, self.frame)
        poses = np.array(floats(self.poses, (len(times_ns), 7), self.frame, "poses"))
        poses[:, 3:] = quaternions.continuous(poses[:, 3:])
        poses.setflags(write=False)
        object.__setattr__(self, "times_ns", times_ns)
        object.__setattr__(self, "poses", poses)

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def moves(self) -> bool:
        """Whether any keyframe's pose differs from the first one's by more than rounding."""
        return bool(np.abs(self.poses - self.poses[0]).max() > STILL)


@dataclass(frozen=True, slots=True)
class World:
    """A world: one tree of frames below `fixed_frame` (ENU), what moves in it, and its time.

    What its parts say is checked where it is laid out: `lay_out`, and so `Simulation`. loops: what holds bodies beside
    their joints; touchless: pairs of bodies that never touch. systems and attachments: what `assembly.assemble` turns
    into frames, bodies, loops, and poses of frames. recipes: programs that may be started beside it. files: all that
    were read for it, its own first.
    """

    name: str
    fixed_frame: str = DEFAULT_FIXED_FRAME
    origin: Origin | None = None
    time: TimeGrid = field(default_factory=TimeGrid)
    frames: tuple[StaticFrame, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    motions: tuple[Motion, ...] = ()
    physics: Physics = field(default_factory=Physics)
    bodies: tuple[Body, ...] = ()
    forces: tuple[Force, ...] = ()
    wind: Wind | None = None
    vehicles: tuple[Multirotor, ...] = ()
    loops: tuple[Loop, ...] = ()
    touchless: tuple[tuple[str, str], ...] = ()
    systems: tuple[System, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    models: tuple[Model, ...] = ()
    drives: tuple[Drive, ...] = ()
    recipes: tuple[Recipe, ...] = ()
    static_patterns: tuple[str, ...] = SENSOR_PATTERNS
    source: str = ""
    files: tuple[Path, ...] = field(default=(), compare=False, repr=False)
