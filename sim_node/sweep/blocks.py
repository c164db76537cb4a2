"""Blocks: cases of a world in Python, many in one vmapped program."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.simulation import Simulation
from sim_node.sweep.case_run import Run
from sim_node.sweep.job import DIVERGED, OK, Case, Cases, Outcome
from sim_node.sweep.measures import measure_of
from sim_node.sweep.signals import MeasureFault
from sim_node.sweep.variations import SEED, Variation
from sim_node.world import World, WorldError
from sim_node.world.problems import NOWHERE, Problem

if TYPE_CHECKING:
    from sim_node.ecs.pairs import Pair
    from sim_node.sweep.runner import Runner
    from sim_node.sweep.study import Study

# Cases of one batch. It is always the same, and does not depend on what is left: a program of another size may compute
# other last bits.
BLOCK = 32
COMPONENT = "component/"
_PATH = re.compile(r"(?P<pair>.+?)(?:\[(?P<index>\d+)\])?")


def is_component_world(world: World) -> bool:
    """Return whether the numbers of a world are components of entities: a world in Python, and not beside a file."""
    return world.python is not None and world.python.captured.source is None


def check_components(world: World, vary: Iterable[Variation]) -> None:
    """Check that each path leads to a number of a component. Raises WorldError with the nearest name."""
    problems = []
    for each in vary:
        if each.path != SEED:
            try:
                component_at(world, each.path)
            except WorldError as error:
                message = error.problems[0].message
                problems.append(Problem(each.place.where, each.place.key or each.path, message))
    if problems:
        raise WorldError(problems)


def component_at(world: World, path: str) -> tuple[Pair, int]:
    """Return the component of an entity, and the index of the number in it, that a path leads to.

    Args:
        world: The world.
        path: `entity.component`, with an index if it has several numbers, as in ball.world_pos[6].

    Returns:
        The pair, and the flat index.

    Raises:
        WorldError: There is none.
    """
    from sim_node.ecs.pairs import Pairs

    found = _PATH.fullmatch(path)
    assert found is not None
    try:
        pair = Pairs(world.python.captured.program.structure)[found["pair"]]
    except KeyError as error:
        raise WorldError([Problem(NOWHERE, path, error.args[0])]) from None
    if found["index"] is None and pair.size != 1:
        raise WorldError([Problem(NOWHERE, path, f"has {pair.size} numbers; give an index, [0] to [{pair.size - 1}]")])
    index = int(found["index"] or 0)
    if index >= pair.size:
        raise WorldError([Problem(NOWHERE, path, f"index {index} is out of range; allowed: 0 to {pair.size - 1}")])
    return pair, index


def with_components(world: World, values: Mapping[str, float]) -> World:
    """Return a world in Python with other numbers at its start. Raises WorldError."""
    if not values:
        return world
    python = world.python
    start = {name: np.array(array) for name, array in python.captured.program.start.items()}
    for path, value in values.items():
        pair, index = component_at(world, path)
        start[pair.component][pair.row].reshape(-1)[index] = value
    program = replace(python.captured.program, start=start)
    return replace(world, python=replace(python, captured=replace(python.captured, program=program)))


def cases_at_once(world: World, study: Study) -> int:
    """Return how many cases of a world in Python run in one batch: 1 if something needs a run of its own."""
    captured = world.python.captured
    if captured.source is not None or captured.pre_step is not None or captured.post_step is not None or study.keep:
        return 1
    try:
        measures = [measure_of(text) for text in study.measures]
    except MeasureFault:  # reported later, with its place
        return 1
    columns = {name for each in measures for name in each.columns}
    own = all(name.startswith(COMPONENT) for name in columns)
    return BLOCK if own and not any(each.sensors for each in measures) else 1


class Recorded:
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
        from sim_node.ecs.batch import batched
        from sim_node.ecs.live import Live
        from sim_node.ecs.pairs import Pairs

        self._runner, world = runner, runner.world
        self._opened = runner.observe(Simulation(world, sensors=False))
        self._program = world.python.captured.program
        self._at = {path: component_at(world, path) for path in runner.job.paths}
        # Any pair makes the batch: the values of the cases are written before each run.
        some = next(iter(Pairs(self._program.structure)))
        pair = Pairs(self._program.structure)[some]
        values = np.repeat(self._program.start[pair.component][pair.row][None], BLOCK, axis=0)
        self._live = Live(batched(self._program, {some: values}, NOWHERE)[0])
        self._columns = tuple(name.removeprefix(COMPONENT) for name in runner.columns)

    def run(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        """Run a block, which may be incomplete. Yield an outcome for each case."""
        began = time.perf_counter()
        job, grid = self._runner.job, self._runner.world.time
        padded = [*cases, *[cases[-1]] * (BLOCK - len(cases))]
        live = self._live
        live.reset()
        for path, (pair, index) in self._at.items():
            rows = live.writable(pair.component)
            rows[:, pair.row].reshape(BLOCK, -1)[:, index] = [case.values[path] for case in padded]
        steps = grid.nearest_steps(job.duration_ns)[0]
        times_ns, columns = self._record(steps)
        wall_s = (time.perf_counter() - began) / len(cases)
        final = {name: live.get(name) for name in self._program.changing}
        finite = np.array([all(np.isfinite(array[k]).all() for array in final.values()) for k in range(BLOCK)])
        for k, case in enumerate(cases):
            run = Run(
                self._opened.simulation,
                case.seed,
                case.values,
                Recorded(times_ns, columns, k),
                _Poses(self._program, live, k),
            )
            status, error = OK, ""
            if not finite[k]:
                run.diverged_at = steps * grid.step_ns * 1e-9
                status, error = DIVERGED, f"diverged by {run.diverged_at:g} s"
            yield Outcome(case, status, error, self._opened.measured(run), wall_s)

    def _record(self, steps: int) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
        """Run, and return the times and the recorded columns."""
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
        from sim_node.ecs.conversions import unit_poses
        from sim_node.ecs.frame_names import WORLD_POS, frame_name

        names = [frame_name(self._structure.names[each]) for each in self._structure.entities.get(WORLD_POS, ())]
        if frame not in names:
            raise KeyError(f"no entity {frame!r}")
        row = names.index(frame)
        return np.asarray(unit_poses(np.array(self._live.get(WORLD_POS)[self._case, row : row + 1]))[0])


def run_block(runner: Runner, cases: Cases) -> Iterator[Outcome]:
    """Run cases in blocks.

    Args:
        runner: The runner of this worker.
        cases: The cases; those of a block are all there, and follow each other.

    Yields:
        The outcome of each.
    """
    program = runner.blocks
    each = list(cases)
    for start in range(0, len(each), BLOCK):
        yield from program.run(each[start : start + BLOCK])
