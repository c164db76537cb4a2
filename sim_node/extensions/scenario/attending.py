"""Scenarios as a part of runs: what happens is carried out and reported by the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sim_node.extensions.scenario.events import events_of
from sim_node.session.run_parts import RUN_PARTS, Attendant, RunPart

if TYPE_CHECKING:
    from sim_node.session.requests import RequestContext
    from sim_node.simulation import Simulation


class Attending(Attendant):
    """What lets a scenario act on a session.

    Args:
        simulation: The run.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def let_ask(self, requests: RequestContext, report: Callable[[str], None]) -> None:
        """Take what carries out requests, and what receives lines of text for the user."""
        from sim_node.extensions.scenario.timetable import surroundings_of

        around = surroundings_of(self._simulation)
        around.context, around.report = requests, report


class Scenarios(RunPart):
    """The scenario of a run."""

    def attend(self, simulation: Simulation, *, shown: bool) -> Attendant | None:
        """Return what goes with a run that has events."""
        return Attending(simulation) if events_of(simulation.world) else None


RUN_PARTS.add("scenario")(Scenarios())
