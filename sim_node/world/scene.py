"""What surrounds the bodies of a World, as frozen data: the ground, the lights and the sky."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Geometry
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.declared import Fault, declared, given, place_of, rule
from sim_node.world.fields import floats, same
from sim_node.world.image_files import brightness_of
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.quantities import Flag, Number, Rgb, Vector, Word
from sim_node.world.readers.yaml_values import Table
from sim_node.world.surfaces import Material, Surface

ARRAYS = (".npy",)
LIGHT_TYPES = ("directional", "point", "spot")
# OpenGL has eight, one of which is that of the camera.
MAX_LIGHTS = 7
MIN_SAMPLES, MAX_SAMPLES = 2, 4096


@dataclass(frozen=True, slots=True, eq=False)
class Heightmap:
    """Heights above a rectangle, sampled on a grid with samples on its edges. Exactly one of heights and file is given.

    Attributes:
        size: Extent (2,) to the east and to the north, m.
        heights: Heights (R, C), m: rows from south to north, columns from west to east.
        file: A .npy file with such an array, or an image, whose top is north: black is the lowest, white the highest.
        range: Height (2,) of black and of white in an image, m; None for an array.
        centre: Middle (2,) of the rectangle in the fixed frame, m.
        places: Where the file gives each key.

    Raises:
        ValueError: An array has the wrong shape, or not exactly one of heights and file is given.
    """

    size: FloatArray
    heights: FloatArray | None = None
    file: Path | None = None
    range: FloatArray | None = None
    centre: FloatArray = field(default_factory=lambda: np.zeros(2))
    places: Mapping[str, Place] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.heights is None) == (self.file is None):
            raise ValueError("a heightmap needs either heights or a file")
        object.__setattr__(self, "size", floats(self.size, (2,), "heightmap", "size"))
        object.__setattr__(self, "centre", floats(self.centre, (2,), "heightmap", "centre"))
        if self.heights is not None:
            object.__setattr__(self, "heights", floats(self.heights, (-1, -1), "heightmap", "heights"))
        if self.range is not None:
            object.__setattr__(self, "range", floats(self.range, (2,), "heightmap", "range"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def grid(self) -> FloatArray:
        """Return the heights (R, C), m: rows from south to north, columns from west to east.

        Raises:
            OSError: The file cannot be read.
            ValueError: The file is not an array of real numbers with two axes.
            ImportError: Pillow, which reads images, is missing.
        """
        if self.file is None:
            assert self.heights is not None
            return self.heights
        grid = _grid_of(self.file, self.file.stat().st_mtime_ns)
        if self.file.suffix.lower() in ARRAYS:
            return grid
        low, high = (0.0, 1.0) if self.range is None else self.range
        return np.asarray(low + (high - low) * grid)


@lru_cache(maxsize=4)
def _grid_of(file: Path, changed_ns: int) -> FloatArray:
    """Return the array of a file, or the brightness of an image, from south to north."""
    if file.suffix.lower() not in ARRAYS:
        return brightness_of(file)[::-1]
    array = np.load(file, allow_pickle=False)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise ValueError(f"has {array.dtype} of shape {array.shape}; numbers (rows, columns) are needed")
    return np.asarray(array, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The ground in the fixed frame: an endless plane, or a heightmap, beyond whose edges there is nothing.

    Attributes:
        height: Height of the plane, or of the zero of the heightmap, m.
        heightmap: Heights, or None for a plane.
        colour: Red, green, blue and opacity (4,), each 0 to 1, or None.
        surface: What it does where shapes touch it, or None for MuJoCo's defaults.
        material: How it looks besides its colour, or None.
        place: Where the file describes it.

    Raises:
        ValueError: An array has the wrong shape.
    """

    height: float = 0.0
    heightmap: Heightmap | None = None
    colour: FloatArray | None = None
    surface: Surface | None = None
    material: Material | None = None
    place: Place = NO_PLACE

    def __post_init__(self) -> None:
        if self.colour is not None:
            object.__setattr__(self, "colour", floats(self.colour, (4,), "ground", "colour"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def shape(self) -> Geometry:
        """The ground as a plane in the fixed frame, with its look and its surface."""
        pose = np.array([0.0, 0.0, self.height, 0.0, 0.0, 0.0, 1.0])
        return Geometry(
            "plane", np.zeros(0), 0.0, pose, self.colour, surface=self.surface, material=self.material, place=self.place
        )


# Keys that have no effect on a type of light.
_UNUSED = {
    "directional": ("position", "angle", "angle_deg", "attenuation"),
    "point": ("direction", "angle", "angle_deg", "shadows"),
    "spot": (),
}


@declared
class Light:
    """A light in the fixed frame.

    Raises:
        ValueError: An array has the wrong shape.
    """

    type: str = given(Word(LIGHT_TYPES), "The kind of light", default="directional")
    position: FloatArray = given(
        Vector(3, MAX_DISTANCE),
        "Position, without effect on a directional light",
        "m",
        default_factory=lambda: np.array([0.0, 0.0, 10.0]),
    )
    direction: FloatArray = given(
        Vector(3, MAX_DISTANCE),
        "Where the light goes, without effect on a point light",
        default_factory=lambda: np.array([0.0, 0.0, -1.0]),
    )
    colour: FloatArray = given(Rgb(), "Its colour and brightness", default_factory=lambda: np.full(3, 0.7), key="color")
    angle: float = given(
        Number(1e-5, math.pi / 2.0), "Half the angle of a spot's cone", "rad", default=math.pi / 4.0, degrees=True
    )
    attenuation: FloatArray = given(
        Vector(3, MAX_DISTANCE, 0.0),
        "What the brightness is divided by at a distance: constant, linear (1/m) and quadratic (1/m^2)",
        default_factory=lambda: np.array([1.0, 0.0, 0.0]),
    )
    shadows: bool = given(Flag(), "Whether shapes cast shadows, without effect on a point light", default=True)
    place: Place = place_of(default=NO_PLACE)

    @property
    def _derived(self) -> tuple[str, ...]:
        return _UNUSED.get(self.type, ())

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        kind = found.get("type", "directional")
        for key in _UNUSED.get(kind, ()):
            if (value := table.get(key)) is not None:
                value.error(f"has no effect on a {kind} light")

    @rule
    def shines(self) -> Iterator[Fault]:
        """Yield that it has no direction, or that nothing is left of it."""
        if not self.direction.any():
            yield "direction", f"{self.direction.tolist()} has no direction"
        if not self.attenuation.any():
            yield "attenuation", f"{self.attenuation.tolist()} must not be all zero"


@declared
class Sky:
    """The background of pictures, and the light that comes from everywhere.

    Raises:
        ValueError: An array has the wrong shape.
    """

    zenith: FloatArray | None = given(Rgb(), "Colour overhead; None for the default", default=None)
    horizon: FloatArray | None = given(
        Rgb(), "Colour at the horizon, and of the haze in the distance; None for the default", default=None
    )
    ambient: float | None = given(
        Number(0.0, 1.0), "Brightness of the light from everywhere; None for the default", default=None
    )
    place: Place = place_of(default=NO_PLACE)
