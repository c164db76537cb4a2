"""Programs that run beside a simulation: started, watched, restarted and stopped with it."""

from sim_node.programs.program import Program, ProgramFault
from sim_node.programs.supervisor import Supervisor

__all__ = ["Program", "ProgramFault", "Supervisor"]
