"""Pass the latest instant from a loop that must not wait to a page that may be slow, using a separate thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.messages.drawing import Drawing

RATE = 60.0
# Period of `idle` while no new instants arrive, s.
IDLE_S = 0.2

# By sensor: its values or the drawing of a topic's message, and the poses (N, 7) of all frames in their parents then.
Latest = dict[str, tuple[npt.NDArray[Any] | Drawing, FloatArray]]


class Instant(NamedTuple):
    """What a page shows at one time.

    Attributes:
        time_ns: The time.
        poses: Pose (N, 7) of each frame in its parent, m.
        measurements: Measurements since the previous instant, by sensor.
        posed_ns: Time of the poses if they are older, because a bag has only the last recorded ones.
        passed: After a seek, instants before this one, for trails; None if it follows the previous instant.
    """

    time_ns: int
    poses: FloatArray
    measurements: Latest
    posed_ns: int | None = None
    passed: Sequence[Instant] | None = None


class Stream:
    """Passes the latest instant to `show`, at most RATE times per second, without blocking the sender.

    idle: called periodically while there is nothing new. Both are called from the stream's thread.
    """

    # Prepares the page for instants with other frames, and the error if that failed.
    _prepare: Callable[[], None] | None = None
    _failure: Exception | None = None

    def __init__(self, frames: int, show: Callable[[Instant], None], idle: Callable[[], None]) -> None:
        self._show, self._idle = show, idle
        self._fresh, self._shown = np.zeros((frames, 7)), np.zeros((frames, 7))
        self._time_ns = 0
        self._posed_ns: int | None = None
        self._passed: Sequence[Instant] | None = None
        self._measurements: Latest = {}
        self._offered = threading.Condition()
        self._is_fresh = self._ended = False
        self._thread = threading.Thread(target=self._run, name="viewer", daemon=True)
        self._thread.start()

    def offer(
        self,
        time_ns: int,
        poses: FloatArray,
        measurements: Latest,
        posed_ns: int | None = None,
        passed: Sequence[Instant] | None = None,
    ) -> None:
        """Replace the instant to show; poses are copied. Measurements and `passed` of a pending instant are kept.

        Raises the error of a failed `prepare`.
        """
        with self._offered:
            if self._failure is not None:
                raise self._failure
            np.copyto(self._fresh, poses)
            self._time_ns, self._posed_ns = time_ns, posed_ns
            self._passed = self._passed if passed is None else passed
            self._measurements.update(measurements)
            self._is_fresh = True
            self._offered.notify()

    def change(self, frames: int, prepare: Callable[[], None]) -> None:
        """Prepare the page for instants with another number of frames.

        Pending instants are dropped.

        Args:
            frames: Number of frames from now on.
            prepare: Called from the stream's thread before the next instant is shown, unless another change follows.
        """
        with self._offered:
            self._prepare = prepare
            self._fresh = np.zeros((frames, 7))
            self._measurements, self._passed = {}, None
            self._is_fresh = False
            self._offered.notify()

    def close(self) -> None:
        """End the thread."""
        with self._offered:
            self._ended = True
            self._offered.notify()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            with self._offered:
                if not self._is_fresh and not self._ended and self._prepare is None:
                    self._offered.wait(IDLE_S)
                if self._ended:
                    return
                prepare, self._prepare = self._prepare, None
                fresh = self._is_fresh
                if fresh:
                    other = self._shown if self._shown.shape == self._fresh.shape else np.zeros_like(self._fresh)
                    self._fresh, self._shown = other, self._fresh
                    measurements, self._measurements = self._measurements, {}
                    instant = Instant(self._time_ns, self._shown, measurements, self._posed_ns, self._passed)
                    self._passed = None
                    self._is_fresh = False
            if prepare is not None:
                try:
                    prepare()
                except Exception as failure:  # raised at the next call of `offer`
                    self._failure = failure
                    return
            if fresh:
                self._show(instant)
            else:
                self._idle()
            now = time.monotonic()
            due = max(due + 1.0 / RATE, now)
            with self._offered:
                self._offered.wait_for(lambda: self._ended, due - now)
