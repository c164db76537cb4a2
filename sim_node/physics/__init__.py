"""Engines: what moves the frames of a world."""

from sim_node.physics.engine import ENGINES, Engine, engine, engines_for
from sim_node.physics.keyframes import KeyframeEngine
from sim_node.physics.rigid_bodies import RigidBodyEngine, vehicles_in
from sim_node.physics.vehicles import Vehicle

__all__ = ["ENGINES", "Engine", "KeyframeEngine", "RigidBodyEngine", "Vehicle", "engine", "engines_for", "vehicles_in"]
