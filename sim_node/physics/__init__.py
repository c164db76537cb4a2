"""Engines: what moves the frames of a world."""

from sim_node.physics.engine import ENGINES, Engine, engine, engines_for
from sim_node.physics.keyframes import KeyframeEngine

__all__ = ["ENGINES", "Engine", "KeyframeEngine", "engine", "engines_for"]
