"""The rclpy nodes. Only this package imports rclpy and message packages."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.ros.bridge import BridgeNode as BridgeNode
    from sim_node.ros.buffer import Buffer as Buffer
    from sim_node.ros.parameters import ParameterFault as ParameterFault
    from sim_node.ros.replay import ReplayNode as ReplayNode
    from sim_node.ros.simulation import SimulationNode as SimulationNode
    from sim_node.ros.spin import LoopNode as LoopNode
    from sim_node.ros.spin import run_node as run_node
    from sim_node.ros.tf_listener import TransformListener as TransformListener
