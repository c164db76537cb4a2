"""Programs that run beside a simulation: started, watched, restarted and stopped with it."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.simulation.programs.ending import end_session as end_session
    from sim_node.simulation.programs.ending import let_go as let_go
    from sim_node.simulation.programs.program import Program as Program
    from sim_node.simulation.programs.program import ProgramFault as ProgramFault
    from sim_node.simulation.programs.supervisor import Supervisor as Supervisor
