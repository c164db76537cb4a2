"""Scenarios as a part of runs: what happens is carried out and reported by the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sim_node.extensions.scenario.events import events_of
from sim_node.session.run_parts import RUN_PARTS, Attendant, RunPart

if TYPE_CHECKING:
    from sim_node.session.requests import RequestContext
    from sim_node.simulation import Simulation, Sink
    from sim_node.simulation.programs import Supervisor


class Attending:
    """What lets a scenario act on a session.

    Args:
        simulation: The run.

    Attributes:
        duration_ns: None: a scenario does not end a run.
        notes: Nothing.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.duration_ns: int | None = None
        self.notes: list[str] = []
        self._simulation = simulation

    def sinks(self, stop: Callable[[], None]) -> tuple[Sink, ...]:
        """Return none."""
        return ()

    def let_stop(self, programs: Supervisor) -> None:
        """Do nothing: a scenario ends with its run."""

    def let_ask(self, requests: RequestContext, report: Callable[[str], None]) -> None:
        """Take what carries out requests, and what takes lines of text for the user."""
        from sim_node.extensions.scenario.timetable import surroundings_of

        around = surroundings_of(self._simulation)
        around.context, around.report = requests, report


class Scenarios(RunPart):
    """The scenario of a run."""

    def attend(self, simulation: Simulation, *, shown: bool) -> Attendant | None:
        """Return what goes with a run that has events."""
        return Attending(simulation) if events_of(simulation.world) else None


RUN_PARTS.add("scenario")(Scenarios())
