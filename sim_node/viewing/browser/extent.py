"""How large a scene is, and where to look at it from first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sim_node.geometry import poses as pose_math
from sim_node.geometry.arrays import FloatArray
from sim_node.viewing.shapes import Shape
from sim_node.world import FrameTable, World

# Of the camera, upright, in radians; where it is from the middle of what is seen, and how many radii away.
FIELD_OF_VIEW = 0.9
_FROM, _RADII = np.array([-0.62, -0.72, 0.46]), 2.3
SMALLEST = 0.6


class Extent(NamedTuple):
    """A ball about a scene: centre (3,) and radius, m, in the fixed frame."""

    centre: FloatArray
    radius: float

    @property
    def camera(self) -> FloatArray:
        """Where (3,) to look at its centre from."""
        return self.centre + _RADII * self.radius * _FROM / float(np.linalg.norm(_FROM))


def extent_of(frames: FrameTable, in_root: FloatArray, shapes: Sequence[Shape], world: World | None) -> Extent:
    """Of all frames at poses (N, 7) in the fixed frame, the shapes on them, and where the world says they will go."""
    corners = [in_root[:, :3]]
    solid = [shape for shape in shapes if shape.kind != "plane"]
    if solid:
        centres = pose_math.compose(in_root[[shape.row for shape in solid]], np.array([shape.pose for shape in solid]))[
            :, :3
        ]
        reach = np.array([_reach(shape) for shape in solid])[:, None]
        corners += [centres - reach, centres + reach]
    if world is not None:
        corners += list(_places_to_be(world, frames, in_root))
    points = np.concatenate(corners)
    points = points[np.isfinite(points).all(axis=1)]
    low, high = points.min(axis=0), points.max(axis=0)
    return Extent(0.5 * (low + high), max(0.5 * float(np.linalg.norm(high - low)), SMALLEST))


def _reach(shape: Shape) -> float:
    """How far a shape goes from its middle at most."""
    if shape.mesh is not None:
        return float(np.abs(shape.mesh.vertices).max(initial=0.0))
    return float(np.max(shape.scale)) * (0.5 if shape.kind == "box" else 1.0)


def _places_to_be(world: World, frames: FrameTable, in_root: FloatArray) -> Iterator[FloatArray]:
    """Keyframes and waypoints (P, 3) of what moves in frames that stand still."""
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
            yield pose_math.apply(in_root[row], places)
