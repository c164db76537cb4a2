"""Runner: runs the cases of a sweep one after the other, in a worker."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from sim_node.extensions.sweep.attempts import attempted
from sim_node.extensions.sweep.case_run import CaseRun
from sim_node.extensions.sweep.components import varied
from sim_node.extensions.sweep.functions import located, measure_of, measured
from sim_node.extensions.sweep.in_place import Writer
from sim_node.extensions.sweep.job import DIVERGED, OK, TIMED_OUT, Case, Cases, Job, Outcome
from sim_node.extensions.sweep.keeping import kept_of
from sim_node.extensions.sweep.measures import MEASURES, Measure, Read, Value
from sim_node.extensions.sweep.signals import MeasureFault
from sim_node.simulation import Simulation
from sim_node.simulation.history import History
from sim_node.world import Diverged, World

# Steps between two checks for divergence.
CHECK_STEPS = 1000


class Opened:
    """A simulation with the observers of its measures.

    Args:
        simulation: The simulation.
        measures: The measures.
        columns: Names of columns to record.
        every_ns: Time between two recorded instants, ns; 0 for the world's step.
    """

    def __init__(
        self, simulation: Simulation, measures: Sequence[Measure], columns: Sequence[str], every_ns: int
    ) -> None:
        self.simulation = simulation
        self.history: History | None = None
        if columns:
            every_ns = max(every_ns, simulation.world.time.step_ns)
            self.history = simulation.history(*columns, every=every_ns * 1e-9)
        self.reads: list[tuple[Measure, Read]] = []
        for each in measures:
            with MEASURES.blaming(each.source, MeasureFault):
                self.reads.append((each, each.watch(simulation) or each.read))

    def run_steps(self, steps: int) -> None:
        """Advance, and check periodically that the run has not diverged. Raises Diverged."""
        simulation = self.simulation
        while steps > 0:
            simulation.step(min(steps, CHECK_STEPS))
            simulation.present()
            steps -= CHECK_STEPS

    def measured(self, run: CaseRun) -> dict[str, Value]:
        """Return the values of all measures that apply to a run."""
        values: dict[str, Value] = {}
        for measure, read in self.reads:
            if run.diverged_at is None or measure.of_diverged:
                values.update(measured(measure, read, run, {*run.values, *values}))
        return values


class Runner:
    """Runs cases of a job.

    Args:
        job: The job.

    Raises:
        WorldError: The world is invalid.
        MeasureFault: A measure is invalid.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.world = job.payload.open()
        self.measures = tuple(measure_of(located(text, job.payload.place)) for text in job.measures)
        self.sensors = any(each.sensors for each in self.measures)
        columns = [*(name for each in self.measures for name in each.columns), *job.keep.columns]
        self.columns = tuple(dict.fromkeys(columns))
        self._opened: Opened | None = None
        self._writer: Writer | None = None
        self._varied: Mapping[str, float] | None = None
        self._prepare()

    def run(self, cases: Cases) -> Iterator[Outcome]:
        """Run cases.

        Args:
            cases: The cases.

        Yields:
            The outcome of each.
        """
        for case in cases:
            outcome = attempted(case, self.job.timeout_s, partial(self._alone, case))
            if outcome.status == TIMED_OUT:  # the simulation may have been interrupted within a step
                self._prepare()
            yield outcome

    def _alone(self, case: Case, began: float) -> Outcome:
        opened = self._with(case.values)
        opened.simulation.reset(case.seed)
        return self.finish(opened, case, began, self.advance(opened))

    def advance(self, opened: Opened) -> float | None:
        """Advance a simulation to its end. Return the time (s) since the start at which it had diverged, or None."""
        simulation = opened.simulation
        try:
            opened.run_steps(simulation.world.time.nearest_steps(self.job.duration_ns)[0])
        except Diverged:
            return (simulation.time_ns - simulation.world.time.start_ns) * 1e-9
        return None

    def finish(self, opened: Opened, case: Case, began: float, diverged_at: float | None) -> Outcome:
        """Return the outcome of a simulation at its end.

        Args:
            opened: The simulation.
            case: The case.
            began: Its start time on the clock perf_counter, s.
            diverged_at: The time (s) since the start at which it had diverged, or None.

        Returns:
            The outcome.
        """
        run = CaseRun(opened.simulation, case.seed, case.values, opened.history)
        run.diverged_at = diverged_at
        status, reason = (OK, "") if diverged_at is None else (DIVERGED, f"diverged by {diverged_at:g} s")
        values = opened.measured(run)
        files: Mapping[str, bytes] = {}
        if self.job.keep and not (self.job.keep.failures_only and status == OK):
            files = kept_of(self.job.keep, opened.simulation, opened.history)
        return Outcome(case, status, reason, values, time.perf_counter() - began, files)

    def _prepare(self) -> None:
        """Open the simulation for in-place numbers, if the job has one."""
        self._opened = self._writer = None
        if self.job.in_place is not None and not self.sensors:
            self._opened = self._open(self.world)
            self._writer = Writer(self._opened.simulation, self.job.in_place)

    def _with(self, values: Mapping[str, float]) -> Opened:
        """Return the simulation with the numbers of a case."""
        if self._writer is not None and self._opened is not None:
            self._writer.write(values)
            return self._opened
        if self._opened is None or self._varied != values:
            self._opened = self._open(varied(self.world, values))
            self._varied = values
        return self._opened

    def _open(self, world: World) -> Opened:
        simulation = Simulation(world, sensors=self.sensors)
        return self.observe(simulation)

    def observe(self, simulation: Simulation) -> Opened:
        """Return a simulation with the observers of the measures."""
        return Opened(simulation, self.measures, self.columns, self.job.every_ns)
