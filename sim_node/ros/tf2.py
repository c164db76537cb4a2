"""The names that programs import from tf2_ros. Only the import line of a program has to change."""

from sim_node.ros.buffer import Buffer
from sim_node.ros.tf2_conversions import (
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TimeoutException,
    TransformException,
)
from sim_node.ros.tf_listener import TransformListener

__all__ = [
    "Buffer",
    "ConnectivityException",
    "ExtrapolationException",
    "InvalidArgumentException",
    "LookupException",
    "TimeoutException",
    "TransformException",
    "TransformListener",
]
