"""Finishes: the appearance of surfaces besides their colour, and texture coordinates."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray

# The sides of a cube map in the order of OpenGL (4.6, table 8.19), which is also MuJoCo's: the axis of a side and its
# sign, and the axes along which its columns and its rows run, with their signs.
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
        pixels: (height, width, 3) uint8, from the top; for a cube map, the six sides below each other.
        is_cube: Whether it is a cube map, in which a surface point has the colour in its direction from the centre.
            Otherwise, it is mapped flat onto each side, around the shape, or by the mesh's coordinates.
        repeat: Number of repetitions along x and y; not used for a cube map.
        is_metric: Whether it is repeated every 2 m instead of along the shape; for a cube map, whether directions are
            measured in metres rather than in a shape with half extents of 1. MuJoCo's `texuniform`.
        offset: Offset added to x and y after the repetitions, in images; for a cube map, added to points of the shape
            with half extents of 1.
        halves: (3,) half extents, m, of the whole that the shape is part of, for directions in metres; None for the
            shape's own.
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
        tint: (4,) red, green, blue and opacity, 0 to 1, sRGB. The texture is multiplied by it.
        texture: The image, or None.
        metallic: 0 (an insulator) to 1 (a metal).
        roughness: 0 (a mirror) to 1 (matt).
    """

    tint: tuple[float, ...]
    texture: Texture | None = None
    metallic: float = 0.0
    roughness: float = field(default=1.0)


def of_cap(finish: Finish | None, end: float, radius: float, half: float) -> Finish | None:
    """Return the finish of a sphere that forms an end of a capsule with a finish.

    As in MuJoCo's renderer: a whole image on each half sphere, and a cube map around the centre of the capsule.

    Args:
        finish: Finish of the capsule.
        end: Positive for the upper end, negative for the lower one.
        radius: Radius of the capsule, m.
        half: Half of its length without the caps, m.
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
    """Return the coordinates (..., 2) of points (..., 3) of a plane or height field in a repeating image.

    As in MuJoCo's renderer: right and down from the image's corner. The corner is that of a finite plane; the centre of
    an image is at the origin of an infinite plane.

    Args:
        points: Points relative to the centre of the shape, m.
        halves: (2,) half extents, m; 0 where it is infinite.
        texture: The image.
    """
    repeat, finite = np.array(texture.repeat), halves > 0.0
    lengths = np.where(finite, halves, 1.0)
    start = np.where(finite, 0.5 * repeat * (halves if texture.is_metric else 1.0), 0.5)
    scale = 0.5 * repeat * (1.0 if texture.is_metric else 1.0 / lengths)
    return np.asarray(start + scale * points[..., :2] * (1.0, -1.0))


def flat_uv(kind: str, cells: FloatArray, halves: FloatArray, texture: Texture) -> FloatArray:
    """Return the image coordinates (Q, 4, 2) of the corners of cells (Q, 4, 3) of a box, sphere or cylinder.

    As in MuJoCo's renderer: a whole image on each side of a box and on each lid, and one around a sphere and the side
    of a cylinder, times the repetitions.

    Args:
        kind: box, sphere or cylinder.
        cells: Cells of the shape with half extents of 1.
        halves: (3,) half extents of the shape, m.
        texture: The image.
    """
    middles = cells.mean(axis=1)
    x, y, z = np.moveaxis(cells, -1, 0)
    if kind == "box":
        axis = np.abs(middles).argmax(axis=1)[:, None]
        uv = np.stack([np.where(axis == 0, y, x), -np.where(axis == 2, y, z)], axis=-1)
        uv = 0.5 * (1.0 + uv)
    else:
        # The image begins above the x axis, and no cell goes around it.
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
    """Return the coordinates (Q, 4, 2), right and down, in a cube map's image of the corners (Q, 4, 3) of small quads.

    Each quad belongs to the side on which its centre lies. OpenGL 4.6, section 8.13.
    """
    middles = points.mean(axis=1)
    axes = np.abs(middles).argmax(axis=1)
    sides = 2 * axes + (np.take_along_axis(middles, axes[:, None], axis=1)[:, 0] < 0.0)
    axis, _, across, columns, down, rows = np.array(SIDES)[sides].T
    quads, four = np.arange(len(points))[:, None], np.arange(4)[None]
    # The half of a cap that is inside its capsule reaches the centre.
    depth = np.maximum(np.abs(points[quads, four, axis[:, None]]), 1e-9)
    u = 0.5 * (columns[:, None] * points[quads, four, across[:, None]] / depth + 1.0)
    v = 0.5 * (rows[:, None] * points[quads, four, down[:, None]] / depth + 1.0)
    # Points slightly beyond a side must not get colours of the next side in the image.
    return np.stack([np.clip(u, 0.0, 1.0), (sides[:, None] + np.clip(v, 1e-3, 1.0 - 1e-3)) / len(SIDES)], axis=-1)
