"""How far a world reaches: where views of all of it look."""

from __future__ import annotations

import numpy as np

from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray
from sim_node.world import FrameTable, World
from sim_node.world.bodies import Geometry

# A world of a single point is looked at as if it were so large, m.
SMALLEST = 1.0


def extent(world: World, frames: FrameTable, frame_poses: FloatArray) -> tuple[FloatArray, float]:
    """The centre (3,) and radius (m) of a ball in the fixed frame around all that a world has, planes left out.

    frame_poses (N, 7): where its frames are in their parents. Shapes count with their sizes, keyframes and waypoints
    with all their places.
    """
    rooted = frames.in_root(frame_poses)
    corners = [rooted[:, :3]]
    for body in world.bodies:
        row = frames.index(body.name)
        for part in body.geometry:
            reach = _reach(part)
            if reach > 0.0:
                middle = poses.apply(rooted[row], part.pose[:3])
                corners.append(np.array([middle - reach, middle + reach]))
    corners += (poses.apply(rooted[frames.index(motion.parent)], motion.poses[:, :3]) for motion in world.motions)
    for vehicle in world.vehicles:
        if vehicle.pilot is not None and vehicle.pilot.waypoints:
            parent = rooted[frames.parents[frames.index(vehicle.body)]]
            corners.append(poses.apply(parent, np.array([way.position for way in vehicle.pilot.waypoints])))
    points = np.concatenate(corners)
    low, high = points.min(axis=0), points.max(axis=0)
    return (low + high) / 2.0, max(float(np.linalg.norm(high - low)) / 2.0, SMALLEST)


def _reach(part: Geometry) -> float:
    """The radius of a ball that holds a shape; 0 for those without an end or of sizes that only their files say."""
    size = part.size
    if part.shape == "box":
        return float(np.linalg.norm(size)) / 2.0
    if part.shape in ("cylinder", "capsule"):
        return float(size[0] + size[1] / 2.0)
    return float(size.max()) if part.shape in ("sphere", "ellipsoid", "xyz") else 0.0
