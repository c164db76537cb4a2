"""The time-indexed transform tree. The use of its names imports numba and loads the compiled kernels."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.names import SENSOR_PATTERNS as SENSOR_PATTERNS
    from sim_node.spatial.tree.describe import FrameInfo as FrameInfo
    from sim_node.spatial.tree.errors import CyclicTree as CyclicTree
    from sim_node.spatial.tree.errors import Disconnected as Disconnected
    from sim_node.spatial.tree.errors import Extrapolation as Extrapolation
    from sim_node.spatial.tree.errors import FutureExtrapolation as FutureExtrapolation
    from sim_node.spatial.tree.errors import InvalidTransform as InvalidTransform
    from sim_node.spatial.tree.errors import PastExtrapolation as PastExtrapolation
    from sim_node.spatial.tree.errors import Refusal as Refusal
    from sim_node.spatial.tree.errors import TransformError as TransformError
    from sim_node.spatial.tree.errors import UnknownFrame as UnknownFrame
    from sim_node.spatial.tree.transform_tree import TransformTree as TransformTree
    from sim_node.spatial.tree.waiting import Wait as Wait
