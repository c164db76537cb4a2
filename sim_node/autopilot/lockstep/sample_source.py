"""What an autopilot's Samples are made of, of a vehicle of a run."""

from __future__ import annotations

from typing import Protocol

from sim_node.autopilot.lockstep.sample import Sample
from sim_node.simulation import Simulation
from sim_node.world import Multirotor


class SampleSource(Protocol):
    """Reads one vehicle of a run. rate: Samples per simulated second (Hz)."""

    rate: float

    def __init__(self, simulation: Simulation, vehicle: Multirotor) -> None:
        """Raises WorldError where the vehicle is not fit for it."""

    def sample(self, step: int, time_ns: int) -> Sample | None:
        """The vehicle at the present step, time_ns after the start; None where there is nothing to tell."""
