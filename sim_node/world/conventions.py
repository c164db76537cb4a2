"""Conversion of poses that are written in NED or FRD axes to ENU and FLU, when they are read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sim_node.spatial.frames import Frame, convert_transform
from sim_node.spatial.geometry.arrays import FloatArray


def _as_is(pose: FloatArray) -> FloatArray:
    return pose


# Values of a pose's key `convention`, and the conversion of poses (..., 7) to ENU and FLU: an FRD body in a
# NED world, an FRD mounting in an FRD body.
CONVENTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "ENU": _as_is,
    "FLU": _as_is,
    "NED": partial(convert_transform, source=(Frame.NED, Frame.FRD), target=(Frame.ENU, Frame.FLU)),
    "FRD": partial(convert_transform, source=(Frame.FRD, Frame.FRD), target=(Frame.FLU, Frame.FLU)),
}
