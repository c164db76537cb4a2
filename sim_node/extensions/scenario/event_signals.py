"""Signals of events: whether an event has happened, and whether all actions have succeeded."""

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
    """A predicate on the log of events so far. It has no state of its own."""

    def __init__(self, run: Any, of: Callable[[Sequence[Happened]], bool]) -> None:
        self._run, self._of = run, of

    def sample(self) -> float:
        """Return whether the predicate is true."""
        return float(self._of(happened(self._run)))


@signal_kind("happened(EVENT)", "whether an event of the scenario has happened", "", truth=True)
def has_happened(run: Any, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return the reading of whether an event has happened."""
    known = names_of(events_of(run.world))
    if names[0] not in known:
        raise FormulaError(f"no event {names[0]!r}{did_you_mean(names[0], known)}")
    return SignalReading((LogProbe(run, lambda log: any(e.event == names[0] and not e.error for e in log)),))


@signal_kind(
    "events_succeed()", "whether all actions of the scenario so far have worked", "", least=0, most=0, truth=True
)
def events_succeed(run: Any, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return the reading of whether no action has failed."""
    return SignalReading((LogProbe(run, lambda log: not any(each.error for each in log)),))
