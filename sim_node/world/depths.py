"""How far shapes reach below the origin of their body: how high it is when they stand on the ground."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.shapes import SHAPES_WITHOUT_MASS, Geometry, scaled_triangles

# How far a shape reaches from its centre in a direction (3,), m, from its sizes.
_REACHES: dict[str, Callable[[FloatArray, FloatArray], float]] = {
    "box": lambda size, to: 0.5 * float(size @ np.abs(to)),
    "sphere": lambda size, to: float(size[0]),
    "cylinder": lambda size, to: float(size[0] * np.hypot(to[0], to[1]) + 0.5 * size[1] * abs(to[2])),
    "capsule": lambda size, to: float(size[0] + 0.5 * size[1] * abs(to[2])),
    "ellipsoid": lambda size, to: float(np.linalg.norm(size * to)),
}


def depth_below(geometry: Iterable[Geometry]) -> float:
    """Return how far the lowest point that makes contact is below the origin of the body, m; 0 if none is.

    Raises:
        ValueError: A mesh cannot be read.
        ImportError: A mesh needs MuJoCo.
    """
    solid = [each for each in geometry if each.only != "visual" and not each.is_shown_only]
    return max((_depth(each) for each in solid if each.shape not in SHAPES_WITHOUT_MASS), default=0.0)


def _depth(shape: Geometry) -> float:
    if shape.shape == "mesh":
        return -float(poses.apply(shape.pose, scaled_triangles(shape).vertices)[:, 2].min())
    down = -quaternions.to_matrix(shape.pose[3:])[2]
    return _REACHES[shape.shape](shape.size, down) - float(shape.pose[2])
