"""Assembly: poses that a world leaves open, determined from its mates (SNAP), and the joints that mates become."""

from typing import TYPE_CHECKING

from sim_node.assembly.assemble import assemble, assembly_of
from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.assembly.assembly_log import Assembly, Step

__all__ = ["Assembly", "Step", "assemble", "assembly_of"]
# Worlds without systems, which every run passes through `assemble`, start without the rest of this room.
__getattr__, __dir__ = public(__name__, {"Assembly": "assembly_log", "Step": "assembly_log"})
