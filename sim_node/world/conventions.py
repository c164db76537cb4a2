"""Poses written in NED or FRD axes, turned to the house's ENU and FLU as they are read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray

_HALF = np.sqrt(0.5)
_ENU_FROM_NED = np.array([_HALF, _HALF, 0.0, 0.0])  # x and y swap, z turns over
_FRD_SIGNS = np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
_FLU_FROM_FRD = np.array([1.0, 0.0, 0.0, 0.0])  # half a turn about x


def _as_is(pose: FloatArray) -> FloatArray:
    return pose


def _from_ned(pose: FloatArray) -> FloatArray:
    """The pose of an FRD body in a NED world: both change their axes. Signs are swapped, never multiplied in."""
    turned = np.empty_like(pose)
    turned[..., 0] = pose[..., 1]
    turned[..., 1] = pose[..., 0]
    turned[..., 2] = -pose[..., 2]
    turned[..., 3:] = quaternions.multiply(quaternions.multiply(_ENU_FROM_NED, pose[..., 3:]), _FLU_FROM_FRD)
    return turned


def _from_frd(pose: FloatArray) -> FloatArray:
    """The pose of an FRD frame in an FRD body, as sensor mountings on PX4 and ArduPilot are given."""
    turned: FloatArray = pose * _FRD_SIGNS
    return turned


# What a pose's `convention` key may say, and how a pose (..., 7) written so comes into the house.
CONVENTIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "ENU": _as_is,
    "FLU": _as_is,
    "NED": _from_ned,
    "FRD": _from_frd,
}
