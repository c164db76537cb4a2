"""Simulation of robots and vehicles for ROS 2. Each public name is imported when it is first used."""

from sim_node import command_signals

command_signals.begin()

from sim_node.lazy import public  # noqa: E402
from sim_node.moved import follow_moves  # noqa: E402

follow_moves()

with public(__name__):
    from sim_node.recording import open_bag as open_bag
    from sim_node.session import SensorMessages as SensorMessages
    from sim_node.session import Session as Session
    from sim_node.session import show as show
    from sim_node.simulation import Loop as Loop
    from sim_node.simulation import Simulation as Simulation
    from sim_node.simulation import Snapshot as Snapshot
    from sim_node.simulation import State as State
    from sim_node.spatial.frames import Frame as Frame
    from sim_node.spatial.frames import Orientation as Orientation
    from sim_node.spatial.frames import Position as Position
    from sim_node.spatial.frames import Velocity as Velocity
    from sim_node.spatial.frames import convert as convert
    from sim_node.spatial.tree import TransformTree as TransformTree
    from sim_node.world import World as World
    from sim_node.world import WorldError as WorldError
    from sim_node.world.load import load as load
    from sim_node.world.load import loads as loads
