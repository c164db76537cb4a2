"""The rclpy nodes. Only this package imports rclpy and message packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.nodes.bridge import BridgeNode
    from sim_node.nodes.buffer import Buffer
    from sim_node.nodes.parameters import ParameterFault
    from sim_node.nodes.replay import ReplayNode
    from sim_node.nodes.simulation import SimulationNode
    from sim_node.nodes.spin import LoopNode, run_node
    from sim_node.nodes.tf_listener import TransformListener

__all__ = [
    "BridgeNode",
    "Buffer",
    "LoopNode",
    "ParameterFault",
    "ReplayNode",
    "SimulationNode",
    "TransformListener",
    "run_node",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "BridgeNode": "bridge",
        "Buffer": "buffer",
        "LoopNode": "spin",
        "ParameterFault": "parameters",
        "ReplayNode": "replay",
        "SimulationNode": "simulation",
        "TransformListener": "tf_listener",
        "run_node": "spin",
    },
)
