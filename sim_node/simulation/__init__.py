"""The simulation: a World becomes a stream of Snapshots, paced against the wall clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.simulation.co_simulators import CoSimulator
    from sim_node.simulation.history import History
    from sim_node.simulation.loop import Loop, Sink
    from sim_node.simulation.pacing import Pace
    from sim_node.simulation.simulation import Simulation
    from sim_node.simulation.snapshot import Snapshot
    from sim_node.simulation.state import State
    from sim_node.simulation.worker import Refused

__all__ = ["CoSimulator", "History", "Loop", "Pace", "Refused", "Simulation", "Sink", "Snapshot", "State"]
# Most commands only read bags, graphs or world files.
__getattr__, __dir__ = public(
    __name__,
    {
        "CoSimulator": "co_simulators",
        "History": "history",
        "Loop": "loop",
        "Pace": "pacing",
        "Refused": "worker",
        "Simulation": "simulation",
        "Sink": "loop",
        "Snapshot": "snapshot",
        "State": "state",
    },
)
