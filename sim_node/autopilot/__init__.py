"""Autopilots over MAVLink: codec, links, and telemetry, commands and missions between NED/FRD and ENU/FLU."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.autopilot.bridge import Bridge as Bridge
    from sim_node.autopilot.bridge_settings import BridgeListener as BridgeListener
    from sim_node.autopilot.bridge_settings import BridgeSettings as BridgeSettings
    from sim_node.autopilot.connection import Connection as Connection
    from sim_node.autopilot.connection import Identity as Identity
    from sim_node.autopilot.ports import PortInUse as PortInUse
    from sim_node.autopilot.telemetry import Telemetry as Telemetry
    from sim_node.autopilot.topics import FrameNames as FrameNames
    from sim_node.autopilot.topics import Profile as Profile
    from sim_node.autopilot.topics import topic as topic
    from sim_node.autopilot.vehicle_co_simulator import VehicleCoSimulator as VehicleCoSimulator
    from sim_node.autopilot.vehicle_co_simulator import attach_autopilots as attach_autopilots
