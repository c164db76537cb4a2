"""Kinematics of wheeled bases: from twists to wheels and back. A new kind is a new file here with one `@base` entry."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.world.base_types.kinds import LinearKinematics as LinearKinematics
    from sim_node.world.base_types.registry import BASE_TYPES as BASE_TYPES
    from sim_node.world.base_types.registry import BaseType as BaseType
    from sim_node.world.base_types.registry import Kinematics as Kinematics
    from sim_node.world.base_types.registry import base as base
    from sim_node.world.base_types.registry import dimension as dimension
    from sim_node.world.base_types.registry import kinematics_of as kinematics_of
