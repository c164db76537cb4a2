"""Finishes: how the surface of a shape looks besides its colour, and where a texture lies on it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray

# The sides of a cube map in the order of OpenGL (4.6, table 8.19), which is MuJoCo's: the axis of a side and its sign,
# and the axes along which its columns and its rows run, with their signs.
SIDES = (
    (0, 1, 2, -1, 1, -1),
    (0, -1, 2, 1, 1, -1),
    (1, 1, 0, 1, 2, 1),
    (1, -1, 0, 1, 2, -1),
    (2, 1, 0, 1, 1, -1),
    (2, -1, 0, -1, 1, -1),
)


@dataclass(frozen=True, eq=False)
class Texture:
    """An image on a shape.

    Attributes:
        pixels: (height, width, 3) uint8, from the top; of a cube map, the six sides below each other.
        is_cube: Whether it is a cube map: a point of the surface has the colour of its direction from the middle.
            Otherwise it lies flat on each side, or around, or where a mesh says.
        repeat: How often it is repeated along x and y; not of a cube map.
        is_metric: Whether it is repeated every 2 m rather than along the shape; of a cube map: whether directions are
            those in metres rather than those in a shape whose halves are 1. MuJoCo's `texuniform`.
        offset: What is added to x and y after the repetitions, in images; of a cube map: to points of the form whose
            halves are 1.
        halves: (3,) half the size of the whole that the shape is a part of, m, by which directions in metres are
            those; None for the shape's own.
    """

    pixels: npt.NDArray[np.uint8]
    is_cube: bool = False
    repeat: tuple[float, float] = (1.0, 1.0)
    is_metric: bool = False
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    halves: tuple[float, float, float] | None = None


@dataclass(frozen=True, eq=False)
class Finish:
    """A material.

    Attributes:
        tint: (4,) red, green, blue and opacity, 0 to 1, sRGB, by which the texture is multiplied.
        texture: The image, or None.
        metallic: 0 (an insulator) to 1 (a metal).
        roughness: 0 (a mirror) to 1 (matt).
    """

    tint: tuple[float, ...]
    texture: Texture | None = None
    metallic: float = 0.0
    roughness: float = field(default=1.0)


def of_cap(finish: Finish | None, end: float, radius: float, half: float) -> Finish | None:
    """Return the finish of a ball that is an end of a capsule with a finish.

    As MuJoCo's renderer has it: a whole image on each half ball, and a cube map around the middle of the capsule.

    Args:
        finish: Of the capsule.
        end: Positive for the upper end, negative for the lower one.
        radius: Of the capsule, m.
        half: Half of the length without the caps, m.
    """
    if finish is None or finish.texture is None:
        return finish
    texture, (across, along) = finish.texture, finish.texture.repeat
    if texture.is_cube:
        beyond = (0.0, 0.0, math.copysign(1.0, end))
        return replace(finish, texture=replace(texture, offset=beyond, halves=(radius, radius, half)))
    below = 0.0 if end > 0.0 else -along * (radius if texture.is_metric else 1.0)
    return replace(finish, texture=replace(texture, repeat=(across, 2.0 * along), offset=(0.0, below, 0.0)))


def plane_uv(points: FloatArray, halves: FloatArray, texture: Texture) -> FloatArray:
    """Return where points (..., 3) of a plane or a height field are in an image (..., 2), which repeats.

    As MuJoCo's renderer has it: right and down from the image's corner. The corner is that of a finite plane; an
    infinite one has the middle of an image at its origin.

    Args:
        points: From the middle of the shape, m.
        halves: (2,) half its size, m; 0 where it is infinite.
        texture: The image.
    """
    repeat, finite = np.array(texture.repeat), halves > 0.0
    lengths = np.where(finite, halves, 1.0)
    start = np.where(finite, 0.5 * repeat * (halves if texture.is_metric else 1.0), 0.5)
    scale = 0.5 * repeat * (1.0 if texture.is_metric else 1.0 / lengths)
    return np.asarray(start + scale * points[..., :2] * (1.0, -1.0))


def flat_uv(kind: str, cells: FloatArray, halves: FloatArray, texture: Texture) -> FloatArray:
    """Return where the corners of cells (Q, 4, 3) of a box, a sphere or a cylinder are in an image (Q, 4, 2).

    As MuJoCo's renderer has it: a whole image on each side of a box and on each lid, and one around a sphere and the
    side of a cylinder, times the repetitions.

    Args:
        kind: box, sphere or cylinder.
        cells: Of the form whose halves are 1.
        halves: (3,) half the size of the shape, m.
        texture: The image.
    """
    middles = cells.mean(axis=1)
    x, y, z = np.moveaxis(cells, -1, 0)
    if kind == "box":
        axis = np.abs(middles).argmax(axis=1)[:, None]
        uv = np.stack([np.where(axis == 0, y, x), -np.where(axis == 2, y, z)], axis=-1)
        uv = 0.5 * (1.0 + uv)
    else:
        # The image begins above the x axis, and a cell does not go around it.
        about = np.mod(np.arctan2(middles[:, 1], middles[:, 0]), 2.0 * np.pi)[:, None]
        off = np.mod(np.arctan2(y, x) - about + np.pi, 2.0 * np.pi) - np.pi
        around = (about + np.where(np.hypot(x, y) > 1e-9, off, 0.0)) / (2.0 * np.pi)
        if kind == "sphere":
            uv = np.stack([around, np.arccos(np.clip(z, -1.0, 1.0)) / np.pi], axis=-1)
        else:
            is_lid = (np.abs(middles[:, 2]) > 1.0 - 1e-9)[:, None, None]
            lid = 0.5 * (1.0 + cells[..., :2])
            uv = np.where(is_lid, lid, np.stack([around, 0.5 * (1.0 - z)], axis=-1))
    repeat = np.array(texture.repeat) * (halves[:2] if texture.is_metric else 1.0)
    return np.asarray(uv * repeat + texture.offset[:2])


def cube_uv(points: FloatArray) -> FloatArray:
    """Return where the corners (Q, 4, 3) of small quadrilaterals are in a cube map's image (Q, 4, 2), right and down.

    Each quadrilateral is on the side that its middle is on. OpenGL 4.6, 8.13.
    """
    middles = points.mean(axis=1)
    axes = np.abs(middles).argmax(axis=1)
    sides = 2 * axes + (np.take_along_axis(middles, axes[:, None], axis=1)[:, 0] < 0.0)
    axis, _, across, columns, down, rows = np.array(SIDES)[sides].T
    quads, four = np.arange(len(points))[:, None], np.arange(4)[None]
    # The half of a cap that is within its capsule reaches the middle.
    depth = np.maximum(np.abs(points[quads, four, axis[:, None]]), 1e-9)
    u = 0.5 * (columns[:, None] * points[quads, four, across[:, None]] / depth + 1.0)
    v = 0.5 * (rows[:, None] * points[quads, four, down[:, None]] / depth + 1.0)
    # What is beyond a side by rounding or a corner does not get the colours of the next one in the image.
    return np.stack([np.clip(u, 0.0, 1.0), (sides[:, None] + np.clip(v, 1e-3, 1.0 - 1e-3)) / len(SIDES)], axis=-1)
