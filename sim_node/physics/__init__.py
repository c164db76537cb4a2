"""Engines: what moves the frames of a world."""

from sim_node.physics.engine import ENGINES, Engine, engine, engines_for
from sim_node.physics.handles import BodyHandle, VehicleHandle
from sim_node.physics.joint_handles import JointHandle, JointHandles
from sim_node.physics.keyframes import KeyframeEngine
from sim_node.physics.rigid_bodies import RigidBodyEngine

__all__ = [
    "ENGINES",
    "BodyHandle",
    "Engine",
    "JointHandle",
    "JointHandles",
    "KeyframeEngine",
    "RigidBodyEngine",
    "VehicleHandle",
    "engine",
    "engines_for",
]
