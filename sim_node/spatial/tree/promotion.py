"""Promotion of dynamic frames to static ones: sensors that do not move on their robot, found by their names."""

from __future__ import annotations

import numpy as np

from sim_node.names import BASE_LINK, fits, last
from sim_node.spatial.tree.layout import DYNAMIC, NO_PARENT, STILL
from sim_node.spatial.tree.rings import Rings


class Promotion:
    """Decides which frames that are sent as dynamic are stored as static.

    A frame is a candidate if the last component of its name matches a pattern, case-sensitively. It is promoted once a
    frame whose last component is base_link is among its ancestors, unless its history shows that it moves.
    """

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self.patterns = patterns
        self.candidates: set[int] = set()

    def consider(self, frame: int, name: str) -> None:
        """Add a new frame to the candidates if its name matches."""
        if fits(name, self.patterns):
            self.candidates.add(frame)

    def apply(self, rings: Rings, names: list[str]) -> list[int]:
        """Promote the candidates that have a base_link among their ancestors. Return them."""
        promoted = []
        for frame in sorted(self.candidates):
            record = rings.frames[frame]
            if record["kind"] != DYNAMIC or record["count"] == 0 or not _below_base_link(rings, frame, names):
                continue
            self.candidates.discard(frame)
            if _is_still(rings, frame):
                rings.promote(frame)
                promoted.append(frame)
        return promoted


def _below_base_link(rings: Rings, frame: int, names: list[str]) -> bool:
    for _ in range(len(names)):
        record = rings.frames[frame]
        frame = int(record["parent"])
        if record["count"] == 0 or frame == NO_PARENT:
            return False
        if last(names[frame]) == BASE_LINK:
            return True
    return False


def _is_still(rings: Rings, frame: int) -> bool:
    entries = rings.entries(frame)
    if len(np.unique(entries["parent"])) > 1:
        return False
    q = np.stack([entries[axis] for axis in ("qx", "qy", "qz", "qw")], axis=-1)
    q = np.where((q @ q[0] < 0.0)[:, None], -q, q)
    position = np.stack([entries[axis] for axis in ("x", "y", "z")], axis=-1)
    return bool(np.abs(position - position[0]).max() <= STILL and np.abs(q - q[0]).max() <= STILL)
