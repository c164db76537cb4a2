"""Assembly: poses that a world leaves open, determined from its mates (SNAP), and the joints that mates become."""

from sim_node.assembly.assemble import assemble, assembly_of
from sim_node.assembly.assembly_log import Assembly, Step

__all__ = ["Assembly", "Step", "assemble", "assembly_of"]
