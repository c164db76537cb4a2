"""Signals of what is ready-made to expect: landed, finite, present, and the age of measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sim_node.extensions.scenario.contacts import ContactProbe, bodies_of
from sim_node.extensions.scenario.formulas import FormulaError
from sim_node.extensions.scenario.signals import Probe, SignalReading, pose_source, signal_kind, twist_source
from sim_node.extensions.scenario.zones import Zone
from sim_node.simulation.columns import Array
from sim_node.simulation.run_view import RunView
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean

# What stands is slower than this, m/s: half of the slowest descent of the shipped pilots.
STANDS = 0.1


@signal_kind("landed(FRAME)", f"whether it touches something and is slower than {STANDS} m/s", "", truth=True)
def landed(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return how it is read whether a vehicle or body stands on something."""
    probe = ContactProbe(run, bodies_of(run, names[0]))
    source, twist = twist_source(run, names[0])

    def compute(touched: Array, rows: Array) -> FloatArray:
        stands = np.linalg.norm(twist(rows)[:, :3], axis=1) < STANDS
        return np.asarray((touched != 0.0) & stands, dtype=float)

    return SignalReading((probe, source), compute)


@signal_kind("colliding(BODY, BODY...)", "whether a body touches anything but the others", "", most=50, truth=True)
def colliding(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return how contacts of bodies with all but some others are read."""
    first, *others = (bodies_of(run, name) for name in names)
    return SignalReading((ContactProbe(run, first, but=[each for some in others for each in some]),))


@signal_kind("present(FRAME)", "whether a frame is in the tree, with a pose", "", truth=True, gone=0.0)
def present(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return how it is read whether a frame has a finite pose in the fixed frame."""
    source, _ = pose_source(run, names[0])
    return SignalReading((source,), _finite)


@signal_kind("finite()", "whether all poses and velocities are finite numbers", "", least=0, most=0, truth=True)
def finite(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return how it is read whether the state of motion has no NaN and no infinity."""
    found = [name for name in ("qpos", "qvel") if name in run.columns] or ["pose"]
    every = [(name, tuple(range(len(run.columns[name])))) for name in found]

    return SignalReading(tuple(every), _finite)


def _finite(*columns: Array) -> FloatArray:
    """Return whether (T,) all numbers of columns (T, rows, ...) are finite."""
    each = [np.isfinite(rows.reshape(len(rows), -1)).all(axis=1) for rows in columns]
    return np.asarray(np.all(each, axis=0), dtype=float)


class AgeProbe(Probe):
    """The time since the last sample by which a sensor had published; before the first, since the start of the run.

    What was measured before it was made is not seen: reset a run that has begun.
    """

    def __init__(self, run: Any, sensor: str) -> None:
        self._run, self._subscription = run, run.subscribe(sensor)
        self._newest_ns = run.time_ns

    def sample(self) -> float:
        """Return it at the present step, s."""
        now = self._run.time_ns
        if self._subscription.latest(self._run.steps) is not None or now < self._newest_ns:
            self._newest_ns = now
        return float((now - self._newest_ns) * 1e-9)

    def reset(self) -> None:
        """Count from the start of the run."""
        self._newest_ns = self._run.time_ns


@signal_kind("age(SENSOR)", "time since it published last, as of the samples", "s", sensors=True)
def age(run: Any, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return how the time since a sensor published is read."""
    if names[0] not in run.sensors:
        raise FormulaError(f"no sensor {names[0]!r}{did_you_mean(names[0], run.sensors)}")
    return SignalReading((AgeProbe(run, names[0]),))
