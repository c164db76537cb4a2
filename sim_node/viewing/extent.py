"""The extent of a scene, including later motion, for views of the whole scene."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import BoolArray, FloatArray
from sim_node.viewing.meshes import DrawnShape, are_sheets
from sim_node.viewing.plans import sampled
from sim_node.world import Body, World
from sim_node.world.layout import Layout
from sim_node.world.shapes import Geometry

# Minimum radius, for a scene of a single point, m.
MIN_RADIUS = 0.6
_CORNERS = np.array([[k & 1, k & 2, k & 4] for k in range(8)], dtype=bool)
# Half extents of shapes relative to their scale, where they are not 1.
_HALVES = {"box": np.full(3, 0.5), "cylinder": np.array([1.0, 1.0, 0.5])}


class Extent(NamedTuple):
    """A sphere around a scene: centre (3,) and radius, m, in the fixed frame."""

    centre: FloatArray
    radius: float


def points_of(
    in_root: FloatArray, shapes: Sequence[DrawnShape], places: FloatArray, rows: BoolArray | slice = slice(None)
) -> FloatArray:
    """Return points (P, 3) around frames at poses (N, 7) in the fixed frame, shapes on them, and places (K, 3).

    rows (N,): mask of the frames whose origins are included.
    """
    corners = [in_root[rows, :3], places]
    solid = [shape for shape in shapes if not shape.is_ground]
    # Terrain is included only if there is nothing else.
    solid = solid or [shape for shape in shapes if shape.kind == "terrain"]
    if solid:
        placed = poses.compose(in_root[[shape.row for shape in solid]], np.array([shape.pose for shape in solid]))
        boxes = np.array([box_of(shape) for shape in solid])
        corners.append(poses.apply(placed[:, None], boxes).reshape(-1, 3))
    return np.concatenate(corners)


def boxes_of(frames: int, shapes: Sequence[DrawnShape]) -> FloatArray:
    """Return the corners (N, 8, 3) of boxes around the shapes of frames, in the frames' axes, m; NaN for none."""
    lows, highs = np.full((frames, 3), np.inf), np.full((frames, 3), -np.inf)
    for shape in shapes:
        if not shape.is_ground:
            corners = poses.apply(shape.pose, box_of(shape))
            lows[shape.row] = np.minimum(lows[shape.row], corners.min(axis=0))
            highs[shape.row] = np.maximum(highs[shape.row], corners.max(axis=0))
    boxes = np.where(_CORNERS, highs[:, None], lows[:, None])
    return np.where(np.isfinite(boxes), boxes, np.nan)


def around(points: FloatArray) -> Extent:
    """Return the extent of the finite points (P, 3) in the fixed frame; without any, an extent at the origin."""
    points = points[np.isfinite(points).all(axis=1)]
    points = points if len(points) else np.zeros((1, 3))
    low, high = points.min(axis=0), points.max(axis=0)
    return Extent(0.5 * (low + high), max(0.5 * float(np.linalg.norm(high - low)), MIN_RADIUS))


def places_of(world: World, layout: Layout) -> FloatArray:
    """Return points (P, 3) in the fixed frame around a world's shapes and all future motion, without planes.

    All positions of keyframes and waypoints, and the sizes of shapes, are included. Parts that rotate on a joint may do
    so in any direction and count as spheres; static parts count as boxes. Motion of slides and falling bodies is not
    predicted.
    """
    return np.concatenate([np.zeros((0, 3)), *_corners(world, layout)])


