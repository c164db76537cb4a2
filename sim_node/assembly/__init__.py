"""Assembly: poses that a world leaves open, determined from its mates (SNAP), and the joints that mates become."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.assembly.assemble import assemble as assemble
    from sim_node.assembly.assemble import assembly_of as assembly_of
    from sim_node.assembly.assembly_log import Assembly as Assembly
    from sim_node.assembly.assembly_log import Step as Step
