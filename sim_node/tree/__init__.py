"""The time-indexed transform tree. Importing this package imports numba and loads the compiled kernels."""

from sim_node.names import SENSOR_PATTERNS
from sim_node.tree.describe import FrameInfo
from sim_node.tree.errors import (
    CyclicTree,
    Disconnected,
    Extrapolation,
    FutureExtrapolation,
    InvalidTransform,
    PastExtrapolation,
    Refusal,
    TransformError,
    UnknownFrame,
)
from sim_node.tree.transform_tree import TransformTree
from sim_node.tree.waiting import Wait

__all__ = [
    "SENSOR_PATTERNS",
    "CyclicTree",
    "Disconnected",
    "Extrapolation",
    "FrameInfo",
    "FutureExtrapolation",
    "InvalidTransform",
    "PastExtrapolation",
    "Refusal",
    "TransformError",
    "TransformTree",
    "UnknownFrame",
    "Wait",
]
