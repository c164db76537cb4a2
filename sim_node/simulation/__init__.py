"""The simulation: a World becomes a stream of Snapshots, paced against the wall clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
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
# Most commands only read bags, graphs or world files.
__getattr__, __dir__ = public(
    __name__,
    {
        "Adapting": "co_simulators",
        "CoSimulator": "co_simulators",
        "Edit": "verbs",
        "History": "history",
        "Loop": "loop",
        "Pace": "pacing",
        "Refused": "worker",
        "Refusing": "sink",
        "Simulation": "simulation",
        "Sink": "sink",
        "Snapshot": "snapshot",
        "State": "state",
        "Verbs": "verbs",
    },
)
