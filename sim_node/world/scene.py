"""What surrounds the bodies of a World, as frozen data: the ground, the lights and the sky."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.world.bodies import Geometry
from sim_node.world.fields import floats, same
from sim_node.world.image_files import brightness_of
from sim_node.world.problems import NO_PLACE, Place
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


@dataclass(frozen=True, slots=True, eq=False)
class Light:
    """A light in the fixed frame.

    Attributes:
        type: One of LIGHT_TYPES.
        position: (3,), m; of a directional light without effect.
        direction: (3,) in which it shines; of a point light without effect.
        colour: Red, green and blue (3,), each 0 to 1: its brightness, too.
        angle: Half the angle of a spot's cone, rad.
        attenuation: Constant, per metre and per square metre (3,): what the brightness is divided by at a distance.
        shadows: Whether shapes cast shadows; of a point light without effect.
        place: Where the file describes it.

    Raises:
        ValueError: An array has the wrong shape.
    """

    type: str = "directional"
    position: FloatArray = field(default_factory=lambda: np.array([0.0, 0.0, 10.0]))
    direction: FloatArray = field(default_factory=lambda: np.array([0.0, 0.0, -1.0]))
    colour: FloatArray = field(default_factory=lambda: np.full(3, 0.7))
    angle: float = math.pi / 4.0
    attenuation: FloatArray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    shadows: bool = True
    place: Place = NO_PLACE

    def __post_init__(self) -> None:
        for key in ("position", "direction", "colour", "attenuation"):
            object.__setattr__(self, key, floats(getattr(self, key), (3,), "light", key))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, eq=False)
class Sky:
    """The background of pictures, and the light that comes from everywhere.

    Attributes:
        zenith: Colour (3,) overhead: red, green and blue, each 0 to 1; None for the default.
        horizon: Colour (3,) at the horizon, and of the haze in the distance; None for the default.
        ambient: Brightness of the light from everywhere, 0 to 1; None for the default.
        place: Where the file describes it.

    Raises:
        ValueError: An array has the wrong shape.
    """

    zenith: FloatArray | None = None
    horizon: FloatArray | None = None
    ambient: float | None = None
    place: Place = NO_PLACE

    def __post_init__(self) -> None:
        for key in ("zenith", "horizon"):
            if getattr(self, key) is not None:
                object.__setattr__(self, key, floats(getattr(self, key), (3,), "sky", key))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]
