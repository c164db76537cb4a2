"""Endpoints of MAVLink connections: UDP, TCP and serial lines."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.mavlink.links import serial_line as serial_line
    from sim_node.mavlink.links import tcp as tcp
    from sim_node.mavlink.links import udp as udp
    from sim_node.mavlink.links.endpoint import ENDPOINTS as ENDPOINTS
    from sim_node.mavlink.links.endpoint import Address as Address
    from sim_node.mavlink.links.endpoint import Endpoint as Endpoint
    from sim_node.mavlink.links.endpoint import EndpointFault as EndpointFault
    from sim_node.mavlink.links.endpoint import endpoint_of as endpoint_of
