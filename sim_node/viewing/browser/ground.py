"""The ground: a grid on each plane of the world, or at the fixed frame's height."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sim_node.geometry import poses as pose_math
from sim_node.geometry.arrays import FloatArray
from sim_node.viewing.browser.batches import WXYZ
from sim_node.viewing.extent import Extent
from sim_node.viewing.shape import Shape

_LINES, _BOLD_LINES, _PLANE = (205, 210, 216), (168, 176, 186), (244, 245, 246)
# Cells of the grid across a scene's radius, about.
_CELLS = 8.0


def add_ground(scene: Any, node: str, shapes: Sequence[Shape], in_root: FloatArray, extent: Extent) -> None:
    """Grids with cells of 1, 10, 100 ... m or parts of one, by the size of the scene."""
    cell = 10.0 ** round(math.log10(extent.radius / _CELLS))
    planes = [pose_math.compose(in_root[shape.row], shape.pose) for shape in shapes if shape.kind == "plane"]
    for number, pose in enumerate(planes or [np.array(pose_math.IDENTITY)]):
        scene.add_grid(
            f"{node}/{number}",
            infinite_grid=True,
            cell_size=cell,
            section_size=10.0 * cell,
            cell_color=_LINES,
            section_color=_BOLD_LINES,
            cell_thickness=0.8,
            section_thickness=1.2,
            fade_distance=12.0 * extent.radius,
            shadow_opacity=0.0,
            plane_color=_PLANE,
            plane_opacity=1.0 if planes else 0.0,
            position=pose[:3],
            wxyz=pose[WXYZ],
        )
