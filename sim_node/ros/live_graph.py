"""Transforms of a running graph, received by a separate node, with rates and delays as in tf2_monitor."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.messages.tf_message_reader import TransformBatch, TransformNames
from sim_node.ros.graph_clock import GraphClock
from sim_node.ros.participant import participant, spinning
from sim_node.ros.tf2 import Buffer, TransformListener
from sim_node.spatial.tree import TransformTree
from sim_node.spatial.tree.errors import EARLIEST_WALL_TIME_NS

# Maximum number of frames, and of distinct sets of frames in messages: a publisher could send any number of names.
MAX_FRAMES, MAX_LAYOUTS = 100_000, 4096

# A delay of decades means that the stamps are from another clock.
ANOTHER_CLOCK_S = EARLIEST_WALL_TIME_NS * 0.5e-9

# Statistics of a frame: number of messages, arrival of the first and the last (ns, monotonic), number of known delays,
# and their sum and maximum (s).
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
    """Traffic statistics of a frame.

    messages: number of messages. rate_hz: mean rate since the first message; None for fewer than two. delays: arrival
    minus stamp, s; None while the graph's time is unknown. silent_for: time since the last message, s.
    """

    messages: int
    rate_hz: float | None
    mean_delay: float | None
    max_delay: float | None
    silent_for: float

    @property
    def clock(self) -> str:
        """The clock of the stamps if it differs from the graph's (wall clock or simulation time); otherwise empty."""
        if self.mean_delay is None or abs(self.mean_delay) < ANOTHER_CLOCK_S:
            return ""
        return "wall clock" if self.mean_delay < 0.0 else "simulation time"


class TfStatistics:
    """Statistics of dynamic transforms. Pass `on_batch` to a TransformListener.

    graph_ns: returns the time for delays; None while it is unknown. arrival_ns: a monotonic clock, for rates.
    """

    def __init__(self, graph_ns: Callable[[], int | None], arrival_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._graph_ns = graph_ns
        self._arrival_ns = arrival_ns
        self._lock = threading.Lock()
        self._rows: dict[str, int] = {}
        self._table = np.zeros(64, _ROW)
        # For the frame names of a message, the indices of those that are counted, and their rows.
        self._rows_of: dict[TransformNames, tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]] = {}

    def on_batch(self, batch: TransformBatch, static: bool) -> None:
        """Count a message. Static transforms have no rate."""
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
        """Drop all delays, because the graph's clock has changed."""
        with self._lock:
            for column in ("delays", "delay_sum", "delay_max"):
                self._table[column] = 0

    def traffic(self) -> dict[str, FrameTraffic]:
        """Return the traffic so far, by frame."""
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
    mean, maximum = (delay_sum / delays, delay_max) if delays else (None, None)
    return FrameTraffic(count, rate, mean, maximum, (now - last) / 1e9)


class LiveGraph:
    """Receives /tf and /tf_static in a separate thread while entered.

    Args:
        name: Name of the node.
        rosout: Whether the node logs to /rosout.

    Attributes:
        tree: The received transforms.
        node: The node, once entered.
        clock: The graph's time, once entered.
    """

    def __init__(self, name: str = "sim_node_live", *, rosout: bool = True) -> None:
        self.tree = TransformTree(detect_jumps=True)
        self._name, self._rosout = name, rosout

    def __enter__(self) -> LiveGraph:
        with ExitStack() as stack:
            self.node, executor = stack.enter_context(participant(self._name, rosout=self._rosout))
            self._statistics = TfStatistics(lambda: self.clock.now_ns())
            self.clock = GraphClock(self.node, found=self._statistics.forget_delays)
            listener = TransformListener(
                Buffer(tree=self.tree), self.node, spin_thread=False, on_batch=self._statistics.on_batch
            )
            stack.callback(listener.unregister)
            stack.enter_context(spinning(executor))
            self._leave = stack.pop_all()
        return self

    def __exit__(self, *of: object) -> None:
        self._leave.close()

    def traffic(self) -> dict[str, FrameTraffic]:
        """Return the traffic of each frame."""
        return self._statistics.traffic()
