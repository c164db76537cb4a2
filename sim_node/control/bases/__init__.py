"""Kinematics of wheeled bases: from twists to wheels and back. A new kind is a new file here with one `@base` entry."""

from sim_node.control.bases.linear import LinearKinematics
from sim_node.control.bases.registry import BASE_TYPES, BaseType, Kinematics, base, dimension, kinematics_of

__all__ = ["BASE_TYPES", "BaseType", "Kinematics", "LinearKinematics", "base", "dimension", "kinematics_of"]
