"""Quaternions, rigid transforms and interpolation, as functions of plain arrays.

The modules `quaternions` and `poses` have the algebra.
"""

from sim_node.lazy import public

with public(__name__):
    from sim_node.spatial.geometry.arrays import BoolArray as BoolArray
    from sim_node.spatial.geometry.arrays import FloatArray as FloatArray
    from sim_node.spatial.geometry.arrays import IntArray as IntArray
    from sim_node.spatial.geometry.interpolation import hermite_pose as hermite_pose
    from sim_node.spatial.geometry.interpolation import interpolate as interpolate
    from sim_node.spatial.geometry.interpolation import slerp as slerp
    from sim_node.spatial.geometry.tangents import catmull_rom_tangents as catmull_rom_tangents
    from sim_node.spatial.geometry.tangents import pchip_tangents as pchip_tangents
