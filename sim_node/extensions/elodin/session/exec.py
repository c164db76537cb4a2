"""Exec: a world in Python that is run tick by tick, with its history."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.program import Array, CompiledProgram
from sim_node.extensions.elodin.session.history import ComponentHistory

if TYPE_CHECKING:
    import polars

# Ticks of at least this many show their progress in a terminal.
LONG = 100
# Time between two updates of the progress, s.
SHOWN_EVERY_S = 0.2
# Costs that other implementations of the API have, and this one does not: state is not copied to another device.
_NO_COST = ("copy_to_client", "call_setup", "h2d_upload", "kernel_invoke", "d2h_download", "copy_to_host")


class Ticking(Protocol):
    """What runs ticks: a Live, or systems beside a simulation."""

    program: CompiledProgram
    ticks: int

    @property
    def changing(self) -> tuple[str, ...]:
        """The names of the components that `record` returns."""

    def warm(self, ticks: int) -> None:
        """Compile what `record` needs for a number of ticks, without running any."""

    def record(self, ticks: int) -> Mapping[str, Array]:
        """Run ticks, at most `program.chunk`, and return components (ticks, n, *shape) after each of them."""


class Exec:
    """A compiled world that runs as many ticks as are wanted, and keeps the components after each of them in memory.

    World.run keeps none; it records to a bag instead.

    Args:
        program: The compiled world.
        batch: How many worlds are run at once, or None for one.
        build_s: How long the world took to build, s.
        live: Its state; by default at the start.
    """

    def __init__(
        self, program: CompiledProgram, batch: int | None = None, build_s: float = 0.0, live: Ticking | None = None
    ) -> None:
        self._live: Ticking = Live(program) if live is None else live
        self._history = ComponentHistory(program, self._live.changing, batch)
        self._build_s = build_s
        self._run_s = self._add_s = self._compile_s = 0.0
        # One tick at a time, and many, are compiled for themselves.
        self._compiled: set[bool] = set()

    @property
    def ticks(self) -> int:
        """Ticks since the start."""
        return self._live.ticks

    def run(self, ticks: int = 1, show_progress: bool = True, is_canceled: Callable[[], Any] | None = None) -> None:
        """Run ticks.

        Args:
            ticks: How many.
            show_progress: Whether many ticks show their progress, if standard error is a terminal.
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
            self._compile(count)
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
        """Return what components were: one row of the start, and one after each tick.

        Args:
            components: Names, `entity.component`.

        Returns:
            The column `time` and one of each name: numbers, or arrays of the flattened values. The history of a batch
            has the column `batch`, too.

        Raises:
            EcsError: There is no such component.
            TypeError: Something else than names was given.
            MissingExtra: Polars is not installed.
        """
        return self._history.frame(components)

    def _compile(self, ticks: int) -> None:
        if (ticks == 1) not in self._compiled:
            began = time.perf_counter()
            self._live.warm(ticks)
            self._compile_s += time.perf_counter() - began
            self._compiled.add(ticks == 1)

    def profile(self) -> dict[str, float]:
        """Return mean times, ms: `build` and `compile` of the world, `tick`, and what a tick consists of.

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
        """Write the history of each component to a file of its own, `entity.component.FORMAT`.

        Args:
            path: The folder; it is made if it does not exist.
            format: `arrow`, `parquet` or `csv`.

        Raises:
            EcsError: The format is unknown.
            MissingExtra: Polars is not installed.
        """
        self._history.save(path, format)
