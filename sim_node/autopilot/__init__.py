"""Autopilots over MAVLink: codec, links, and telemetry, commands and missions between NED/FRD and ENU/FLU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.autopilot.bridge import Bridge
    from sim_node.autopilot.bridge_settings import BridgeListener, BridgeSettings
    from sim_node.autopilot.connection import Connection, Identity
    from sim_node.autopilot.ports import PortInUse
    from sim_node.autopilot.telemetry import Telemetry
    from sim_node.autopilot.topics import FrameNames, Profile, topic
    from sim_node.autopilot.vehicle_co_simulator import VehicleCoSimulator, attach_autopilots

__all__ = [
    "Bridge",
    "BridgeListener",
    "BridgeSettings",
    "Connection",
    "FrameNames",
    "Identity",
    "PortInUse",
    "Profile",
    "Telemetry",
    "VehicleCoSimulator",
    "attach_autopilots",
    "topic",
]

__getattr__, __dir__ = public(
    __name__,
    {
        "Bridge": "bridge",
        "BridgeListener": "bridge_settings",
        "BridgeSettings": "bridge_settings",
        "Connection": "connection",
        "FrameNames": "topics",
        "Identity": "connection",
        "PortInUse": "ports",
        "Profile": "topics",
        "Telemetry": "telemetry",
        "VehicleCoSimulator": "vehicle_co_simulator",
        "attach_autopilots": "vehicle_co_simulator",
        "topic": "topics",
    },
)
