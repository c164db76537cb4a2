"""Poses written in NED or FRD axes, turned to the house's ENU and FLU as they are read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sim_node.frames import Frame, convert_transform
from sim_node.geometry.arrays import FloatArray


def _as_is(pose: FloatArray) -> FloatArray:
    return pose


# What a pose's `convention` key may say, and how a pose (..., 7) written so comes into the house: an FRD body in a
# NED world, an FRD mounting in an FRD body.
CONVENTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "ENU": _as_is,
    "FLU": _as_is,
    "NED": partial(convert_transform, source=(Frame.NED, Frame.FRD), target=(Frame.ENU, Frame.FLU)),
    "FRD": partial(convert_transform, source=(Frame.FRD, Frame.FRD), target=(Frame.FLU, Frame.FLU)),
}
