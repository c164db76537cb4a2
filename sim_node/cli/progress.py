"""A run's progress: a bar on a terminal, a line now and then otherwise."""

from __future__ import annotations

import sys
import time
from typing import NoReturn

from tqdm import tqdm

from sim_node.simulation import Snapshot
from sim_node.world import FrameTable, World

LINE_EVERY_S = 10.0


class ProgressSink:
    """Shows simulated time; of `duration_ns` where that is given."""

    def __init__(self, duration_ns: int | None) -> None:
        self._total = None if duration_ns is None else duration_ns / 1e9
        self._bar: tqdm[NoReturn] | None = None
        self._start_ns = 0
        self._next_line = 0.0

    def open(self, world: World, frames: FrameTable) -> None:
        """Draws the bar at zero."""
        self._start_ns = world.time.start_ns
        self._next_line = time.monotonic() + LINE_EVERY_S
        if sys.stderr.isatty():
            with_total = "{l_bar}{bar}| {n:.1f}/{total:.1f} s simulated, {rate_fmt}{postfix}"
            layout = "{n:.1f} s simulated, {rate_fmt}{postfix}" if self._total is None else with_total
            self._bar = tqdm(total=self._total, desc=world.name, unit="x", bar_format=layout, mininterval=0.2)

    def write(self, snapshot: Snapshot) -> None:
        """Moves the bar to the snapshot's time, or prints the line that is due."""
        simulated = (snapshot.time_ns - self._start_ns) / 1e9
        if self._bar is not None:
            if simulated < self._bar.n:
                self._bar.reset()
            self._bar.update(simulated - self._bar.n)
        elif time.monotonic() >= self._next_line:
            self._next_line += LINE_EVERY_S
            print(f"{simulated:.1f} s simulated", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leaves the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
