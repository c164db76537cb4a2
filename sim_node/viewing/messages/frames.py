"""Frames that messages use but that have no transform: placed by their names (REP 103), or at the fixed frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray

_HALF = np.sqrt(0.5)
# Poses (7,) of frames with these suffixes in the frames without them: NED in ENU, FRD in FLU.
_ENDINGS: dict[str, tuple[FloatArray, str]] = {
    "_ned": (np.array([0.0, 0.0, 0.0, _HALF, _HALF, 0.0, 0.0]), "NED to ENU"),
    "_frd": (np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), "FRD to FLU"),
}
# The fixed frame of sources without any transforms (REP 105).
MAP = "map"


class PlacedFrame(NamedTuple):
    """A frame without a transform: its parent, its pose (7,) in the parent, m, and a message about it."""

    parent: str
    pose: FloatArray
    remark: str


def without_transforms(names: Iterable[str], parents: Mapping[str, str], fixed: str) -> dict[str, PlacedFrame]:
    """Return where to place frames that have no transform.

    Args:
        names: Frames that messages use.
        parents: Parents of the frames that have transforms.
        fixed: The fixed frame.

    Returns:
        The missing frames, by name.
    """
    known = {fixed, *parents, *parents.values()}
    placed: dict[str, PlacedFrame] = {}
    for name in names:
        if name in known:
            continue
        stem, (pose, conversion) = next(
            ((name[: -len(ending)], turn) for ending, turn in _ENDINGS.items() if name.endswith(ending)),
            (name, (np.array(pose_math.IDENTITY), "")),
        )
        above = stem if conversion and stem in known else fixed
        where = f"{conversion}, on {above}" if conversion else f"drawn at {above}"
        placed[name] = PlacedFrame(above, pose, f"no transform has the frame {name!r}: {where}")
    return placed


def conversion_of(frame: str) -> str:
    """Return how data in a frame are converted, from the suffix of its name; empty if they are in ENU or FLU."""
    return next((text for ending, (_, text) in _ENDINGS.items() if frame.endswith(ending)), "")
