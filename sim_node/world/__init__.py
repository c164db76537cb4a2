"""The World model and its readers: the contents of a world file, checked and laid out."""

from sim_node.world.bases import Base, DriveLimits
from sim_node.world.bodies import Body, Geometry, Inertial, LoopClosure, Physics
from sim_node.world.contact_materials import ContactMaterial
from sim_node.world.forces import Buoyancy, ConstantForce, Drag, Gusts, Wind
from sim_node.world.frame_table import FrameNotFound, FrameTable
from sim_node.world.gravity import PointGravity
from sim_node.world.joint_commands import JointCommands
from sim_node.world.joint_motion import Actuator, Mimic, Stop
from sim_node.world.joints import JointType, hinge, slide
from sim_node.world.joints import register as register_joint_types
from sim_node.world.layout import Layout, lay_out
from sim_node.world.load import load, loads
from sim_node.world.model import Motion, Origin, Sensor, StaticFrame, TimeGrid, World
from sim_node.world.models import Model
from sim_node.world.problems import Diverged, Place, Problem, Where, WorldError, WorldWarning
from sim_node.world.processes import Process
from sim_node.world.scene import Ground, Heightmap, Light, Sky
from sim_node.world.signals import NamedSignal
from sim_node.world.surfaces import Material, Surface
from sim_node.world.systems import (
    Attachment,
    ContactGeometry,
    Mate,
    MateConnector,
    RedirectedMateConnector,
    RigidBody,
    System,
)
from sim_node.world.transmissions import Transmission
from sim_node.world.vehicles import Autopilot, Multirotor, Pilot, Rotor, Waypoint

__all__ = [
    "Actuator",
    "Attachment",
    "Autopilot",
    "Base",
    "Body",
    "Buoyancy",
    "ConstantForce",
    "ContactGeometry",
    "ContactMaterial",
    "Diverged",
    "Drag",
    "DriveLimits",
    "FrameNotFound",
    "FrameTable",
    "Geometry",
    "Ground",
    "Gusts",
    "Heightmap",
    "Inertial",
    "JointCommands",
    "JointType",
    "Layout",
    "Light",
    "LoopClosure",
    "Mate",
    "MateConnector",
    "Material",
    "Mimic",
    "Model",
    "Motion",
    "Multirotor",
    "NamedSignal",
    "Origin",
    "Physics",
    "Pilot",
    "Place",
    "PointGravity",
    "Problem",
    "Process",
    "RedirectedMateConnector",
    "RigidBody",
    "Rotor",
    "Sensor",
    "Sky",
    "StaticFrame",
    "Stop",
    "Surface",
    "System",
    "TimeGrid",
    "Transmission",
    "Waypoint",
    "Where",
    "Wind",
    "World",
    "WorldError",
    "WorldWarning",
    "hinge",
    "lay_out",
    "load",
    "loads",
    "register_joint_types",
    "slide",
]