def _corners(world: World, layout: Layout) -> Iterator[FloatArray]:
    """Yield points (K, 3) that bound the world."""
    frames = layout.frames
    rooted = frames.in_root(layout.poses)
    motions = dict(layout.moving)
    tops, lengths = _swings(layout)
    known = _on_keyframes(layout, tops)
    ways = sampled(layout)[:, known]
    place = {row: number for number, row in enumerate(np.flatnonzero(known).tolist())}
    yield ways[..., :3].reshape(-1, 3)
    reach = dict.fromkeys(set(np.array(tops)[~known].tolist()) - {-1}, 0.0)
    for row, top in enumerate(tops):
        if top in reach:
            reach[top] = max(reach[top], lengths[row])
    for body in world.bodies:
        row = frames.index(body.name)
        for size, part in ((_size(part), part) for part in _solid(body, stands=bool(frames.still[row]))):
            if size > 0.0 and known[row]:
                half = _half(part)
                corners = poses.compose(ways[:, place[row]], part.pose)[:, None]
                yield poses.apply(corners, np.where(_CORNERS, half, -half)).reshape(-1, 3)
            elif size > 0.0 and tops[row] >= 0:
                far = lengths[row] + float(np.linalg.norm(part.pose[:3])) + size
                reach[tops[row]] = max(reach[tops[row]], far)
            elif size > 0.0:
                half = _half(part)
                yield poses.apply(poses.compose(rooted[row], part.pose), np.where(_CORNERS, half, -half))
    for top, radius in reach.items():
        parent = rooted[frames.parents[top]]
        places = motions[top].poses[:, :3] if top in motions else layout.poses[top, :3]
        yield _around(poses.apply(parent, places), radius)
    for vehicle in world.vehicles:
        if vehicle.pilot is not None and vehicle.pilot.waypoints:
            row = frames.index(vehicle.body)
            places = np.array([waypoint.position for waypoint in vehicle.pilot.waypoints])
            yield _around(poses.apply(rooted[frames.parents[row]], places), reach.get(row, 0.0))


def _on_keyframes(layout: Layout, tops: list[int]) -> BoolArray:
    """Return a mask (N,) of the frames that move by keyframes only, together with everything that moves with them."""
    on_keyframes = {row for row, _ in layout.moving}
    others = {top for row, top in enumerate(tops) if not layout.frames.static[row] and row not in on_keyframes}
    return np.array([top >= 0 and top not in others for top in tops], dtype=bool)


def _swings(layout: Layout) -> tuple[list[int], list[float]]:
    """Return, for each row, the nearest moving frame at or above it (-1 for none) and the maximum distance from it."""
    frames, motions = layout.frames, dict(layout.moving)
    still, parents = frames.still.tolist(), frames.parents.tolist()
    tops, lengths = [-1] * len(frames), [0.0] * len(frames)
    for row, parent in enumerate(parents):
        if still[row]:
            continue
        if still[parent]:
            tops[row] = row
            continue
        places = motions[row].poses[:, :3] if row in motions else layout.poses[row : row + 1, :3]
        tops[row] = tops[parent]
        lengths[row] = lengths[parent] + float(np.linalg.norm(places, axis=1).max())
    return tops, lengths


def _around(places: FloatArray, radius: float) -> FloatArray:
    """Return the ends of the axes of spheres around places. Their bounding box is that of the spheres."""
    axes = radius * np.concatenate([np.eye(3), -np.eye(3)])
    return np.asarray((np.atleast_2d(places)[:, None] + axes).reshape(-1, 3))


def _solid(body: Body, *, stands: bool) -> list[Geometry]:
    """Return the shapes of a body, except those that represent planes."""
    return [part for part in body.shapes if not (stands and part.shape == "box" and are_sheets(part.size))]


def _size(part: Geometry) -> float:
    """Return the radius of a sphere around a shape; 0 for infinite shapes and sizes that are only in files."""
    size = part.size
    if part.shape == "box":
        return float(np.linalg.norm(size)) / 2.0
    if part.shape in ("cylinder", "capsule"):
        return float(size[0] + size[1] / 2.0)
    return float(size.max()) if part.shape in ("sphere", "ellipsoid", "xyz") else 0.0


def _half(part: Geometry) -> FloatArray:
    """Return the half extents (3,) of a box around a shape that has a size, in its own axes, m."""
    if part.shape == "box":
        return 0.5 * part.size
    if part.shape in ("cylinder", "capsule"):
        radius, length = part.size
        return np.array([radius, radius, 0.5 * length + (radius if part.shape == "capsule" else 0.0)])
    return np.asarray(part.size if part.shape == "ellipsoid" else np.full(3, part.size.max()), dtype=np.float64)


def bounds_of(shape: DrawnShape) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest corner (3,) of a box around a shape, in its own axes."""
    if shape.mesh is not None:
        return shape.mesh.vertices.min(axis=0), shape.mesh.vertices.max(axis=0)
    half = shape.scale * _HALVES.get(shape.kind, 1.0)
    return -half, half


def box_of(shape: DrawnShape) -> FloatArray:
    """Return the corners (8, 3) of a box around a shape, in its own axes."""
    low, high = bounds_of(shape)
    return np.asarray(np.where(_CORNERS, high, low), dtype=np.float64)
