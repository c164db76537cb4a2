"""Scenarios as a part of runs: the session executes and reports their events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sim_node.extensions.scenario.events import events_of
from sim_node.session.run_parts import RUN_PARTS, Attendant, RunPart

if TYPE_CHECKING:
    from sim_node.session.requests import RequestContext
    from sim_node.simulation import Simulation


class Attending(Attendant):
    """Connects a scenario to a session.

    Args:
        simulation: The run.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def let_ask(self, requests: RequestContext, report: Callable[[str], None]) -> None:
        """Set the executor of requests, and the receiver of lines of text for the user."""
        from sim_node.extensions.scenario.timetable import surroundings_of

        around = surroundings_of(self._simulation)
        around.context, around.report = requests, report


class Scenarios(RunPart):
    """The scenario of a run."""

    def attend(self, simulation: Simulation, *, shown: bool) -> Attendant | None:
        """Return the attendant of a run with events, otherwise None."""
        return Attending(simulation) if events_of(simulation.world) else None


RUN_PARTS.add("scenario")(Scenarios())
