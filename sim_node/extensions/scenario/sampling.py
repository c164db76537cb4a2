"""Signals of a running simulation: their current values, recordings, and conditions on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sim_node.extensions.scenario.formula_error import FormulaError
from sim_node.extensions.scenario.formulas import (
    Formula,
    Robustness,
    holds_now,
    horizon_ns,
    is_of_one_instant,
    signals_of,
)
from sim_node.extensions.scenario.signals import NO_ZONES, Source, formula, kind_of, open_signal
from sim_node.extensions.scenario.zones import Zone
from sim_node.simulation.columns import Array
from sim_node.simulation.run_view import RunView
from sim_node.spatial.geometry.arrays import FloatArray, IntArray

# Maximum size of a column that is copied as a whole.
MAX_BYTES = 2048
# Columns in MuJoCo's own memory; and a large number of samples between exchanges that only detect the start of a run.
_OF_BODIES, _SELDOM = {"qpos", "qvel"}, 10**6
# The raw data of signals at one step: the bytes or rows of each column, then the number of each probe.
Taken = Sequence[bytes | Array | float]


class RunSignals:
    """Signals of a run, at its current step.

    Args:
        run: The run.
        names: The signals.
        zones: The zones by name.

    Raises:
        FormulaError: The run has no such signal.
    """

    def __init__(self, run: RunView, names: Iterable[str], zones: Mapping[str, Zone] = NO_ZONES) -> None:
        self._columns = run.columns
        self._readings = {name: open_signal(run, name, zones) for name in names}
        sources = dict.fromkeys(each for reading in self._readings.values() for each in reading.sources)
        self._probes = [each for each in sources if not isinstance(each, tuple)]
        rows: dict[str, dict[int, None]] = {}
        for name, some in (each for each in sources if isinstance(each, tuple)):
            rows.setdefault(name, {}).update(dict.fromkeys(some))
        # Each column is read only once, because some are computed on access.
        self._rows = {name: np.array(sorted(some), dtype=np.intp) for name, some in rows.items()}
        # Copying a small column as a whole is faster than copying a part of it.
        memories = {name: run.columns.memory(name) for name in self._rows}
        self._whole = {name: each for name, each in memories.items() if each is not None and each.nbytes <= MAX_BYTES}
        self._places = {
            (name, some): _selection(some if name in self._whole else np.searchsorted(self._rows[name], some))
            for name, some in (each for each in sources if isinstance(each, tuple))
        }
        self._samplers = [*map(self._sampler_of, self._rows), *(probe.sample for probe in self._probes)]

    def take(self) -> Taken:
        """Return the raw data of the signals at the current step: of columns, then of probes."""
        found: list[bytes | Array | float] = [take() for take in self._samplers]
        return found

    def compute(self, taken: Sequence[Taken]) -> dict[str, FloatArray]:
        """Return the samples (T,) of each signal from the results of `take` at T steps."""
        each = list(zip(*taken, strict=True))
        columns = {name: self._read(name, some) for name, some in zip(self._rows, each, strict=False)}
        probes = [np.array(some) for some in each[len(self._rows) :]]

        def samples(source: Source) -> Array:
            if isinstance(source, tuple):
                return columns[source[0]][:, self._places[source]]
            return probes[self._probes.index(source)]

        return {name: each.compute(*map(samples, each.sources)) for name, each in self._readings.items()}

    def _sampler_of(self, name: str) -> Callable[[], bytes | Array]:
        """Return a function that copies the rows of a column that signals need, or the bytes of the whole column."""
        if name in self._whole:
            return self._whole[name].tobytes
        rows, columns = self._rows[name], self._columns
        return lambda: columns[name].take(rows, axis=0)

    def _read(self, name: str, some: Sequence[Any]) -> Array:
        """Return the rows (T, rows, ...) of a column from its raw data."""
        if name not in self._whole:
            return np.array(some)
        array = self._columns[name]
        return np.frombuffer(b"".join(some), array.dtype).reshape(len(some), *array.shape)

    @property
    def within(self) -> bool:
        """Whether samples can be taken after a timestep of the rigid-body engine, within a step of the run."""
        return set(self._rows) <= _OF_BODIES and all(probe.within for probe in self._probes)

    def now(self) -> dict[str, FloatArray]:
        """Return each signal (1,) at the current step."""
        return self.compute([self.take()])

    def reset(self) -> None:
        """Forget what came before: the run begins anew."""
        for probe in self._probes:
            probe.reset()

    def close(self) -> None:
        """Stop observing the run."""
        for probe in self._probes:
            probe.close()


def _selection(rows: Sequence[int] | IntArray) -> slice | IntArray:
    """Return rows as a slice if they are consecutive, which takes a fifth of the time at each step."""
    found = np.asarray(rows, dtype=np.intp)
    return slice(int(found[0]), int(found[-1]) + 1) if (np.diff(found) == 1).all() else found


@dataclass
class _Segment:
    """Samples between two changes of the world."""

    signals: RunSignals | None
    taken: list[Taken] = field(default_factory=list)


class SignalRecorder:
    """Records signals while a run steps: a co-simulator. Use `record`.

    If the rigid-body engine has all data of the signals, it takes the samples within its steps, because an exchange
    with a run takes as long as several timesteps.

    After a change of the world, signals are looked up again by name; signals that no longer exist are NaN.

    Args:
        run: The run.
        names: The signals.
        period_ns: Time between two samples, a multiple of the world's step, ns.
        zones: The zones by name.
    """

    def __init__(self, run: RunView, names: Sequence[str], period_ns: int, zones: Mapping[str, Zone]) -> None:
        self._run: Any = run
        self.names, self._zones, self.period_ns = tuple(names), zones, period_ns
        self._step_ns = run.world.time.step_ns
        self._segments, self._count = [_Segment(RunSignals(run, names, zones))], 0
        self._within = self._look_within()
        self._exchange: _Exchange | None = None
        self.rate = Fraction(10**9, period_ns * (_SELDOM if self._within else 1))

    def begin(self) -> None:
        """Take the sample at the start of a run. Steps take the others."""
        self.send(0, 0)

    def send(self, step: int, time_ns: int) -> None:
        """Take a sample."""
        if self._exchange is None and not (self._within and step):
            self.sample(time_ns // self.period_ns)

    def sample(self, at: int) -> None:
        """Take the sample of the current instant.

        Args:
            at: The number of the sample, which is that of an earlier sample after a reset.
        """
        if at < self._count:  # a reset
            self._forget(at)
        segment = self._segments[-1]
        segment.taken.append([] if segment.signals is None else segment.signals.take())
        self._count += 1

    def values(self) -> dict[str, FloatArray]:
        """Return the samples (T,) of each signal so far."""
        parts: dict[str, list[FloatArray]] = {name: [] for name in self.names}
        for segment in self._segments:
            if not segment.taken:
                continue
            found: Mapping[str, FloatArray] = {}
            if segment.signals is not None:
                found = segment.signals.compute(segment.taken)
            for name, kept in parts.items():
                if name not in found:
                    kind = kind_of(name)
                    found = {**found, name: np.full(len(segment.taken), kind.gone if kind else np.nan)}
                kept.append(found[name])
        return {name: np.concatenate(kept) if kept else np.empty(0) for name, kept in parts.items()}

    def __len__(self) -> int:
        return self._count

    def adapt(self, columns: object) -> bool:
        """Look up the signals again after a change of the world."""
        self.close()
        known = []
        for name in self.names:
            try:
                open_signal(self._run, name, self._zones)
            except FormulaError:
                continue
            known.append(name)
        self._segments.append(_Segment(RunSignals(self._run, known, self._zones)))
        if self._within and not self._look_within():
            self._within, self._exchange = False, _Exchange(self)
            self._run.connect(self._exchange)
        return True

    def _look_within(self) -> bool:
        """Make the rigid-body engine take the samples if possible. Return whether it does."""
        engine: Any = self._run.engines.get("rigid_bodies")
        signals = self._segments[-1].signals
        if engine is None or not engine.substeps or signals is None or not signals.within:
            return False
        every = self.period_ns // self._step_ns * engine.substeps
        engine.observe_timesteps(f"signals {id(self)}", lambda timestep: self.sample(timestep // every), every)
        self._observed = engine
        return True

    def receive(self) -> None:
        """Do nothing: there is no answer."""

    def interrupt(self) -> None:
        """Do nothing: nothing waits."""

    def close(self) -> None:
        """Stop observing the run. The recording remains."""
        if self._within:
            self._observed.observe_timesteps(f"signals {id(self)}", None)
        for segment in self._segments:
            if segment.signals is not None:
                segment.signals.close()

    def _forget(self, at: int) -> None:
        self._count = at
        for segment in self._segments:
            kept = min(at, len(segment.taken))
            del segment.taken[kept:]
            at -= kept
        self._segments = [*(each for each in self._segments[:-1] if each.taken), self._segments[-1]]
        present = self._segments[-1].signals
        if present is not None:
            present.reset()


class _Exchange:
    """Takes the samples of a recorder after a change of the world, if the rigid-body engine no longer can.

    Args:
        recorder: The recorder.
    """

    def __init__(self, recorder: SignalRecorder) -> None:
        self.rate, self._recorder = Fraction(10**9, recorder.period_ns), recorder

    def send(self, step: int, time_ns: int) -> None:
        """Take a sample."""
        self._recorder.sample(time_ns // self._recorder.period_ns)

    def receive(self) -> None:
        """Do nothing: there is no answer."""

    def interrupt(self) -> None:
        """Do nothing: nothing waits."""

    def close(self) -> None:
        """Do nothing: the recorder is closed separately."""


class SignalCondition:
    """Whether a formula over a run's signals holds, evaluated at regular instants while the run steps.

    A formula that looks ahead is known later: `altitude(drone) > 20 m for at least 5 s` holds from the first instant
    at which the altitude has exceeded 20 m for 5 s. Comparisons with missing values (NaN) do not hold.

    Args:
        run: The run.
        text: The formula, such as altitude(drone) > 20 m.
        period_ns: Time between two instants, ns; by default the world's step.
        zones: The zones by name.

    Attributes:
        formula: The formula.
        values: Each signal (1,) at the last instant.

    Raises:
        FormulaError: The formula is invalid, the run has no such signal, or the value is known only at the run's end.
    """

    def __init__(
        self, run: RunView, text: str | Formula, period_ns: int = 0, zones: Mapping[str, Zone] = NO_ZONES
    ) -> None:
        self.formula = formula(text) if isinstance(text, str) else text
        if horizon_ns(self.formula) is None:
            raise FormulaError(f"{self.formula} is known only at the end of a run; give its operators an interval")
        self.values: Mapping[str, FloatArray] = {}
        self._run, self._zones = run, zones
        self._period_ns = period_ns or run.world.time.step_ns
        self._columns = run.columns
        self._signals = RunSignals(run, signals_of(self.formula), zones)
        self._holds_now = holds_now(self.formula) if is_of_one_instant(self.formula) else None
        self.reset()

    def reset(self) -> None:
        """Discard the instants so far."""
        self._signals.reset()
        self._robustness = Robustness(self.formula, self._period_ns, unknown=-np.inf, signs=True)

    def evaluate(self) -> bool:
        """Add the current instant; call this once at each. Return whether the formula holds, as far as is known now.

        Raises:
            FormulaError: A signal no longer exists after a change of the world.
        """
        if self._run.columns is not self._columns:  # the world has changed
            self._signals.close()
            self._columns, self._signals = (
                self._run.columns,
                RunSignals(self._run, signals_of(self.formula), self._zones),
            )
        self.values = self._signals.now()
        if self._holds_now is not None:
            return self._holds_now({name: value.item() for name, value in self.values.items()})
        found = self._robustness.push(self.values)
        return bool(len(found)) and bool((found > 0.0).any())

    def close(self) -> None:
        """Stop observing the run."""
        self._signals.close()
