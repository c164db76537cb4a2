"""Engines: what moves the frames of a world."""

from sim_node.physics.engine import ENGINES, Engine, engine, engines_for
from sim_node.physics.handles import BodyHandle, JointHandle, VehicleHandle
from sim_node.physics.keyframes import KeyframeEngine
from sim_node.physics.rigid_bodies import RigidBodyEngine

__all__ = [
    "ENGINES",
    "BodyHandle",
    "Engine",
    "JointHandle",
    "KeyframeEngine",
    "RigidBodyEngine",
    "VehicleHandle",
    "engine",
    "engines_for",
]
