"""Occupancy grids of worlds: the objects within a height range, as for map_server and SLAM (REP 105)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import BoolArray, FloatArray
from sim_node.viewing.meshes import DrawnShape, TriangleMesh
from sim_node.world import FrameTable, World
from sim_node.world.layout import lay_out
from sim_node.world.mujoco_source import need_mujoco

FREE, OCCUPIED, UNKNOWN = 0, 100, -1  # nav_msgs/OccupancyGrid
# Margin around occupied cells, m.
MARGIN = 0.5
MAX_CELLS = 50_000_000
# Number of segments of cylinders and spheres.
_SEGMENTS = 48
# A surface that touches a cell by less than this, in cells, does not occupy it. Surfaces are moved inwards by slightly
# more, m, so that one on the boundary of two cells belongs to the cell of its solid.
_TOUCH, _INWARDS = 1e-7, 1e-6


class GridFault(ValueError):
    """A grid that cannot be created. The message gives the reason."""


@dataclass(frozen=True, eq=False)
class OccupancyGrid:
    """An occupancy grid.

    Attributes:
        cells: (rows, columns), int8: FREE, OCCUPIED or UNKNOWN; rows along y, columns along x.
        origin: The corner of the first cell in the fixed frame, m.
        resolution: The edge of a cell, m.
    """

    cells: npt.NDArray[np.int8]
    origin: tuple[float, float]
    resolution: float


def occupancy_of(
    world: World,
    resolution: float = 0.05,
    heights: tuple[float, float] = (0.05, 1.0),
    starts: Sequence[tuple[float, float]] = (),
    *,
    moving: bool = False,
) -> OccupancyGrid:
    """Return the map of an assembled world.

    A cell is occupied if a surface that lidars see passes through it within the height range, and free if it can be
    reached from a start without crossing an occupied one. All others, such as the inside of walls, are unknown. Bases,
    vehicles and the ground are left out.

    Args:
        world: The world, in its initial state.
        resolution: The edge of a cell, m.
        heights: Lower and upper height of the range, m above the origin of the fixed frame.
        starts: Positions (m) from which free cells are reached; by default those of the world's bases and vehicles, or
            without any, the edge of the map.
        moving: Whether parts that are moved by joints are included.

    Returns:
        The map.

    Raises:
        GridFault: Nothing is in the height range, a start is occupied or outside, or there would be too many cells.
    """
    polygons = list(_polygons(_triangles(world, moving=moving), heights))
    if not polygons:
        raise GridFault(f"nothing stands between {heights[0]:g} m and {heights[1]:g} m")
    low = np.min([polygon.min(axis=0) for polygon in polygons], axis=0)
    high = np.max([polygon.max(axis=0) for polygon in polygons], axis=0)
    places = np.array(starts if len(starts) else _starts(world)).reshape(-1, 2)
    if not len(starts):
        # Extend the map to robots outside of it, but not to the horizon.
        low, high = np.min([low, *places], axis=0), np.max([high, *places], axis=0)
    first = np.floor((low - MARGIN) / resolution).astype(np.int64)
    columns, rows = (np.ceil((high + MARGIN) / resolution).astype(np.int64) - first).tolist()
    if columns * rows > MAX_CELLS:
        raise GridFault(f"{columns} x {rows} cells; allowed: {MAX_CELLS}. A larger resolution needs fewer")
    occupied = np.zeros((rows, columns), dtype=bool)
    for polygon in polygons:
        _mark(occupied, polygon / resolution - first)
    cells = np.full(occupied.shape, UNKNOWN, dtype=np.int8)
    cells[_reached(occupied, np.floor(places / resolution).astype(np.int64) - first, checked=bool(len(starts)))] = FREE
    cells[occupied] = OCCUPIED
    origin = (float(first[0] * resolution), float(first[1] * resolution))
    return OccupancyGrid(cells, origin, resolution)


def _robots(world: World, frames: FrameTable) -> list[int]:
    """Return the rows of the bodies of bases and vehicles."""
    return [frames.index(body) for body in (*(each.body for each in world.bases), *(v.body for v in world.vehicles))]


def _starts(world: World) -> list[FloatArray]:
    """Return the positions of bases and vehicles in the fixed frame."""
    layout = lay_out(world)
    rooted = layout.frames.in_root(layout.poses)
    return [rooted[row, :2] for row in _robots(world, layout.frames)]


def _triangles(world: World, *, moving: bool) -> Iterator[FloatArray]:
    """Yield the triangles (F, 3, 3) of each shape in the fixed frame."""
    need_mujoco(world.source)
    from sim_node.viewing.mujoco_shapes import geoms_of

    layout = lay_out(world)
    frames = layout.frames
    rooted = frames.in_root(layout.poses)
    robots = set(_robots(world, frames))
    below = {row for row in range(len(frames)) if robots & set(frames.chain(row))}
    for shape in geoms_of(world, layout):
        if shape.is_ground or shape.row in below:
            continue
        if not (moving or frames.still[shape.row]) or shape.colour[3] <= 0.0:
            continue
        mesh = _mesh_of(shape)
        corners = poses.apply(poses.compose(rooted[shape.row], shape.pose), mesh.vertices * shape.scale)
        yield corners[mesh.faces]


def _mesh_of(shape: DrawnShape) -> TriangleMesh:
    """Return the triangles of a shape before scaling."""
    if shape.mesh is not None:
        return shape.mesh
    if shape.kind == "box":
        corners = np.array([[k & 1, k >> 1 & 1, k >> 2 & 1] for k in range(8)]) - 0.5
        sides = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
        faces = [each for a, b, c, d in sides for each in ((a, b, c), (a, c, d))]
        return TriangleMesh(corners.astype(np.float32), np.array(faces, dtype=np.uint32))
    around = np.linspace(0.0, 2.0 * np.pi, _SEGMENTS, endpoint=False)
    if shape.kind == "cylinder":
        profile = [(0.0, -0.5), (1.0, -0.5), (1.0, 0.5), (0.0, 0.5)]
    else:
        profile = [(np.sin(t), -np.cos(t)) for t in np.linspace(0.0, np.pi, _SEGMENTS // 2 + 1)]
    rings = np.array([[r * np.cos(around), r * np.sin(around), np.full(_SEGMENTS, z)] for r, z in profile])
    k = np.arange(_SEGMENTS)
    n = (k + 1) % _SEGMENTS
    around_faces = np.concatenate(
        [
            np.concatenate([np.stack([at + k, at + n, up + n], 1), np.stack([at + k, up + n, up + k], 1)])
            for at, up in ((_SEGMENTS * ring, _SEGMENTS * (ring + 1)) for ring in range(len(profile) - 1))
        ]
    )
    vertices = rings.transpose(0, 2, 1).reshape(-1, 3)
    return TriangleMesh(vertices.astype(np.float32), around_faces.astype(np.uint32))


def _polygons(triangles: Iterable[FloatArray], heights: tuple[float, float]) -> Iterator[FloatArray]:
    """Yield the part of each triangle within a height range: convex polygons (K, 2) seen from above, m."""
    low, high = heights
    for each in triangles:
        z = each[:, :, 2]
        inside = each[(z.max(axis=1) >= low) & (z.min(axis=1) <= high)]
        across = np.cross(inside[:, 1] - inside[:, 0], inside[:, 2] - inside[:, 0])
        across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-300)
        inside = inside - _INWARDS * across[:, None]
        whole = (inside[:, :, 2].min(axis=1) >= low) & (inside[:, :, 2].max(axis=1) <= high)
        yield from inside[whole, :, :2]
        for corners in inside[~whole]:
            part = _clipped(_clipped(corners, low, 1.0), high, -1.0)
            if len(part):
                yield part[:, :2]


def _clipped(corners: FloatArray, height: float, sign: float) -> FloatArray:
    """Clip a polygon (K, 3) to above a height, or to below it for a negative sign (Sutherland and Hodgman, 1974)."""
    above = sign * (corners[:, 2] - height)
    kept: list[FloatArray] = []
    for i, corner in enumerate(corners):
        j = (i + 1) % len(corners)
        if above[i] >= 0.0:
            kept.append(corner)
        if (above[i] >= 0.0) != (above[j] >= 0.0):
            kept.append(corner + above[i] / (above[i] - above[j]) * (corners[j] - corner))
    return np.array(kept).reshape(-1, 3)


def _mark(occupied: BoolArray, polygon: FloatArray) -> None:
    """Mark the cells that a convex polygon (K, 2), in units of cells, overlaps, by the separating axis theorem."""
    low = np.maximum(np.floor(polygon.min(axis=0) + _TOUCH).astype(int), 0)
    high = np.minimum(np.ceil(polygon.max(axis=0) - _TOUCH).astype(int), np.array(occupied.shape)[::-1])
    high = np.maximum(high, low + 1)
    if (high - low == 1).all():  # the most common case for fine meshes
        occupied[low[1], low[0]] = True
        return
    x = np.arange(low[0], high[0]) + 0.5
    y = np.arange(low[1], high[1])[:, None] + 0.5
    hit = np.ones((len(y), len(x)), dtype=bool)
    edges = np.roll(polygon, -1, axis=0) - polygon
    lengths = np.hypot(*edges.T)
    for ex, ey in edges[lengths > 1e-9] / lengths[lengths > 1e-9, None]:
        along = polygon @ (-ey, ex)
        half = 0.5 * (abs(ex) + abs(ey)) - _TOUCH
        middle = ex * y - ey * x
        hit &= (middle + half > along.min()) & (middle - half < along.max())
    occupied[low[1] : high[1], low[0] : high[0]] |= hit


def _reached(occupied: BoolArray, starts: npt.NDArray[np.int64], *, checked: bool) -> BoolArray:
    """Return the cells that can be reached from starts (N, 2), as column and row; without any, from the edge."""
    from scipy.ndimage import label

    found, _ = label(~occupied)
    rows, columns = occupied.shape
    if not len(starts):
        edge = np.concatenate([found[0], found[-1], found[:, 0], found[:, -1]])
        return np.isin(found, np.unique(edge[edge > 0]))
    kept = []
    for column, row in starts.tolist():
        inside = 0 <= column < columns and 0 <= row < rows
        if checked and not (inside and found[row, column]):
            raise GridFault("a start is occupied" if inside else "a start is outside of what stands in the world")
        if inside and found[row, column]:
            kept.append(found[row, column])
    return np.isin(found, kept)


def pgm_of(grid: OccupancyGrid) -> bytes:
    """Return a map as a PGM image for map_server, first row at the largest y: 0 occupied, 254 free, 205 unknown."""
    shades = np.select([grid.cells == OCCUPIED, grid.cells == FREE], [0, 254], 205).astype(np.uint8)
    rows, columns = shades.shape
    return b"P5\n%d %d\n255\n" % (columns, rows) + shades[::-1].tobytes()


def yaml_of(grid: OccupancyGrid, image: str) -> str:
    """Return the YAML file of a map for map_server. Its free_thresh is below the shade of unknown cells."""
    import json

    x, y = grid.origin
    lines = {
        "image": json.dumps(image),
        "mode": "trinary",
        "resolution": repr(grid.resolution),
        "origin": f"[{x:.9g}, {y:.9g}, 0]",
        "negate": "0",
        "occupied_thresh": "0.65",
        "free_thresh": "0.196",
    }
    return "".join(f"{key}: {value}\n" for key, value in lines.items())
