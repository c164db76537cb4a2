"""The simulation: a World becomes a stream of Snapshots, paced against the wall clock."""

from sim_node.simulation.co_simulators import Adapting, CoSimulator
from sim_node.simulation.history import History
from sim_node.simulation.loop import Loop
from sim_node.simulation.pacing import Pace
from sim_node.simulation.simulation import Simulation
from sim_node.simulation.sink import Refusing, Sink
from sim_node.simulation.snapshot import Snapshot
from sim_node.simulation.state import State
from sim_node.simulation.verbs import Edit, Verbs
from sim_node.simulation.worker import Refused

__all__ = [
    "Adapting",
    "CoSimulator",
    "Edit",
    "History",
    "Loop",
    "Pace",
    "Refused",
    "Refusing",
    "Simulation",
    "Sink",
    "Snapshot",
    "State",
    "Verbs",
]
