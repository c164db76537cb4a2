"""Ways to reach an autopilot: UDP, TCP and serial lines."""

from sim_node.autopilot.links import serial_line, tcp, udpin, udpout
from sim_node.autopilot.links.link import LINKS, Address, Link, LinkFault, link_to

__all__ = ["LINKS", "Address", "Link", "LinkFault", "link_to", "serial_line", "tcp", "udpin", "udpout"]
