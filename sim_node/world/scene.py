"""The scene of a World: ground, lights, sky and camera. Fields, checks and sections."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sim_node.packages import how_to_install
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.declared import BAD, Fault, declared, given, keys_of, place_of, read, rule, settle
from sim_node.world.fields import floats
from sim_node.world.image_files import TEXTURES, brightness_of, image_fault
from sim_node.world.model import World
from sim_node.world.part import PARTS, Kind, Refer, Rename, entries_of_kind, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.quantities import (
    ORIGIN,
    POINT,
    Colour,
    Flag,
    FrameName,
    Inlined,
    Number,
    PartOf,
    PathOf,
    Plain,
    Rgb,
    Vector,
    Word,
)
from sim_node.world.readers.keys import Form, either, listing, number, word
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_section import Context, listed, section, single
from sim_node.world.readers.yaml_values import Table, Value
from sim_node.world.shapes import Geometry
from sim_node.world.surfaces import Material, Surface

PLANE = "plane"
ARRAYS = (".npy",)
LIGHT_TYPES = ("directional", "point", "spot")
# Maximum number of lights: OpenGL has eight, one of which is at the camera.
MAX_LIGHTS = 7
MIN_SAMPLES, MAX_SAMPLES = 2, 4096
MAX_HEIGHT = 1e5  # m
_HEIGHT = Number(-MAX_HEIGHT, MAX_HEIGHT)
P = TypeVar("P")


class Rows(Plain):
    """Rows of heights, all of one length: a read-only array (R, C)."""

    is_array = True

    def form(self, about: str) -> Form:
        """Return the form of a list of lists."""
        return listing(about, listing("", number("", -MAX_HEIGHT, MAX_HEIGHT)))

    def read(self, value: Value, context: Any) -> FloatArray:
        """Read rows of one length."""
        rows = [[_HEIGHT.read(each, None) for each in row.items()] for row in value.items()]
        odd = next((index for index, row in enumerate(rows) if len(row) != len(rows[0])), None)
        if odd is not None:
            value.error(f"[{odd}] has {len(rows[odd])} heights, [0] has {len(rows[0])}; rows need the same length")
        return np.array(rows) if rows and odd is None else np.zeros((0, 0))

    def settled(self, found: Any, owner: str, key: str) -> FloatArray:
        """Return a read-only array."""
        return floats(found, (-1, -1), owner, key)


class HeightFile(PathOf):
    """An image or an array."""

    def read(self, value: Value, context: Any) -> Path | None:
        """Return the file, or None if there is a fault, which is recorded."""
        found = context.find(value)
        if found is None:
            return None
        suffix = found[0].suffix.lower()
        if suffix not in (*ARRAYS, *TEXTURES):
            allowed = ", ".join((*ARRAYS, *TEXTURES))
            value.error(f"{quoted(found[0].name)} is not a supported heightmap; allowed: {allowed}")
        elif suffix in TEXTURES and (fault := image_fault(found[0])):
            value.error(fault)
        else:
            context.report.read.append(found[0])
        path: Path = found[0]
        return path


@declared(
    one_of={
        "one of file (an image, or an array in .npy) and heights (rows from south to north, m) is needed": (
            "file",
            "heights",
        )
    }
)
class Heightmap:
    """Heights on a grid.

    It covers a rectangle, with samples on its edges. Rows go from south to north, columns from west to east. The top of
    an image is north: black is the lowest, white the highest.

    Raises:
        ValueError: An array has the wrong shape, or not exactly one of heights and file is given.
    """

    size: FloatArray = given(Vector(2), "Extent along x and y", "m")
    heights: FloatArray | None = given(Rows(), "Rows of heights from south to north", "m", default=None)
    file: Path | None = given(HeightFile(), "An image, or an array in .npy, relative to this file", default=None)
    range: FloatArray | None = given(Vector(2), "Heights of black and white", "m", default=None)
    centre: FloatArray = given(Vector(2), "Position of the centre", "m", default=(0.0, 0.0), key="center")

    def __post_init__(self) -> None:
        if (self.heights is None) == (self.file is None):
            raise ValueError("a heightmap needs either heights or a file")
        settle(self)

    @rule
    def covers(self) -> Iterator[Fault]:
        """Yield the faults of the rectangle and the heights. Reads the file."""
        if not all(0.0 < edge <= MAX_DISTANCE for edge in self.size.tolist()):
            yield "size", f"{self.size.tolist()} is out of range; allowed: above 0 m"
        if not all(abs(each) <= MAX_DISTANCE for each in self.centre.tolist()):
            yield "center", f"{self.centre.tolist()} is out of range; allowed: up to {MAX_DISTANCE:g} m"
        if self.file is not None and (self.file.suffix.lower() in ARRAYS) != (self.range is None):
            yield (
                "range",
                "is needed: [black, white], m" if self.range is None else "is only for images; arrays are in metres",
            )
        elif self.range is not None and not np.all(np.abs(self.range) <= MAX_HEIGHT):
            yield "range", f"{self.range.tolist()} is out of range; allowed: up to {MAX_HEIGHT:g} m"
        else:
            yield from (("heights" if self.file is None else "file", fault) for fault in self._grid_faults())

    def _grid_faults(self) -> Iterator[str]:
        try:
            grid = self.grid()
        except ImportError as error:
            yield f"images need Pillow: {how_to_install(error)}"
            return
        except (OSError, ValueError, EOFError, SyntaxError) as error:
            name = "" if self.file is None else f"{quoted(self.file.name)} "
            yield f"{name}{' '.join(str(error).split())}"
            return
        if not all(MIN_SAMPLES <= count <= MAX_SAMPLES for count in grid.shape):
            yield f"found {grid.shape[0]} rows of {grid.shape[1]}; allowed: {MIN_SAMPLES} to {MAX_SAMPLES} each"
        elif not np.all(np.abs(grid) <= MAX_HEIGHT):
            row, column = np.argwhere(~(np.abs(grid) <= MAX_HEIGHT))[0].tolist()
            yield f"[{row}][{column}] is {grid[row, column]:g} m; allowed: up to {MAX_HEIGHT:g} m"

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


@declared
class Ground:
    """The ground in the fixed frame: an endless plane, or a heightmap, beyond whose edges there is nothing.

    Raises:
        ValueError: An array has the wrong shape.
    """

    height: float = given(_HEIGHT, "Height of the plane, or of the zero of the heightmap", "m", default=0.0)
    heightmap: Heightmap | None = given(PartOf(Heightmap), "Heights, or None for a plane", default=None)
    colour: FloatArray | None = given(Colour(), "Colour", default=None, key="color")
    surface: Surface | None = given(
        Inlined(Surface), "What it does where shapes touch it, or None for MuJoCo's defaults", default=None
    )
    material: Material | None = given(PartOf(Material), "How it looks besides its colour, or None", default=None)
    place: Place = place_of(default=NO_PLACE)

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
        POINT, "Position, without effect on a directional light", "m", default=(0.0, 0.0, 10.0)
    )
    direction: FloatArray = given(
        POINT, "Where the light goes, without effect on a point light", default=(0.0, 0.0, -1.0)
    )
    colour: FloatArray = given(Rgb(), "Its colour and brightness", default=(0.7, 0.7, 0.7), key="color")
    angle: float = given(
        Number(1e-5, math.pi / 2.0), "Half the angle of a spot's cone", "rad", default=math.pi / 4.0, degrees=True
    )
    attenuation: FloatArray = given(
        Vector(3, MAX_DISTANCE, 0.0),
        "What the brightness is divided by at a distance: constant, linear (1/m) and quadratic (1/m^2)",
        default=(1.0, 0.0, 0.0),
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
        """Yield a fault if it has no direction, or if its attenuation is all zero."""
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
    visibility: float | None = given(
        Number(0.1, 1e6), "Distance at which fog hides everything; None for no fog", "m", default=None
    )
    place: Place = place_of(default=NO_PLACE)


@declared
class Viewpoint:
    """Where the camera of the viewer begins.

    Raises:
        ValueError: An array has the wrong shape.
    """

    position: FloatArray = given(POINT, "Where it is: seen from the followed frame, or in the fixed frame", "m")
    look_at: FloatArray = given(POINT, "What it looks at, likewise", "m", default=ORIGIN)
    follow: str | None = given(FrameName(), "The frame that it follows; None for the fixed frame", default=None)
    place: Place = place_of(default=NO_PLACE)

    @rule
    def looks(self) -> Iterator[Fault]:
        """Yield a fault if it looks at its own position."""
        if np.array_equal(self.position, self.look_at):
            yield "look_at", f"{self.look_at.tolist()} is the position of the camera; it must look elsewhere"


# The kinds of parts


class SurroundingsParts(Kind[P]):
    """A kind whose parts in included worlds have no effect: those of the including world apply."""

    def renamed(self, part: P, rename: Rename) -> None:
        """Return None."""


class Single(SurroundingsParts[P]):
    """A kind with at most one part in a world, which is a mapping in world files."""

    single = True

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add it as a mapping."""
        for each in self.parts(world):
            sections[self.section] = self.data(each, refer)


