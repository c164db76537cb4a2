"""Quaternions, rigid transforms and interpolation, as functions of plain arrays.

The modules `quaternions` and `poses` have the algebra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.geometry.arrays import BoolArray, FloatArray, IntArray
    from sim_node.geometry.interpolation import hermite_pose, interpolate, slerp
    from sim_node.geometry.tangents import catmull_rom_tangents, pchip_tangents

__all__ = [
    "BoolArray",
    "FloatArray",
    "IntArray",
    "catmull_rom_tangents",
    "hermite_pose",
    "interpolate",
    "pchip_tangents",
    "slerp",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "BoolArray": "arrays",
        "FloatArray": "arrays",
        "IntArray": "arrays",
        "catmull_rom_tangents": "tangents",
        "hermite_pose": "interpolation",
        "interpolate": "interpolation",
        "pchip_tangents": "tangents",
        "slerp": "interpolation",
    },
)
