"""Simulation of robots and vehicles for ROS 2. Each public name is imported from its room when it is first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim_node.frames import Frame, Orientation, Position, Velocity, convert
    from sim_node.recording.opening import open_bag
    from sim_node.session import Session
    from sim_node.simulation import Loop, Simulation, Snapshot, State
    from sim_node.tree import TransformTree
    from sim_node.world import World, WorldError
    from sim_node.world.load import load, loads

# In the order in which a reader meets them. Importing sim_node imports none of them, so that programs start fast.
_ROOMS = {
    "load": "sim_node.world.load",
    "loads": "sim_node.world.load",
    "World": "sim_node.world",
    "WorldError": "sim_node.world",
    "Simulation": "sim_node.simulation",
    "Snapshot": "sim_node.simulation",
    "State": "sim_node.simulation",
    "Session": "sim_node.session",
    "Loop": "sim_node.simulation",
    "TransformTree": "sim_node.tree",
    "Frame": "sim_node.frames",
    "Position": "sim_node.frames",
    "Velocity": "sim_node.frames",
    "Orientation": "sim_node.frames",
    "convert": "sim_node.frames",
    "open_bag": "sim_node.recording.opening",
}

__all__ = [
    "Frame",
    "Loop",
    "Orientation",
    "Position",
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
]


def __getattr__(name: str) -> Any:
    """A public name of one of the rooms, or a room itself."""
    room = _ROOMS.get(name)
    if room is None:
        raise AttributeError(f"module 'sim_node' has no attribute {name!r}")
    value = getattr(importlib.import_module(room), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