@part("ground", Ground)
class TheGround(Single[Ground]):
    """The ground, at most one in a world."""


@part("lights", Light)
class Lights(SurroundingsParts[Light]):
    """Lights in the fixed frame."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of lights, including their number."""
        yield from super().problems(world)
        lights = self.parts(world)
        if len(lights) > MAX_LIGHTS:
            message = f"the world has {len(lights)} lights; allowed: up to {MAX_LIGHTS}"
            at = lights[MAX_LIGHTS].place
            yield Problem(at.where, at.key or f"lights[{MAX_LIGHTS}]", message)


@part("sky", Sky)
class TheSky(Single[Sky]):
    """The sky, at most one in a world."""


@part("camera", Viewpoint)
class TheCamera(Single[Viewpoint]):
    """The first view of the viewer, at most one in a world."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of its numbers and of the frame that it follows."""
        yield from super().problems(world)
        for each in self.parts(world):
            names = {
                world.fixed_frame,
                *(entry.name for kind in PARTS.values() for entry in entries_of_kind(kind, world)),
            }
            if each.follow is not None and each.follow not in names:
                message = f"no frame {quoted(each.follow)}{did_you_mean(each.follow, names)}"
                yield Problem(each.place.where, f"{each.place.key or self.name}.follow", message)


# What world files say


@section("ground", either("An endless plane, or a heightmap.", word("", PLANE), keys_of(Ground)))
def read_ground(value: Value, context: Context) -> None:
    """Read the word `plane`, or a mapping."""
    ground = Ground(place=value.place)
    if isinstance(value.node, Scalar) and value.node.text != PLANE:
        value.error(f"`{PLANE}` or a mapping is needed ({', '.join(keys_of(Ground))}), found {value.found()}")
    elif not isinstance(value.node, Scalar) and (found := read(Ground, value, context)) is not BAD:
        ground = found
    context.add(ground)
    value.sets(ground, "ground")


listed("lights", "Lights of pictures.", Light, sets=True)
single("sky", Sky)
single("camera", Viewpoint)
