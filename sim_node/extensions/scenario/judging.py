"""Judging of runs while they step: records the signals of expectations; and the measure `verdict()` of sweeps."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from sim_node.extensions.scenario.events import events_of
from sim_node.extensions.scenario.expectations import Expect, expected
from sim_node.extensions.scenario.formulas import signals_of
from sim_node.extensions.scenario.sampling import SignalRecorder
from sim_node.extensions.scenario.signals import formula, needs_sensors
from sim_node.extensions.scenario.verdicts import Verdict, judge
from sim_node.extensions.sweep import CaseRun, Measure, MeasureFault, measure
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World

# The columns of a row besides the robustness of each expectation.
COLUMNS = ("verdict", "reason", "robustness", "violated_at", "violated", "digest")
# The text of the measure, without and with sensors.
MEASURE, MEASURE_WITH_SENSORS = "verdict=verdict()", "verdict=verdict(sensors)"


def expect_of(world: World) -> Expect | None:
    """Return the expectations of a world, or None."""
    found = world.parts.get("expect", ())
    return found[0] if found else None


def wanted(expect: Expect) -> tuple[str, ...]:
    """Return the signals of all expectations, in order."""
    return tuple(dict.fromkeys(name for each in expect.must for name in signals_of(expected(each.formula))))


def has_sensors(world: World) -> bool:
    """Return whether sensors must measure for the expectations of a world, or for the conditions of its events."""
    expect = expect_of(world)
    conditions = (signals_of(formula(event.when)) for event in events_of(world) if event.when)
    return needs_sensors((*(wanted(expect) if expect else ()), *chain.from_iterable(conditions)))


class Judge:
    """Records the signals of a run's expectations, and judges it.

    Args:
        simulation: The run, at its start. Its world must have expectations.

    Raises:
        FormulaError: The run has no such signal.
    """

    def __init__(self, simulation: Simulation) -> None:
        expect = expect_of(simulation.world)
        assert expect is not None
        self.expect, self.simulation = expect, simulation
        self.period_ns = expect.period_ns(simulation.world.time.step_ns)
        self._recorder = SignalRecorder(simulation, wanted(expect), self.period_ns, expect.zone())
        simulation.connect(self._recorder)
        self._recorder.begin()

    def samples(self) -> dict[str, FloatArray]:
        """Return the samples (T,) of each signal so far."""
        return self._recorder.values()

    @property
    def start_ns(self) -> int:
        """Simulation time of the first sample, ns."""
        return self.simulation.world.time.start_ns

    def verdict(self, samples: Mapping[str, FloatArray], ended: str = "") -> Verdict:
        """Return the verdict on the run so far. `ended` says why it did not continue to its end."""
        return judge(self.expect, samples, self.period_ns, self.start_ns, ended)

    def digest(self, samples: Mapping[str, FloatArray]) -> str:
        """Return the SHA-256 of the samples and of the final state. Equal digests mean equal runs."""
        found = hashlib.sha256()
        state = self.simulation.columns.state()
        # Exclude sensors, which do not affect a run and are not enabled in all runs.
        moving = {name: array for name, array in state.items() if not name.startswith(("noise/", "sensor/"))}
        for name, array in sorted({**samples, **moving}.items()):
            found.update(f"{name}\0{array.shape}\0".encode())
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()


def row_of(verdict: Verdict, digest: str) -> dict[str, float | str | None]:
    """Return a verdict as the values of a table row. Infinite or missing values are None."""
    first = verdict.first
    return {
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "robustness": finite(verdict.robustness),
        "violated_at": first.violated_at if first else None,
        "violated": first.title if first else "",
        "digest": digest,
        **{f"robustness[{each.title}]": finite(each.robustness) for each in verdict.findings},
    }


def finite(number: float) -> float | None:
    """Return a number; None if it is not finite."""
    return number if math.isfinite(number) else None


@measure("verdict")
def verdict_measure(name: str, inside: str) -> Measure:
    """The verdict on each run by the expectations of its world; `verdict(sensors)` lets sensors measure."""
    if inside not in ("", "sensors"):
        raise MeasureFault(f"{name}: verdict() or verdict(sensors) is needed")

    def check(simulation: Simulation) -> None:
        if expect_of(simulation.world) is None:
            raise MeasureFault(f"{name}: world {simulation.world.name!r} has no section `expect`")

    def watch(simulation: Simulation) -> Any:
        judging = Judge(simulation)

        def read(run: CaseRun) -> Mapping[str, float | str | None]:
            samples = judging.samples()
            ended = "" if run.diverged_at is None else f"the run diverged by {run.diverged_at:g} s"
            return row_of(judging.verdict(samples, ended), judging.digest(samples))

        return read

    return Measure(
        name,
        lambda run: {},
        sensors=bool(inside),
        check=check,
        watch=watch,
        of_diverged=True,
    )
