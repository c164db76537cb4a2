"""The simulation: a World becomes a stream of Snapshots, paced against the wall clock."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.simulation.co_simulators import Adapting as Adapting
    from sim_node.simulation.co_simulators import CoSimulator as CoSimulator
    from sim_node.simulation.history import History as History
    from sim_node.simulation.loop import Loop as Loop
    from sim_node.simulation.pacing import Pace as Pace
    from sim_node.simulation.simulation import Simulation as Simulation
    from sim_node.simulation.sink import Refusing as Refusing
    from sim_node.simulation.sink import Sink as Sink
    from sim_node.simulation.snapshot import Snapshot as Snapshot
    from sim_node.simulation.state import State as State
    from sim_node.simulation.verbs import Edit as Edit
    from sim_node.simulation.verbs import Verbs as Verbs
    from sim_node.simulation.worker import Refused as Refused
