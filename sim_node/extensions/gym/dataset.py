"""Datasets of randomised runs: signals of each run over time, as Parquet files that Polars, pandas and PyTorch read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.extensions.gym.actions import Applied
from sim_node.extensions.gym.draws import Draw, collecting, drawn, draws_of
from sim_node.extensions.gym.interface import (
    Action,
    ColumnSignal,
    FrameSignal,
    JointSignal,
    SensorSignal,
    VehicleSignal,
)
from sim_node.extensions.gym.readers import Readers
from sim_node.randomness import stream
from sim_node.session.errors import needing
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.pictures import whole_file
from sim_node.world import World, load
from sim_node.world.load import randomised
from sim_node.world.problems import Diverged, Problem, refuse, refuse_any

# The number of sine waves of an excitation.
WAVES = 8
RUNS, ABOUT, SAMPLES = "runs.parquet", "dataset.json", "samples"
Array32 = npt.NDArray[np.float32]
Recorded = FrameSignal | JointSignal | SensorSignal | VehicleSignal | ColumnSignal


@dataclass(frozen=True)
class Recipe:
    """The contents of a dataset.

    Attributes:
        world: A World, a path, a package:// URI, or the name of a shipped world.
        signals: The recorded signals by name; names become columns.
        duration: Simulated seconds of a run.
        rate: Samples per simulated second, Hz. Its period must be a whole number of the world's steps.
        variations: Numbers of the world that are drawn for each run, by key path: distributions such as
            "uniform(0.1, 0.2)", or "direction" for an axis; see `draw_of`.
        excitations: Actions that excite the world, by name. Their numbers are sums of random sine waves, drawn for each
            run within the ranges of the actions.
        band: Lowest and highest frequency of these waves, Hz.
        ranges: Whether to draw also positions that the world gives as ranges, like x_xy models.
    """

    world: World | str | Path
    signals: Mapping[str, Recorded]
    duration: float = 10.0
    rate: float = 100.0
    variations: Mapping[str, str | float | Draw] = field(default_factory=dict)
    excitations: Mapping[str, Action] = field(default_factory=dict)
    band: tuple[float, float] = (0.1, 2.0)
    ranges: bool = False


@dataclass(frozen=True, eq=False)
class RecipeRun:
    """One run of a recipe.

    Attributes:
        seed: The seed of the run.
        values: The drawn numbers by key path.
        times: Simulation times (T,), s; the first sample is the start.
        signals: Samples (T, K) of each signal.
        labels: Names of the K elements of each signal, if they have names.
        diverged: Whether the simulation diverged; the samples end before that.
    """

    seed: int
    values: Mapping[str, float]
    times: FloatArray
    signals: Mapping[str, FloatArray]
    labels: Mapping[str, tuple[str, ...]]
    diverged: bool = False


def simulate(recipe: Recipe, index: int = 0, seed: int = 0) -> RecipeRun:
    """Simulate one run of a dataset, which depends only on the recipe, the seed and its index.

    Args:
        recipe: The recipe.
        index: Number of the run.
        seed: Seed of the dataset.

    Returns:
        The run.

    Raises:
        WorldError: The world is invalid, or does not have what the recipe names.
    """
    world = recipe.world if isinstance(recipe.world, World) else load(recipe.world)
    steps, samples = _steps(recipe, world)
    random = stream(seed, f"run {index}", "dataset")
    run_seed = int(random.integers(2**31))
    values = drawn(draws_of(recipe.variations), random)
    changed = randomised(world, run_seed) if recipe.ranges else world
    simulation = Simulation(changed.with_values(values) if values else changed, run_seed)
    problems: list[Problem] = []
    with collecting(problems):
        readers = Readers(simulation, recipe.signals)
    waves: list[tuple[Applied, _Waves]] = []
    for action in recipe.excitations.values():
        with collecting(problems):
            applied = Applied(simulation, action)
            waves.append((applied, _Waves(applied, recipe.band, random)))
    refuse_any(problems)
    simulation.reset()
    read = list(readers.readers.items())
    rows: dict[str, list[Any]] = {name: [] for name, _ in read}
    times: list[float] = []
    try:
        for sample in range(samples):
            time = sample * steps * world.time.step_ns * 1e-9
            readers.refresh()
            row = [(name, value()) for name, value in read]
            if not all(np.isfinite(value).all() for _, value in row):
                raise Diverged("a signal is not finite")
            times.append(time)
            for name, value in row:
                rows[name].append(value)
            for applied, wave in waves:
                applied.apply(wave.at(time))
            if sample < samples - 1:
                simulation.step(steps)
    except Diverged:
        pass
    signals = {name: np.array(each, dtype=np.float64).reshape(len(times), -1) for name, each in rows.items()}
    return RecipeRun(run_seed, values, np.array(times), signals, readers.labels, diverged=len(times) < samples)


def write_dataset(
    recipe: Recipe, folder: str | Path, runs: int, *, seed: int = 0, workers: int = 1, per_file: int = 16
) -> Path:
    """Simulate runs and write them as Parquet: `runs.parquet`, a row for each run, and `samples/*.parquet`.

    The files do not depend on the number of workers, and are written atomically.

    Args:
        recipe: The recipe.
        folder: A new folder.
        runs: Number of runs.
        seed: Seed of the dataset.
        workers: Number of processes that simulate.
        per_file: Number of runs in a file of samples.

    Returns:
        The folder.

    Raises:
        FileExistsError: The folder exists and is not empty.
        ValueError: There are no runs or no workers.
        WorldError: The world is invalid, or does not have what the recipe names.
        MissingExtra: Polars is not installed.
    """
    with needing("datasets"):
        import polars  # noqa: F401  reported before anything is simulated
    if runs < 1 or workers < 1 or per_file < 1:
        raise ValueError(f"runs {runs}, workers {workers} and per_file {per_file} must be 1 or more")
    target = Path(folder)
    if target.exists() and any(target.iterdir()):
        raise FileExistsError(f"{target} is not empty; a dataset needs a new folder")
    if not isinstance(recipe.world, World):
        recipe = replace(recipe, world=load(recipe.world))
    simulate(replace(recipe, duration=1.0 / recipe.rate if recipe.rate > 0 else 0.0))  # reports faults before any file
    (target / SAMPLES).mkdir(parents=True, exist_ok=True)
    blocks = [range(first, min(first + per_file, runs)) for first in range(0, runs, per_file)]
    rows: list[dict[str, Any]] = []
    layout: dict[str, list[str]] = {}
    for written, layout in _each_block(recipe, target, seed, blocks, workers):  # noqa: B007  that of any block
        rows += written
    about = {"rate": recipe.rate, "duration": recipe.duration, "seed": seed, "signals": layout}
    with whole_file(target / ABOUT) as part:
        part.write_bytes(json.dumps(about, indent=2).encode())
    _write_table(target / RUNS, {key: [row[key] for row in rows] for key in rows[0]})
    return target


def _each_block(
    recipe: Recipe, folder: Path, seed: int, blocks: Sequence[range], workers: int
) -> Iterator[tuple[list[dict[str, Any]], dict[str, list[str]]]]:
    if workers == 1 or len(blocks) == 1:
        yield from (_write_block(recipe, folder, seed, block) for block in blocks)
        return
    with ProcessPoolExecutor(min(workers, len(blocks)), mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(_write_block, *zip(*((recipe, folder, seed, block) for block in blocks), strict=True))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _write_block(
    recipe: Recipe, folder: Path, seed: int, block: range
) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """Simulate runs and write their samples to one file. Return the rows of the runs, and the signals' columns."""
    rows, tables = [], []
    layout: dict[str, list[str]] = {}
    for index in block:
        run = simulate(recipe, index, seed)
        layout = {name: _names(name, run.labels[name], samples.shape[1]) for name, samples in run.signals.items()}
        status = "diverged" if run.diverged else "ok"
        rows.append({"run": index, "seed": run.seed, "status": status, "samples": len(run.times), **run.values})
        table: dict[str, Any] = {"run": np.full(len(run.times), index), "time": run.times}
        for name, samples in run.signals.items():
            table.update(zip(layout[name], np.ascontiguousarray(samples.T), strict=True))
        tables.append(table)
    joined = {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}
    _write_table(folder / SAMPLES / f"{block.start:07d}.parquet", joined)
    return rows, layout


