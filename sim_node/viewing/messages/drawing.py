"""Drawings: the appearance of a message, as arrays in ENU and FLU, each part in a frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim_node.moved import renamed
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.meshes import DrawnShape

Colours = npt.NDArray[np.uint8]
# The fixed frame, whatever its name.
FIXED = ""


@dataclass(frozen=True, eq=False)
class Points:
    """Points (n, 3), m, and colours (n, 3) in sRGB; None to colour by distance from the frame."""

    frame: str
    positions: FloatArray
    colours: Colours | None = None


@dataclass(frozen=True, eq=False)
class Lines:
    """Segments (k, 2, 3), m, with colours (k, 2, 3) of their ends, sRGB, and a width in screen pixels."""

    frame: str
    ends: FloatArray
    colours: Colours
    width: float = 2.0


@dataclass(frozen=True, eq=False)
class Poses:
    """Axes at poses (k, 7), m."""

    frame: str
    poses: FloatArray


@dataclass(frozen=True, eq=False)
class Attitude:
    """Axes at the origin of a frame, rotated by a quaternion (4,) that maps the body (FLU) to ENU."""

    frame: str
    quaternion: FloatArray


@dataclass(frozen=True, eq=False)
class Picture:
    """An image of a camera with an optical frame (z forward, REP 103).

    Attributes:
        frame: The optical frame.
        pixels: Colours (height, width, 3), or depths (height, width), m; None to show only the camera.
        fov: Horizontal and vertical field of view, rad.
    """

    frame: str
    pixels: npt.NDArray[np.generic] | None
    fov: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Raster:
    """Cells on a plane. The first cell begins at the pose's origin; columns run along x, rows along y.

    Attributes:
        frame: The frame of the pose.
        pose: (7,), m.
        cells: Red, green, blue and opacity (rows, columns, 4).
        size: Edge of a cell, m.
    """

    frame: str
    pose: FloatArray
    cells: Colours
    size: float


@dataclass(frozen=True, eq=False)
class Solids:
    """Shapes in a frame; their rows are not used. follows: whether they move with the frame."""

    frame: str
    shapes: tuple[DrawnShape, ...]
    follows: bool = False


@dataclass(frozen=True, eq=False)
class TextLabel:
    """A text at a position (3,), m."""

    frame: str
    position: FloatArray
    text: str


Item = Points | Lines | Poses | Attitude | Picture | Raster | Solids | TextLabel


@dataclass(frozen=True, eq=False)
class Drawing:
    """The present appearance of a source.

    Attributes:
        frame: The frame in the message, for the label.
        items: The parts; empty to show nothing.
        place: Position of the label (3,), in `frame`, m.
        conversion: How the data were converted on input, such as "NED to ENU"; empty if they were in ENU or FLU.
    """

    frame: str
    items: tuple[Item, ...]
    place: FloatArray | None = None
    conversion: str = ""

    @property
    def frames(self) -> tuple[str, ...]:
        """Return the frames that it refers to, except the fixed frame."""
        return tuple(dict.fromkeys(name for name in (self.frame, *(item.frame for item in self.items)) if name))


def strip(points: FloatArray) -> FloatArray:
    """Convert a line through points (n, 3) to segments (n - 1, 2, 3)."""
    return np.stack([points[:-1], points[1:]], axis=1)


def in_one_colour(segments: FloatArray, colour: tuple[int, int, int]) -> Colours:
    """Return colours (k, 2, 3) for segments (k, 2, 3), all of the same colour."""
    return np.tile(np.array(colour, dtype=np.uint8), (len(segments), 2, 1))


__getattr__ = renamed(__name__, Text="TextLabel")
