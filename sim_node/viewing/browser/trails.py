"""Where frames have been: a line behind each, of bounded length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.viewing.browser.colours import linear

# Points of a trail; how far apart they are at least, of a scene's radius; trails at once.
POINTS, APART, MAX_SHOWN = 600, 0.004, 32
COLOURS = ((31, 119, 180), (255, 127, 14), (44, 160, 44), (214, 39, 40), (148, 103, 189), (23, 190, 207))


class Trails:
    """One object of lines for all trails, made anew where others are chosen.

    Each trail is a ring of POINTS positions (3,), which starts full of the first one: its memory never grows.
    """

    def __init__(self, scene: Any, node: str, radius: float) -> None:
        self._scene, self._node, self._apart = scene, node, APART * radius
        self._rows = np.zeros(0, dtype=np.intp)
        self._handle: Any = None
        self._changed = False

    def choose(self, rows: Sequence[int], in_root: FloatArray) -> None:
        """The frames that draw trails from now on, MOST at most."""
        self._rows = np.array(rows[:MAX_SHOWN], dtype=np.intp)
        self.clear(in_root)
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
        if len(self._rows):
            colours = linear(np.array([COLOURS[k % len(COLOURS)] for k in range(len(self._rows))]) / 255.0)
            self._handle = self._scene.add_line_segments(
                self._node,
                self._segments(),
                np.repeat(colours, 2 * (POINTS - 1), axis=0).reshape(-1, 2, 3),
                thickness=2.0,
                thickness_units="screen",
            )

    def clear(self, in_root: FloatArray) -> None:
        """Begins all of them anew where their frames are."""
        self._points = np.repeat(in_root[self._rows, None, :3], POINTS, axis=1).astype(np.float32)
        self._changed = True

    def follow(self, in_root: FloatArray) -> None:
        """Adds where frames have gone."""
        if not len(self._rows):
            return
        here = in_root[self._rows, :3].astype(np.float32)
        gone = np.flatnonzero(np.linalg.norm(here - self._points[:, -2], axis=1) > self._apart)
        self._points[:, -1] = here
        if len(gone):
            self._points[gone, :-1] = self._points[gone, 1:]
            self._changed = True

    def show(self) -> None:
        """Sends them if they have grown."""
        if self._changed and self._handle is not None:
            self._handle.points = self._segments()
            self._changed = False

    def _segments(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return np.stack([self._points[:, :-1], self._points[:, 1:]], axis=2).reshape(-1, 2, 3)
