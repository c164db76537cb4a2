"""MAVLink: codec, links, and telemetry, commands and missions between NED/FRD and ENU/FLU."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.mavlink.bridge import Bridge as Bridge
    from sim_node.mavlink.bridge import BridgeListener as BridgeListener
    from sim_node.mavlink.connection import Connection as Connection
    from sim_node.mavlink.connection import Identity as Identity
    from sim_node.mavlink.ports import PortInUse as PortInUse
    from sim_node.mavlink.telemetry import Telemetry as Telemetry
    from sim_node.mavlink.topics import FrameNames as FrameNames
    from sim_node.mavlink.topics import Profile as Profile
    from sim_node.mavlink.topics import topic as topic
    from sim_node.mavlink.vehicle import BridgeSettings as BridgeSettings
