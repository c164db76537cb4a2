"""The World model and its readers: what a world file says, checked and laid out."""

from sim_node.world.bodies import Body, Geometry, Inertial, Physics
from sim_node.world.drives import Drive
from sim_node.world.frame_table import FrameTable, UnknownFrame
from sim_node.world.layout import Layout, lay_out
from sim_node.world.load import load
from sim_node.world.model import Motion, Origin, Sensor, StaticFrame, TimeGrid, World
from sim_node.world.models import Model
from sim_node.world.problems import Diverged, Place, Problem, Where, WorldError, WorldWarning

__all__ = [
    "Body",
    "Diverged",
    "Drive",
    "FrameTable",
    "Geometry",
    "Inertial",
    "Layout",
    "Model",
    "Motion",
    "Origin",
    "Physics",
    "Place",
    "Problem",
    "Sensor",
    "StaticFrame",
    "TimeGrid",
    "UnknownFrame",
    "Where",
    "World",
    "WorldError",
    "WorldWarning",
    "lay_out",
    "load",
]
