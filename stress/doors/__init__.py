"""One file for each family of doors; DOORS names them all."""

from __future__ import annotations

import importlib
from pathlib import Path

from stress.door import Door

# By name: where its class is, and how many inputs a full run feeds. Modules are imported only where they are needed.
DOORS: dict[str, tuple[str, int]] = {
    "worlds": ("stress.doors.worlds:Worlds", 100_000),
    "csv": ("stress.doors.worlds:Keyframes", 100_000),
    "x_xy": ("stress.doors.models:XXy", 100_000),
    "mjcf": ("stress.doors.models:Mjcf", 100_000),
    "urdf": ("stress.doors.models:Urdf", 100_000),
    "sdf": ("stress.doors.models:Sdf", 100_000),
    "openplx": ("stress.doors.openplx:OpenPlx", 100_000),
    "missions": ("stress.doors.missions:Missions", 100_000),
    "tlogs": ("stress.doors.bridge:TelemetryLogs", 100_000),
    "mcap": ("stress.doors.bags:Mcap", 100_000),
    "sqlite": ("stress.doors.bags:Sqlite", 100_000),
    "tf": ("stress.doors.messages:Transforms", 1_000_000),
    "sensors": ("stress.doors.messages:Sensors", 1_000_000),
    "bridge": ("stress.doors.bridge:Vehicles", 1_000_000),
    "builtin_ground": ("stress.doors.builtin:Ground", 1_000_000),
    "builtin_ground_px4": ("stress.doors.builtin:GroundLikePx4", 1_000_000),
    "builtin_simulator": ("stress.doors.builtin:Simulator", 1_000_000),
    "px4": ("stress.doors.lockstep:Px4Link", 1_000_000),
    "ardupilot": ("stress.doors.lockstep:ArduPilotLink", 1_000_000),
    "viewer": ("stress.doors.viewer:Page", 1_000_000),
    "node": ("stress.doors.node:Run", 20_000),
}


def opened(name: str, folder: Path) -> Door:
    """Open a door in a folder of its own. Raises KeyError for a name that DOORS does not have."""
    module, _, kind = DOORS[name][0].partition(":")
    door: Door = getattr(importlib.import_module(module), kind)(folder)
    return door
