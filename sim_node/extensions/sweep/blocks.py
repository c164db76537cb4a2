"""Blocks: many cases of a world in Python in one vmapped program."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.extensions.sweep.attempts import TimedOut, attempted, time_limit, timed_out
from sim_node.extensions.sweep.case_run import CaseRun
from sim_node.extensions.sweep.components import BLOCK, COMPONENT, component_at
from sim_node.extensions.sweep.job import DIVERGED, OK, Case, Cases, Outcome
from sim_node.extensions.sweep.runner import Runner
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.problems import NOWHERE


class BlockRecord:
    """The components of one case of a block, over time.

    Args:
        times_ns: Simulation time (T,), ns.
        columns: The columns (T, block, rows, ...) of all cases.
        case: The index of the case.
    """

    def __init__(self, times_ns: npt.NDArray[np.int64], columns: Mapping[str, npt.NDArray[Any]], case: int) -> None:
        self.times_ns, self._columns, self._case = times_ns, columns, case

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        return self._columns[column][:, self._case]


class BlockProgram:
    """Runs blocks of a job's world.

    Args:
        runner: The runner of this worker, with the world.
    """

    def __init__(self, runner: Runner) -> None:
        from sim_node.extensions.elodin.batch import batched
        from sim_node.extensions.elodin.live import Live
        from sim_node.extensions.elodin.pairs import Pairs

        self._runner, world = runner, runner.world
        self._opened = runner.observe(Simulation(world, sensors=False))
        self._program = world.python.captured.program
        self._at = {path: component_at(world, path) for path in runner.job.paths}
        # Any pair serves to make the batch, because the values of the cases are written before each run.
        some = next(iter(Pairs(self._program.structure)))
        pair = Pairs(self._program.structure)[some]
        values = np.repeat(self._program.start[pair.component][pair.row][None], BLOCK, axis=0)
        self._live = Live(batched(self._program, {some: values}, NOWHERE)[0])
        self._columns = tuple(name.removeprefix(COMPONENT) for name in runner.columns)

    def run(self, cases: Cases) -> Iterator[Outcome]:
        """Run cases in blocks.

        Args:
            cases: The cases. Those of a block must be complete and consecutive.

        Yields:
            The outcome of each.
        """
        each = list(cases)
        for start in range(0, len(each), BLOCK):
            yield from self._run(each[start : start + BLOCK])

    def _run(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        """Run a block, which may be incomplete."""
        began = time.perf_counter()
        job, grid = self._runner.job, self._runner.world.time
        padded = [*cases, *[cases[-1]] * (BLOCK - len(cases))]
        live = self._live
        steps = grid.nearest_steps(job.duration_ns)[0]
        try:
            with time_limit(job.timeout_s * len(cases)):
                live.reset()
                for path, (pair, index) in self._at.items():
                    rows = live.writable(pair.component)
                    rows[:, pair.row].reshape(BLOCK, -1)[:, index] = [case.values[path] for case in padded]
                times_ns, columns = self._record(steps)
        except TimedOut:
            yield from (timed_out(case, job.timeout_s) for case in cases)
            return
        wall_s = (time.perf_counter() - began) / len(cases)
        final = {name: live.get(name) for name in self._program.changing}
        finite = np.array([all(np.isfinite(array[k]).all() for array in final.values()) for k in range(BLOCK)])
        for k, case in enumerate(cases):
            run = CaseRun(
                self._opened.simulation,
                case.seed,
                case.values,
                BlockRecord(times_ns, columns, k),
                _Poses(self._program, live, k),
            )
            status, error = OK, ""
            if not finite[k]:
                run.diverged_at = steps * grid.step_ns * 1e-9
                status, error = DIVERGED, f"diverged by {run.diverged_at:g} s"
            ended = Outcome(case, status, error, {}, wall_s)
            yield attempted(case, job.timeout_s, partial(self._measured, ended, run))

    def _measured(self, ended: Outcome, run: CaseRun, began: float) -> Outcome:
        return ended._replace(measures=self._opened.measured(run))

    def _record(self, steps: int) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
        """Run a block, and return the times and the recorded columns."""
        job, grid, live = self._runner.job, self._runner.world.time, self._live
        if not self._columns:
            live.advance(steps)
            live.block()
            return np.zeros(0, dtype=np.int64), {}
        stride = max(1, -(-job.every_ns // grid.step_ns))
        kept = {name: [live.get(name)[None]] for name in self._columns}
        done = 0
        while done < steps:
            ticks = min(steps - done, live.program.chunk)
            recorded = live.record(ticks)
            skip = (-done - 1) % stride
            for name, parts in kept.items():
                array = recorded[name] if name in recorded else np.repeat(live.get(name)[None], ticks, axis=0)
                parts.append(array[skip::stride])
            done += ticks
        times_ns = grid.start_ns + np.arange(0, steps + 1, stride, dtype=np.int64) * grid.step_ns
        return times_ns, {COMPONENT + name: np.concatenate(parts) for name, parts in kept.items()}


class _Poses:
    """Final poses of entities in one case of a block."""

    def __init__(self, program: Any, live: Any, case: int) -> None:
        self._structure, self._live, self._case = program.structure, live, case

    def __call__(self, frame: str) -> FloatArray:
        from sim_node.extensions.elodin.conversions import unit_poses
        from sim_node.extensions.elodin.frame_names import WORLD_POS, frame_name

        names = [frame_name(self._structure.names[each]) for each in self._structure.entities.get(WORLD_POS, ())]
        if frame not in names:
            raise KeyError(f"no entity {frame!r}")
        row = names.index(frame)
        return np.asarray(unit_poses(np.array(self._live.get(WORLD_POS)[self._case, row : row + 1]))[0])
