"""Engines: what moves the frames of a world."""

from sim_node.physics.engine import ENGINES, Engine, engine, engines_for
from sim_node.physics.handles import Body, Joint, Vehicle
from sim_node.physics.keyframes import KeyframeEngine
from sim_node.physics.rigid_bodies import RigidBodyEngine

__all__ = [
    "ENGINES",
    "Body",
    "Engine",
    "Joint",
    "KeyframeEngine",
    "RigidBodyEngine",
    "Vehicle",
    "engine",
    "engines_for",
]
