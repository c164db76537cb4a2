"""How often and how late transforms come, per frame, as tf2_monitor tells it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.wire.tf_message_reader import TransformBatch, TransformNames

# So many frames, and messages of other frames, are told apart: a publisher can make up names without end.
MAX_FRAMES, MAX_LAYOUTS = 100_000, 4096

# One frame: messages so far, when the first and the last came (ns, monotonic); of how many the delay is known,
# the sum and the greatest of these delays (s).
_ROW = np.dtype(
    [
        ("count", np.int64),
        ("first", np.int64),
        ("last", np.int64),
        ("delays", np.int64),
        ("delay_sum", np.float64),
        ("delay_max", np.float64),
    ]
)


class FrameTraffic(NamedTuple):
    """What came for one frame.

    messages: how many; rate_hz: mean since the first, None below two; delays: arrival minus stamp, s, None while
    the graph's time is not known; silent_for: since the last, s.
    """

    messages: int
    rate_hz: float | None
    mean_delay: float | None
    max_delay: float | None
    silent_for: float


class TfStatistics:
    """Counts dynamic transforms; give `on_batch` to a TransformListener.

    graph_ns: the time by which stamps are made, None where it is not known yet; arrival_ns: a clock that only goes
    forward, for rates.
    """

    def __init__(self, graph_ns: Callable[[], int | None], arrival_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._graph_ns = graph_ns
        self._arrival_ns = arrival_ns
        self._lock = threading.Lock()
        self._rows: dict[str, int] = {}
        self._table = np.zeros(64, _ROW)
        # Of a message's names: the places of those that are counted, and their rows.
        self._rows_of: dict[TransformNames, tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]] = {}

    def on_batch(self, batch: TransformBatch, static: bool) -> None:
        """Count a message; static ones have no rate."""
        if static or not len(batch.stamps_ns):
            return
        arrival, now = self._arrival_ns(), self._graph_ns()
        with self._lock:
            known = self._rows_of.get(batch.names)
            if known is None:
                if len(self._rows_of) >= MAX_LAYOUTS:
                    self._rows_of.clear()
                known = self._rows_of[batch.names] = self._register(batch.names.children)
            places, rows = known
            table = self._table
            table["first"][rows[table["count"][rows] == 0]] = arrival
            table["count"][rows] += 1
            table["last"][rows] = arrival
            if now is not None:
                delays = (now - batch.stamps_ns[places]) * 1e-9
                new = table["delays"][rows] == 0
                table["delay_max"][rows] = np.where(new, delays, np.maximum(table["delay_max"][rows], delays))
                table["delay_sum"][rows] += delays
                table["delays"][rows] += 1

    def forget_delays(self) -> None:
        """The graph's time is another from now on."""
        with self._lock:
            for column in ("delays", "delay_sum", "delay_max"):
                self._table[column] = 0

    def traffic(self) -> dict[str, FrameTraffic]:
        """Return what came so far, by frame."""
        now = self._arrival_ns()
        with self._lock:
            return {name: _traffic(self._table[row].item(), now) for name, row in self._rows.items()}

    def _register(self, names: tuple[str, ...]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        new = [name for name in dict.fromkeys(names) if name not in self._rows]
        for name in new[: MAX_FRAMES - len(self._rows)]:
            self._rows[name] = len(self._rows)
        places = [place for place, name in enumerate(names) if name in self._rows]
        rows = [self._rows[names[place]] for place in places]
        if len(self._rows) > len(self._table):
            table = np.zeros(2 * len(self._rows), _ROW)
            table[: len(self._table)] = self._table
            self._table = table
        return np.array(places, np.intp), np.array(rows, np.intp)


def _traffic(row: tuple[int, int, int, int, float, float], now: int) -> FrameTraffic:
    count, first, last, delays, delay_sum, delay_max = row
    rate = (count - 1) / (last - first) * 1e9 if last > first else None
    mean, most = (delay_sum / delays, delay_max) if delays else (None, None)
    return FrameTraffic(count, rate, mean, most, (now - last) / 1e9)