def _names(name: str, labels: tuple[str, ...], size: int) -> list[str]:
    """Return the columns of a signal."""
    if size == 1 and len(labels) != 1:
        return [name]
    return [f"{name}.{part}" for part in (labels if len(labels) == size else map(str, range(size)))]


class _Waves:
    """Sums of sine waves with random frequencies and phases, scaled to the range of an action."""

    def __init__(self, applied: Applied, band: tuple[float, float], random: np.random.Generator) -> None:
        size = len(applied.low)
        if not 0.0 < band[0] <= band[1] < np.inf:
            refuse("band", f"{list(band)} is not a range of frequencies above 0 Hz")
        low, high = np.log(band)
        self._rates = 2.0 * np.pi * np.exp(random.uniform(low, high, (WAVES, size)))
        self._phases = random.uniform(0.0, 2.0 * np.pi, (WAVES, size))
        shares = random.random((WAVES, size))
        self._shares = shares / shares.sum(axis=0)
        self._middle, self._half = 0.5 * (applied.low + applied.high), 0.5 * (applied.high - applied.low)

    def at(self, time: float) -> FloatArray:
        """Return the numbers (size,) at a time, s."""
        waves = (self._shares * np.sin(self._rates * time + self._phases)).sum(axis=0)
        return np.asarray(self._middle + self._half * waves)


def _steps(recipe: Recipe, world: World) -> tuple[int, int]:
    """Return the steps of the world in a sample's period, and the number of samples. Raises WorldError."""
    step_ns = world.time.step_ns
    exact = (
        float(Fraction(10**9) / (Fraction(recipe.rate).limit_denominator(10**6) * step_ns)) if recipe.rate > 0 else 0
    )
    steps = round(exact)
    if steps < 1 or abs(exact - steps) > 1e-6:
        refuse("rate", f"{recipe.rate:g} Hz does not divide the world's steps of {step_ns * 1e-9:g} s")
    samples = round(recipe.duration * recipe.rate)
    if samples < 1:
        refuse("duration", f"{recipe.duration:g} s is less than one sample")
    return steps, samples


def _write_table(path: Path, columns: Mapping[str, Any]) -> None:
    import polars

    with whole_file(path) as part:
        polars.DataFrame(dict(columns)).write_parquet(part)
