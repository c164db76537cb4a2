"""Engines: what moves the frames of a world."""

from sim_node.physics.engine import ENGINES, Engine, engine, engines_for
from sim_node.physics.force_elements import FORCE_ELEMENTS, ForceElement, force_element
from sim_node.physics.force_geometry import forces_of, pushed_bodies
from sim_node.physics.handles import BodyHandle, VehicleHandle
from sim_node.physics.joint_handles import JointHandle, JointHandles
from sim_node.physics.keyframes import KeyframeEngine
from sim_node.physics.rigid_bodies import RigidBodyEngine
from sim_node.physics.wind import WindField
from sim_node.world.forces import Force
from sim_node.world.readers.yaml_forces import force

__all__ = [
    "ENGINES",
    "FORCE_ELEMENTS",
    "BodyHandle",
    "Engine",
    "Force",
    "ForceElement",
    "JointHandle",
    "JointHandles",
    "KeyframeEngine",
    "RigidBodyEngine",
    "VehicleHandle",
    "WindField",
    "engine",
    "engines_for",
    "force",
    "force_element",
    "forces_of",
    "pushed_bodies",
]
