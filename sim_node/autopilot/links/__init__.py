"""Endpoints of MAVLink connections: UDP, TCP and serial lines."""

from sim_node.autopilot.links import serial_line, tcp, udp
from sim_node.autopilot.links.endpoint import ENDPOINTS, Address, Endpoint, EndpointFault, endpoint_of

__all__ = ["ENDPOINTS", "Address", "Endpoint", "EndpointFault", "endpoint_of", "serial_line", "tcp", "udp"]
