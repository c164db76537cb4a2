"""All frames as axes: two objects of the page, one for those that stand still."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim_node.geometry.arrays import BoolArray, FloatArray
from sim_node.viewing.browser.batches import WXYZ
from sim_node.viewing.shape import Shape
from sim_node.world import FrameTable

# Of a scene's radius, and of the distance of a frame from its parent, when that is shorter.
_OF_RADIUS, _OF_DISTANCE = 0.06, 0.5
_THICKNESS = 0.03


class Axes:
    """Red, green and blue arrows at every frame, of lengths (N,)."""

    def __init__(self, scene: Any, node: str, frames: FrameTable, lengths: FloatArray, in_root: FloatArray) -> None:
        self._lengths = lengths
        self._sets: list[tuple[Any, BoolArray]] = []
        self._moving = ~frames.still
        for name, rows in (("still", frames.still), ("moving", self._moving)):
            if rows.any():
                handle = scene.add_batched_axes(
                    f"{node}/{name}",
                    in_root[rows][:, WXYZ],
                    in_root[rows, :3],
                    self._lengths[rows],
                    axes_length=1.0,
                    axes_radius=_THICKNESS,
                )
                self._sets.append((handle, rows))

    def show(self, in_root: FloatArray) -> None:
        """Sends where the moving ones are."""
        if self._moving.any():
            placed = in_root[self._moving].astype(np.float32)
            handle, _ = self._sets[-1]
            handle.batched_positions = placed[:, :3]
            handle.batched_wxyzs = placed[:, WXYZ]

    def resize(self, factor: float) -> None:
        """All of them longer or shorter."""
        for handle, rows in self._sets:
            handle.batched_scales = (factor * self._lengths[rows]).astype(np.float32)

    def set_visible(self, visible: bool) -> None:
        """Shows or hides them."""
        for handle, _ in self._sets:
            handle.visible = visible


def lengths(frames: FrameTable, in_root: FloatArray, shapes: Sequence[Shape], radius: float) -> FloatArray:
    """How long (N,) to draw the axes of each frame, m: by what is on it, and how close it is to its parent."""
    largest = _OF_RADIUS * radius
    sizes = np.zeros(len(frames))
    for shape in shapes:
        if shape.kind in ("box", "sphere", "cylinder"):
            sizes[shape.row] = max(sizes[shape.row], float(shape.scale.max()))
    length = np.where(sizes > 0.0, np.clip(0.9 * sizes, 0.2 * largest, largest), largest)
    for row, parent in enumerate(frames.parents.tolist()):
        if parent > 0:
            away = float(np.linalg.norm(in_root[row, :3] - in_root[parent, :3]))
            length[row] = min(length[parent], max(_OF_DISTANCE * away, 0.4 * length[parent]))
    return length
