"""Simulation of robots and vehicles for ROS 2. Each public name is imported when it is first used."""

from __future__ import annotations

from sim_node import command_signals

command_signals.begin()

from typing import TYPE_CHECKING  # noqa: E402

from sim_node.lazy import public  # noqa: E402

if TYPE_CHECKING:
    from sim_node.frames import Frame, Orientation, Position, Velocity, convert
    from sim_node.recording import open_bag
    from sim_node.session import SensorMessages, Session, show
    from sim_node.simulation import Loop, Simulation, Snapshot, State
    from sim_node.tree import TransformTree
    from sim_node.world import World, WorldError
    from sim_node.world.load import load, loads

__all__ = [
    "Frame",
    "Loop",
    "Orientation",
    "Position",
    "SensorMessages",
    "Session",
    "Simulation",
    "Snapshot",
    "State",
    "TransformTree",
    "Velocity",
    "World",
    "WorldError",
    "convert",
    "load",
    "loads",
    "open_bag",
    "show",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "Frame": "frames",
        "Loop": "simulation",
        "Orientation": "frames",
        "Position": "frames",
        "SensorMessages": "session",
        "Session": "session",
        "Simulation": "simulation",
        "Snapshot": "simulation",
        "State": "simulation",
        "TransformTree": "tree",
        "Velocity": "frames",
        "World": "world",
        "WorldError": "world",
        "convert": "frames",
        "load": "world.load",
        "loads": "world.load",
        "open_bag": "recording",
        "show": "session",
    },
)
