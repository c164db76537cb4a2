"""The World: what a world file says, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from sim_node.geometry.arrays import FloatArray, IntArray
from sim_node.world.problems import NOWHERE, Where

DEFAULT_FIXED_FRAME = "map"
SENSOR_PATTERNS = ("CAM_*", "LIDAR_*", "RADAR_*", "IMU_*", "GPS_*", "GNSS_*")
INTERPOLATIONS = ("slerp", "step", "smooth")
OUTSIDE = ("hold", "loop", "pingpong")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the fixed frame's origin lies: WGS84 degrees, metres above the ellipsoid."""

    latitude: float
    longitude: float
    altitude: float


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """The instants of a run: start_ns, start_ns + step_ns, start_ns + 2 step_ns, ..."""

    start_ns: int = 0
    step_ns: int = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class StaticFrame:
    """A frame that never moves in its parent. pose (7,) [x y z qx qy qz qw], child into parent; scale (3,) or None."""

    name: str
    parent: str
    pose: FloatArray
    scale: FloatArray | None = None
    where: Where = NOWHERE

    def __eq__(self, other: object) -> bool:
        return _same(self, other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class Sensor(StaticFrame):
    """A sensor's mounting: its frame, fixed to a base_link."""


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """A frame that moves in its parent through keyframes.

    times_ns (K,) strictly increasing; poses (K, 7), successive quaternions in one hemisphere;
    interpolation one of INTERPOLATIONS; before and after one of OUTSIDE.
    """

    frame: str
    parent: str
    times_ns: IntArray
    poses: FloatArray
    interpolation: str = "slerp"
    before: str = "hold"
    after: str = "hold"
    where: Where = NOWHERE

    def __eq__(self, other: object) -> bool:
        return _same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def moves(self) -> bool:
        """Whether any two keyframes differ."""
        return bool(np.any(self.poses != self.poses[0]))


@dataclass(frozen=True, slots=True)
class World:
    """A world: one tree of frames below `fixed_frame` (ENU), what moves in it, and its time."""

    name: str
    fixed_frame: str = DEFAULT_FIXED_FRAME
    origin: Origin | None = None
    time: TimeGrid = field(default_factory=TimeGrid)
    frames: tuple[StaticFrame, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    motions: tuple[Motion, ...] = ()
    static_patterns: tuple[str, ...] = SENSOR_PATTERNS
    source: str = ""


def _same(left: object, right: object) -> bool:
    """Equal in all that they say; where they were read from is no part of it."""
    return type(left) is type(right) and all(
        np.array_equal(getattr(left, part.name), getattr(right, part.name))
        for part in fields(left)  # type: ignore[arg-type]
        if part.name != "where"
    )
