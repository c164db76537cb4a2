"""How large a scene is, and where to look at it from first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sim_node.geometry import poses as pose_math
from sim_node.geometry.arrays import FloatArray
from sim_node.viewing.shapes import Shape
from sim_node.world import FrameTable, World

# Of the camera, upright, in radians; where it is from the middle of what is seen, and how many radii away.
FIELD_OF_VIEW = 0.9
_FROM, _RADII = np.array([-0.62, -0.72, 0.5]), 2.1
SMALLEST = 0.6
_CORNERS = np.array([[k & 1, k & 2, k & 4] for k in range(8)], dtype=bool)


class Extent(NamedTuple):
    """A ball about a scene: centre (3,) and radius, m, in the fixed frame."""

    centre: FloatArray
    radius: float

    @property
    def camera(self) -> FloatArray:
        """Where (3,) to look at its centre from."""
        return self.centre + _RADII * self.radius * _FROM / float(np.linalg.norm(_FROM))


def extent_of(in_root: FloatArray, shapes: Sequence[Shape], places: FloatArray) -> Extent:
    """Of all frames at poses (N, 7) in the fixed frame, the shapes on them, and places (P, 3) where they will go."""
    corners = [in_root[:, :3], places]
    solid = [shape for shape in shapes if shape.kind != "plane"]
    if solid:
        placed = pose_math.compose(in_root[[shape.row for shape in solid]], np.array([shape.pose for shape in solid]))
        boxes = np.array([_box(shape) for shape in solid])
        corners.append(pose_math.apply(placed[:, None], boxes).reshape(-1, 3))
    points = np.concatenate(corners)
    points = points[np.isfinite(points).all(axis=1)]
    low, high = points.min(axis=0), points.max(axis=0)
    return Extent(0.5 * (low + high), max(0.5 * float(np.linalg.norm(high - low)), SMALLEST))


def places_to_be(world: World, frames: FrameTable, in_root: FloatArray) -> FloatArray:
    """Keyframes and waypoints (P, 3) of what moves in frames that stand still."""
    found = [np.zeros((0, 3))]
    moves = [(motion.parent, motion.poses[:, :3]) for motion in world.motions]
    parents = {body.name: body.parent for body in world.bodies}
    moves += [
        (parents[vehicle.body], np.array([waypoint.position for waypoint in vehicle.pilot.waypoints]).reshape(-1, 3))
        for vehicle in world.vehicles
        if vehicle.pilot is not None and vehicle.body in parents
    ]
    for parent, places in moves:
        row = frames.index(parent or world.fixed_frame)
        if frames.still[row]:
            found.append(pose_math.apply(in_root[row], places))
    return np.concatenate(found)


def _box(shape: Shape) -> FloatArray:
    """The corners (8, 3) of a box about a shape, in its own axes."""
    if shape.mesh is not None:
        low, high = shape.mesh.vertices.min(axis=0), shape.mesh.vertices.max(axis=0)
    else:
        half = shape.scale * {"box": (0.5, 0.5, 0.5), "cylinder": (1.0, 1.0, 0.5)}.get(shape.kind, (1.0, 1.0, 1.0))
        low, high = -half, half
    return np.asarray(np.where(_CORNERS, high, low), dtype=np.float64)
