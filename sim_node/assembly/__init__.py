"""Assembly: determines the poses that a world leaves open from its mates (SNAP), and converts mates to joints."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.assembly.assemble import assemble as assemble
    from sim_node.assembly.assemble import assembly_of as assembly_of
    from sim_node.assembly.assembly_log import Assembly as Assembly
    from sim_node.assembly.assembly_log import Step as Step
