"""The World: what a world file says, as frozen data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.names import SENSOR_PATTERNS
from sim_node.text import did_you_mean
from sim_node.world.bodies import Physics
from sim_node.world.fields import floats, same, whole_nanoseconds
from sim_node.world.part import PARTS, Mobility, kind_of
from sim_node.world.problems import NO_PLACE, KeyPlace, Place

DEFAULT_FIXED_FRAME = "map"
INTERPOLATIONS = ("slerp", "step", "smooth", "catmull_rom")
# Those that follow cubics, with one velocity on both sides of a keyframe.
CURVED = ("smooth", "catmull_rom")
OUTSIDE = ("hold", "loop", "pingpong")

# Stamps are builtin_interfaces/Time, which has 31 bits of seconds.
LATEST_NS = (2**31 - 1) * 1_000_000_000
SHORTEST_STEP_NS = 1_000
# Metres; out there a double still tells a millimetre.
MAX_DISTANCE = 1e12
# A frame whose pose changes by less, in metres or as a quaternion, stands still.
STILL = 1e-9
P = TypeVar("P")


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

    def nearest_steps(self, duration_ns: int) -> tuple[int, int]:
        """Return the whole number of steps, 0 or more, that is nearest to a duration, and what is left of it in ns."""
        steps = max(0, (2 * duration_ns + self.step_ns) // (2 * self.step_ns))
        return steps, duration_ns - steps * self.step_ns


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

    @property
    def mobility(self) -> Mobility:
        """That it stands still."""
        return "static"

    def start(self) -> FloatArray:
        """Return its pose (7,) in its parent."""
        return self.pose

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

    @property
    def mobility(self) -> Mobility:
        """That it may be the mounting of a sensor."""
        return "mountable"

    def start(self) -> FloatArray:
        """Return the pose (7,) of its first keyframe."""
        return np.asarray(self.poses[0])

    def moves(self) -> bool:
        """Whether any keyframe's pose differs from the first one's by more than rounding."""
        return bool(np.abs(self.poses - self.poses[0]).max() > STILL)


# Type checkers see an ordinary class here: of a dataclass they would refuse replace(world, bodies=...), since the kinds
# of parts are not among the fields.
_frozen = dataclass(frozen=True, init=False, slots=True)


@_frozen
class World:
    """A world: one tree of frames below `fixed_frame` (ENU), what is in it, and its time.

    parts: by their kind, the registered names of sim_node.world.part. A kind is an attribute, too, and a keyword:
    World("w", bodies=(ball,)).bodies. Those that a world has none of are ().

    What the parts say is checked where the world is laid out: `lay_out`, and so `Simulation`. `assembly.assemble` turns
    systems and attachments into frames, bodies, loop closures, and poses of frames. source: the name of the world's
    file; files: all that were read for it, its own first. Raises TypeError for a kind that there is not.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    name: str
    fixed_frame: str
    origin: Origin | None
    time: TimeGrid
    physics: Physics
    static_patterns: tuple[str, ...]
    parts: Mapping[str, tuple[Any, ...]]
    source: str = field(compare=False)
    files: tuple[Path, ...] = field(compare=False, repr=False)

    def __init__(
        self,
        name: str,
        fixed_frame: str = DEFAULT_FIXED_FRAME,
        origin: Origin | None = None,
        time: TimeGrid | None = None,
        *,
        physics: Physics | None = None,
        static_patterns: Iterable[str] = SENSOR_PATTERNS,
        source: str = "",
        files: Iterable[Path] = (),
        parts: Mapping[str, Iterable[Any]] | None = None,
        **kinds: Any,
    ) -> None:
        fields: dict[str, Any] = {
            "name": name,
            "fixed_frame": fixed_frame,
            "origin": origin,
            "time": time or TimeGrid(),
            "physics": physics or Physics(),
            "static_patterns": tuple(static_patterns),
            "parts": _by_kind(parts or {}, kinds),
            "source": source,
            "files": tuple(files),
        }
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "parts":  # a copy asks before there is anything
            raise AttributeError(name)
        kind = PARTS.table().get(name)
        if kind is None:
            raise AttributeError(f"a World has no {name!r}{did_you_mean(name, PARTS)}")
        parts = self.parts.get(name, ())
        return parts if not kind.single else parts[0] if parts else None

    def of(self, part_type: type[P]) -> tuple[P, ...]:
        """Return the parts of a class: world.of(Body) is world.bodies, world.of(Drag) the drags among world.forces.

        Raises TypeError for a class that no kind of part has.
        """
        kind = kind_of(part_type)
        parts: tuple[P, ...] = self.parts.get(kind.name, ())
        return parts if kind.type is part_type else tuple(each for each in parts if isinstance(each, part_type))

    def at(self, path: str) -> float | int | Decimal:
        """Return the number at a key path, as in bodies[ball].inertial.mass or motions[0].keyframes[2].position[1].

        Entries of lists are given by index or by name. A path leads through what `to_yaml` writes of the world; times
        are in seconds. A Decimal is returned for a time that a float cannot say to the nanosecond. Raises WorldError
        for a path that leads to no number, naming the nearest key.
        """
        from sim_node.world.values import value_at

        return value_at(self, path)

    def with_values(self, values: Mapping[str, float | int | Decimal]) -> World:
        """Return this world with other numbers at the key paths of `at`. The parts that they leave alone are shared.

        They are read as from a world file: WorldError is raised at the key of a number that is out of range, and for a
        path that leads nowhere.
        """
        from sim_node.world.values import with_values

        return with_values(self, values)


def _by_kind(parts: Mapping[str, Iterable[Any]], kinds: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The parts of every kind that has any, in the order of the registry."""
    for name in (*parts, *kinds):
        if name not in PARTS:
            raise TypeError(f"World() got an unexpected keyword argument {name!r}{did_you_mean(name, PARTS)}")
    given = dict(parts)
    for name, value in kinds.items():
        given[name] = () if value is None else (value,) if PARTS[name].single else value
    return {name: tuple(given[name]) for name in PARTS if given.get(name)}
