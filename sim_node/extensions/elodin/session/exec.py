"""Exec: a world in Python that runs on demand, with its history."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.pairs import Pairs
from sim_node.extensions.elodin.program import Array, CompiledProgram
from sim_node.session.errors import needing

if TYPE_CHECKING:
    import polars


# Names of formats, and the suffixes of their files.
FORMATS = {
    **dict.fromkeys(("arrow", "arrow_ipc", "arrow-ipc"), "arrow"),
    "parquet": "parquet",
    "pq": "parquet",
    "csv": "csv",
}


class ComponentHistory:
    """The values of a program's components after each tick.

    Args:
        program: The compiled world.
        changing: The names of the components that are added; the others are constant.
        batch: The number of worlds that run at once, or None for a single world.
    """

    def __init__(self, program: CompiledProgram, changing: Sequence[str], batch: int | None = None) -> None:
        self._program, self._changing, self._batch = program, tuple(changing), batch
        self._pairs = Pairs(program.structure)
        self._chunks: list[Mapping[str, Array]] = [{name: program.start[name][None] for name in changing}]
        self.rows = 1

    def add(self, chunk: Mapping[str, Array]) -> None:
        """Append the changing components (T, n, *shape) of some ticks."""
        self._chunks.append(chunk)
        self.rows += len(next(iter(chunk.values())))

    def names(self) -> list[str]:
        """Return the names of all pairs, `entity.component`."""
        return list(self._pairs)

    def values(self, name: str) -> Array:
        """Return the values (N + 1, *shape) of a pair; (N + 1, batch, *shape) for a batch. Raises KeyError."""
        pair = self._pairs[name]
        row = pair.row if self._batch is None else (slice(None), pair.row)
        if pair.component not in self._changing:
            start = self._program.start[pair.component][row]
            return np.broadcast_to(start, (self.rows, *start.shape))
        if len(self._chunks) > 1:  # join the chunks once, not in each later call
            joined = {name: np.concatenate([each[name] for each in self._chunks]) for name in self._changing}
            self._chunks = [joined]
        array = self._chunks[0][pair.component]
        return array[:, pair.row] if self._batch is None else array[:, :, pair.row]

    def frame(self, components: str | Sequence[str]) -> polars.DataFrame:
        """Return pairs as a data frame.

        Args:
            components: The names of pairs, `entity.component`.

        Returns:
            The column `time`, for a batch also `batch`, and one column for each pair, with numbers or arrays of the
            flattened values. There is one row for the start and one after each tick; the worlds of a batch follow each
            other.

        Raises:
            EcsError: There is no such pair.
            TypeError: The argument is not a name or names.
            MissingExtra: Polars is not installed.
        """
        with needing("the history of a world"):
            import polars
        names = [components] if isinstance(components, str) else list(components)
        if not all(isinstance(name, str) for name in names):
            raise TypeError(
                f"history: expected a name or a list of names, such as 'ball.world_pos'; found {components!r}"
            )
        structure = self._program.structure
        micros = structure.numerics.microseconds(structure.step, np.arange(self.rows))
        worlds = self._batch or 1
        columns: list[Any] = []
        if self._batch is not None:
            columns.append(polars.Series("batch", np.repeat(np.arange(worlds), self.rows)))
        time = polars.Series("time", np.tile(micros, worlds))
        columns.append(time.cast(polars.Datetime("us")))
        for name in dict.fromkeys(names):
            try:
                array = self.values(name)
            except KeyError as error:
                raise EcsError(error.args[0], caller(), "history") from None
            if self._batch is not None:
                array = np.swapaxes(array, 0, 1)
                array = array.reshape(-1, *array.shape[2:])
            flat = np.ascontiguousarray(array if array.ndim == 1 else array.reshape(len(array), -1))
            columns.append(polars.Series(name, flat))
        return polars.DataFrame(columns)

    def save(self, folder: str | Path, format: str) -> None:
        """Write one file for each pair, with its times and values.

        Args:
            folder: The folder for the files; it is created if it does not exist.
            format: `arrow`, `parquet` or `csv`. A CSV file has one column for each element.

        Raises:
            EcsError: The format is unknown.
            MissingExtra: Polars is not installed.
        """
        for name in self.names():
            write_frame(self.frame(name), name, folder, format)


def write_frame(frame: polars.DataFrame, name: str, folder: str | Path, format: str) -> None:
    """Write a data frame to the file NAME.FORMAT in a folder. Raises EcsError for an unknown format."""
    suffix = FORMATS.get(format)
    if suffix is None:
        raise EcsError(f"unknown format {format!r}; known: {', '.join(FORMATS)}", caller(), "save_archive")
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    file = into / f"{name.replace('/', '_')}.{suffix}"
    if suffix == "arrow":
        frame.write_ipc(file)
    elif suffix == "parquet":
        frame.write_parquet(file)
    else:
        flattened(frame, lambda column, at: f"{column}[{at}]").write_csv(file)


def flattened(frame: polars.DataFrame, named: Callable[[str, int], str]) -> polars.DataFrame:
    """Split each array column of a data frame into one column per element, named by column name and index."""
    import polars

    columns: list[polars.Series] = []
    for column in frame:
        kind = column.dtype
        parts = range(kind.size) if isinstance(kind, polars.Array) else ()
        columns += [column.arr.get(at).alias(named(column.name, at)) for at in parts] or [column]
    return polars.DataFrame(columns)


# Runs of at least this many ticks show their progress in a terminal.
LONG = 100
# Time between two updates of the progress, s.
SHOWN_EVERY_S = 0.2
# Costs that exist only in other implementations of the API: here, state is not copied to another device.
_NO_COST = ("copy_to_client", "call_setup", "h2d_upload", "kernel_invoke", "d2h_download", "copy_to_host")


class Ticking(Protocol):
    """Something that runs ticks: a Live, or systems beside a simulation."""

    program: CompiledProgram
    ticks: int

    @property
    def changing(self) -> tuple[str, ...]:
        """The names of the components that `record` returns."""

    def warm(self, ticks: int) -> None:
        """Compile the function that runs a number of ticks, unless a suitable one is compiled, without running any."""

    def record(self, ticks: int) -> Mapping[str, Array]:
        """Run at most `program.chunk` ticks, and return the components (ticks, n, *shape) after each of them."""


class Exec:
    """A compiled world that runs ticks on demand, and keeps the components after each tick in memory.

    World.run keeps no history; it records to a bag instead.

    Args:
        program: The compiled world.
        batch: The number of worlds that run at once, or None for a single world.
        build_s: The time that it took to build the world, s.
        live: Its state; by default that at the start.
    """

    def __init__(
        self, program: CompiledProgram, batch: int | None = None, build_s: float = 0.0, live: Ticking | None = None
    ) -> None:
        self._live: Ticking = Live(program) if live is None else live
        self._history = ComponentHistory(program, self._live.changing, batch)
        self._build_s = build_s
        self._run_s = self._add_s = self._compile_s = 0.0

    @property
    def ticks(self) -> int:
        """Ticks since the start."""
        return self._live.ticks

    def run(self, ticks: int = 1, show_progress: bool = True, is_canceled: Callable[[], Any] | None = None) -> None:
        """Run ticks.

        Args:
            ticks: The number of ticks.
            show_progress: Whether long runs show their progress, if standard error is a terminal.
            is_canceled: Called after each tick; the run ends when it returns True.

        Raises:
            EcsError: `ticks` is not a whole number of at least 0, or a system does not fit the world.
        """
        if isinstance(ticks, bool) or ticks != int(ticks) or ticks < 0:
            raise EcsError(f"ticks: {ticks!r} is not a whole number of at least 0", caller(), "run")
        live, left = self._live, int(ticks)
        shown = show_progress and left >= LONG and sys.stderr.isatty()
        next_shown = time.perf_counter()
        while left:
            count = 1 if is_canceled is not None else min(left, live.program.chunk)
            began = time.perf_counter()
            live.warm(1 if count == 1 else left)
            self._compile_s += time.perf_counter() - began
            began = time.perf_counter()
            chunk = live.record(count)
            done = time.perf_counter()
            self._history.add(chunk)
            self._run_s += done - began
            self._add_s += time.perf_counter() - done
            left -= len(next(iter(chunk.values())))
            if shown and done >= next_shown:
                next_shown = done + SHOWN_EVERY_S
                print(f"\r{ticks - left} of {ticks} ticks", end="", file=sys.stderr, flush=True)
            if is_canceled is not None and is_canceled():
                print("run canceled", file=sys.stderr)
                break
        if shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def history(self, components: str | Sequence[str]) -> polars.DataFrame:
        """Return the history of components: one row for the start and one after each tick.

        Args:
            components: Names, `entity.component`.

        Returns:
            The column `time` and one column for each name, with numbers or arrays of the flattened values. The history
            of a batch also has the column `batch`.

        Raises:
            EcsError: There is no such component.
            TypeError: The argument is not a name or names.
            MissingExtra: Polars is not installed.
        """
        return self._history.frame(components)

    def profile(self) -> dict[str, float]:
        """Return mean times, ms: `build` and `compile` of the world, `tick`, and the parts of a tick.

        `time_step` is the simulated time of a tick, and `real_time_factor` its ratio to `tick`.
        """
        run, add = (1e3 * seconds / max(self._live.ticks, 1) for seconds in (self._run_s, self._add_s))
        step = 1e3 * self._live.program.structure.step
        return {
            "build": 1e3 * self._build_s,
            "compile": 1e3 * self._compile_s,
            "execute_buffers": run,
            "add_to_history": add,
            "tick": run + add,
            "time_step": step,
            "real_time_factor": step / (run + add) if run + add > 0.0 else 0.0,
            **dict.fromkeys(_NO_COST, 0.0),
        }

    def save_archive(self, path: str | Path, format: str = "arrow") -> None:
        """Write the history of each component to a separate file, `entity.component.FORMAT`.

        Args:
            path: The folder; it is created if it does not exist.
            format: `arrow`, `parquet` or `csv`.

        Raises:
            EcsError: The format is unknown.
            MissingExtra: Polars is not installed.
        """
        self._history.save(path, format)
