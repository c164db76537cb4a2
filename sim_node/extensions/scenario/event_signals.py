"""Signals of what happened: whether an event has, and whether all went well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sim_node.extensions.scenario.events import events_of, names_of
from sim_node.extensions.scenario.formula_error import FormulaError
from sim_node.extensions.scenario.signals import Probe, SignalReading, signal_kind
from sim_node.extensions.scenario.timetable import Happened, happened
from sim_node.extensions.scenario.zones import Zone
from sim_node.text import did_you_mean


class LogProbe(Probe):
    """Something of what has happened so far: all of its state is that of the run."""

    def __init__(self, run: Any, of: Callable[[Sequence[Happened]], bool]) -> None:
        self._run, self._of = run, of

    def sample(self) -> float:
        """Return whether it is so."""
        return float(self._of(happened(self._run)))


@signal_kind("happened(EVENT)", "whether an event of the scenario has happened", "", truth=True)
def has_happened(run: Any, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return how it is read whether an event has happened."""
    known = names_of(events_of(run.world))
    if names[0] not in known:
        raise FormulaError(f"no event {names[0]!r}{did_you_mean(names[0], known)}")
    return SignalReading((LogProbe(run, lambda log: any(e.event == names[0] and not e.error for e in log)),))


@signal_kind(
    "events_succeed()", "whether all actions of the scenario so far have worked", "", least=0, most=0, truth=True
)
def events_succeed(run: Any, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return how it is read whether no action has failed."""
    return SignalReading((LogProbe(run, lambda log: not any(each.error for each in log)),))
