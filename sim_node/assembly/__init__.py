"""Assembly: the poses that a world leaves open, found from its mates (SNAP), and what moves then."""

from sim_node.assembly.assemble import assemble, assembly_of
from sim_node.assembly.assembly_log import Assembly, Step

__all__ = ["Assembly", "Step", "assemble", "assembly_of"]
