"""What a picture shows beside shapes: the axes of frames, and the trails that they leave."""

from __future__ import annotations

from itertools import pairwise

import mujoco
import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.viewing.renderer import Renderer

# x red, y green, z blue, as in rviz.
AXES = ((0.90, 0.24, 0.26), (0.16, 0.62, 0.38), (0.22, 0.45, 0.95))
TRAILS = ((0.96, 0.60, 0.10), (0.55, 0.30, 0.85), (0.05, 0.62, 0.70), (0.85, 0.25, 0.55))
# Marks shine by themselves, so that their colours tell in the shade too.
_EMISSION = 0.35
# Shares of an axis' length, and of a view's distance.
_AXIS_RADIUS, _TRAIL_RADIUS = 0.045, 0.0016


def draw_axes(renderer: Renderer, rooted: FloatArray, lengths: FloatArray) -> None:
    """Three rods in each of some frames' poses (F, 7), lengths (F,) in m."""
    tips = quaternions.to_matrix(rooted[:, 3:])
    for pose, axes, length in zip(rooted, tips, lengths, strict=True):
        for axis, colour in enumerate(AXES):
            _rod(renderer, _AXIS_RADIUS * length, pose[:3], pose[:3] + length * axes[:, axis], colour)


def draw_trail(renderer: Renderer, points: FloatArray, distance: float, index: int) -> None:
    """A line through points (P, 3), as thick as is well seen from that distance; index: which trail it is."""
    colour = TRAILS[index % len(TRAILS)]
    for begin, end in pairwise(points):
        if not np.array_equal(begin, end):
            _rod(renderer, _TRAIL_RADIUS * distance, begin, end, colour)


def axis_lengths(rooted: FloatArray, span: float) -> FloatArray:
    """Lengths (F,) of the axes of frames at poses (F, 7): shorter where others are near, by the span of the picture."""
    apart = np.linalg.norm(rooted[:, None, :3] - rooted[None, :, :3], axis=2)
    apart[apart < 1e-3 * span] = np.inf
    nearest = apart.min(axis=1, initial=np.inf)
    return np.asarray(np.clip(0.45 * nearest, 0.025 * span, 0.09 * span))


def _rod(
    renderer: Renderer, radius: float, begin: FloatArray, end: FloatArray, colour: tuple[float, float, float]
) -> None:
    scene = renderer.scene
    if scene.ngeom >= scene.maxgeom:
        return
    geom = scene.geoms[scene.ngeom]
    capsule, rgba = mujoco.mjtGeom.mjGEOM_CAPSULE, np.array([*colour, 1.0], dtype=np.float32)
    mujoco.mjv_initGeom(geom, capsule, np.zeros(3), np.zeros(3), np.eye(3).ravel(), rgba)
    mujoco.mjv_connector(geom, capsule, radius, begin - renderer.origin, end - renderer.origin)
    geom.emission, geom.specular, geom.shininess = _EMISSION, 0.2, 0.4
    geom.category = mujoco.mjtCatBit.mjCAT_DECOR
    scene.ngeom += 1
