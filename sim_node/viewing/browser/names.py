"""Names of frames, written beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.world import FrameTable

MODES = ("none", "main", "all")
# Each name is an element of the page that is moved by itself: more of them neither can be read nor keep pace.
MAX_SHOWN = 100
# Letters of a label.
MAX_LENGTH = 40
# Labels that do not hide the scene.
FEW = 30


class Names:
    """The names of no frames, of the main ones, or of all; frames that stand still in one place share a label.

    Labels are made when they are first asked for, MOST at once.
    """

    def __init__(self, scene: Any, node: str, frames: FrameTable, main: list[int]) -> None:
        self._scene, self._node, self._frames = scene, node, frames
        self._rows = {"none": [], "main": main, "all": list(range(len(frames)))}
        self._labels: list[tuple[int, Any]] = []
        # The mode to begin with.
        self.first = "main" if len(main) <= FEW else "none"

    def choose(self, mode: str, in_root: FloatArray) -> None:
        """One of MODES, at poses (N, 7) in the fixed frame."""
        for _, label in self._labels:
            label.remove()
        self._labels = [
            (row, self._scene.add_label(f"{self._node}/{row}", text, position=in_root[row, :3], font_screen_scale=0.8))
            for row, text in list(self._texts(self._rows[mode], in_root).items())[:MAX_SHOWN]
        ]

    def show(self, in_root: FloatArray) -> None:
        """Sends where those of moving frames are."""
        for row, label in self._labels:
            if not self._frames.still[row]:
                label.position = in_root[row, :3]

    def _texts(self, rows: Sequence[int], in_root: FloatArray) -> dict[int, str]:
        """The label of each row that has one."""
        texts: dict[int, str] = {}
        first: dict[tuple[float, ...], int] = {}
        for row in rows:
            name = self._frames.names[row]
            if self._frames.still[row]:
                place = tuple(np.round(in_root[row, :3], 3).tolist())
                at = first.setdefault(place, row)
                texts[at] = f"{texts[at]}, {name}" if at in texts else name
            else:
                texts[row] = name
        return {row: text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…" for row, text in texts.items()}


def main_rows(frames: FrameTable) -> list[int]:
    """The frames on the fixed frame, and the first moving ones of each branch."""
    parents = frames.parents
    first = ~frames.still & ((parents < 0) | frames.still[parents])
    rows: list[int] = np.flatnonzero(first | (parents == 0)).tolist()
    return rows
