"""Succession: the sensors of a changed world continue from the state of earlier sensors with the same names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.simulation.columns import Array
from sim_node.simulation.sensors.banks import Bank, CameraBank, Group
from sim_node.simulation.sensors.context import Exposure
from sim_node.simulation.sensors.measurements import Batch
from sim_node.simulation.sensors.noise import NoiseBank
from sim_node.simulation.sensors.registry import Disturb, Remembers
from sim_node.simulation.sensors.suite import SensorRecord, Split


def splitting(cohorts: Mapping[str, int]) -> Split:
    """Return a function that splits groups by the cohorts of their sensors; unnamed sensors are in cohort 0."""
    return lambda groups: _split(groups, [[cohorts.get(name, 0) for name in group.names] for group in groups])


def cohorts_of(groups: Sequence[Group]) -> dict[str, int]:
    """Return the cohorts of sensors that are not in cohort 0: the index of their group among those that are alike."""
    seen: dict[Any, int] = {}
    found: dict[str, int] = {}
    for group in groups:
        key = _key(group)
        cohort = seen[key] = seen.get(key, -1) + 1
        found.update((name, cohort) for name in group.names if cohort)
    return found


def split_after(records: Mapping[str, SensorRecord]) -> Split:
    """Return a function that splits groups such that sensors measure together only if their clocks and queues agree.

    An altered sensor measures alone.

    Args:
        records: The sensors before the change.
    """

    def split(groups: Sequence[Group]) -> tuple[Group, ...]:
        return _split(groups, [[_clock(source) for source in _sources(group, records)] for group in groups])

    return split


def succeed(bank: Bank | CameraBank, group: Group, records: Mapping[str, SensorRecord], step: int) -> None:
    """Continue a bank of sensors from the earlier sensors with the same names, or start it now.

    Args:
        bank: The bank, at the start of the run.
        group: Its sensors; either all of them have predecessors or none.
        records: The sensors before the change.
        step: The current step; new sensors measure after it.
    """
    sources = [source for source in _sources(group, records) if source is not None]
    if not sources:
        bank.schedule.begin_at(step + 1)
        return
    first = sources[0].bank
    batches = [source.bank.newest.values[:, source.row] for source in sources]
    newest = Batch(group.kind, group.names, first.newest.stamps_ns, np.stack(batches, axis=1))
    pending = [
        (out, time_ns, _together([(source.bank.schedule.pending[k][2], source.row) for source in sources]))
        for k, (out, time_ns, _) in enumerate(first.schedule.pending)
    ]
    bank.succeed(first.schedule.count, pending, newest)
    if isinstance(bank, CameraBank):
        bank.dropped = sum(source.bank.dropped // len(source.group.names) for source in sources)
        return
    banks = [source.bank for source in sources if isinstance(source.bank, Bank)]
    states = {id(each): [_state(part) for part in each.parts()] for each in dict.fromkeys(banks)}
    for k, part in enumerate(bank.parts()):
        _restore(part, [(states[id(source.bank)][k], source.row) for source in sources])


def _together(parts: Sequence[tuple[Any, int]]) -> Any:
    """Return pending values from several banks as one array, or as one Exposure for images."""
    if all(isinstance(values, np.ndarray) for values, _ in parts):
        return np.stack([values[row] for values, row in parts])
    return _Rearranged(tuple(parts))


@dataclass(frozen=True)
class _Rearranged:
    """An Exposure composed of the exposures of earlier groups, each with the row of a camera in it."""

    parts: tuple[tuple[Exposure, int], ...]

    def done(self) -> bool:
        """Return whether `result` would return immediately."""
        return all(exposure.done() for exposure, _ in self.parts)

    def result(self) -> npt.NDArray[Any] | None:
        """Wait for the images and return them; None if some were lost."""
        found = [(exposure.result(), row) for exposure, row in self.parts]
        images = [each[row] for each, row in found if each is not None]
        return np.stack(images) if len(images) == len(found) else None


def _sources(group: Group, records: Mapping[str, SensorRecord]) -> list[SensorRecord | None]:
    """Return the earlier sensor with each name, if its type, rate, latency and shape are the same."""
    found = [records.get(name) for name in group.names]
    return [each if each is not None and _key(each.group) == _key(group) else None for each in found]


def _key(group: Group) -> tuple[Any, ...]:
    return group.kind, group.rate, group.sensors[0].latency, group.shape


def _clock(source: SensorRecord | None) -> Any:
    if source is None:
        return None
    bank = source.bank
    name = source.group.names[source.row]
    if name in bank.alterations:
        return name
    queue = tuple((step, time_ns) for step, time_ns, _ in bank.schedule.pending)
    return bank.schedule.count, queue, tuple(bank.newest.stamps_ns.tolist())


def _split(groups: Sequence[Group], keys: Sequence[Sequence[Any]]) -> tuple[Group, ...]:
    parts = []
    for group, of in zip(groups, keys, strict=True):
        for key in dict.fromkeys(of):
            rows = [row for row, each in enumerate(of) if each == key]
            names, sensors = tuple(group.names[row] for row in rows), tuple(group.sensors[row] for row in rows)
            parts.append(replace(group, names=names, sensors=sensors))
    return tuple(parts)


def _state(part: Disturb | Remembers) -> Mapping[str, Array]:
    return part.aligned() if isinstance(part, NoiseBank) else part.state()


def _restore(part: Disturb | Remembers, rows: Sequence[tuple[Mapping[str, Array], int]]) -> None:
    """Restore the state of a part from rows of others' states, unless their noise or memory is of another kind."""
    present = part.state()
    if all(state.keys() == present.keys() for state, _ in rows):
        together = {name: np.stack([state[name][row] for state, row in rows]) for name in present}
        if all(together[name].shape == np.shape(present[name]) for name in present):
            part.restore(together)
