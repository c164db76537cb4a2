"""The last minutes of a run in memory, so that the page can look back while the run continues."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock, RLock

import numpy as np

from sim_node.viewing.browser.stream import Instant, Latest
from sim_node.viewing.browser.transport import STEP_NS, Mark, Transport

# Minimum time between stored instants, wall s, and how far back to search for measurements, ns.
APART_S, LOOK_BACK_NS = 1.0 / 30.0, 2_000_000_000
# Maximum number of instants before a seek time, for trails.
MAX_PASSED = 600


class Rewind:
    """Stores what passes from a run to the page, and shows it again on request. It is the Transport of the page.

    When the memory is full, the oldest instants are dropped. A reset or a change of the frames drops all.

    Args:
        run: The Transport of the run, which continues while the page looks back.
        show: Shows an instant on the page.
        idle: Called while no new instants arrive.
        size: Size of the memory, bytes.
    """

    def __init__(self, run: Transport, show: Callable[[Instant], None], idle: Callable[[], None], size: int) -> None:
        self._run, self._show, self._idle, self._size = run, show, idle, size
        # The first is held while an instant is shown, before the page's own lock. The second protects data that threads
        # with the page's lock may request, and is never held during a call.
        self._lock, self._memory = RLock(), Lock()
        self._kept: deque[tuple[Instant, int]] = deque()
        self._times: list[int] = []
        self._bytes = 0
        self._due = 0.0
        self._pending: Latest = {}
        self._newest: Instant | None = None
        # The time that the page looks back at, ns; None for live. Whether it plays from there, and since when.
        self._at_ns: int | None = None
        self._plays, self._since = False, 0.0
        self._rate = 1.0

    # Between the run and the page

    def show(self, instant: Instant) -> None:
        """Store an instant of the run, and show it unless the page looks back."""
        with self._lock:
            if self._times and instant.time_ns < self._times[-1]:
                self.forget()
            self._pending.update(instant.measurements)
            now = time.monotonic()
            if now >= self._due:
                self._due = now + APART_S
                self._keep(instant._replace(poses=np.array(instant.poses), measurements=self._pending))
                self._pending = {}
            if self._at_ns is None:
                self._show(instant)
            else:
                self._newest = instant._replace(poses=np.array(instant.poses), measurements=dict(self._pending))
                self._go_on()

    def idle(self) -> None:
        """Continue looking back while no new instants arrive."""
        with self._lock:
            self._go_on()
        self._idle()

    def forget(self) -> None:
        """Drop all instants and show the run live."""
        with self._lock:
            with self._memory:
                self._kept.clear()
                self._times, self._bytes = [], 0
            self._pending, self._newest, self._at_ns = {}, None, None

    def kept(self, most: int) -> list[Instant]:
        """Return up to a number of stored instants, evenly spaced by index."""
        with self._memory:
            rows = sorted({round(row) for row in np.linspace(0, len(self._kept) - 1, most)}) if self._kept else []
            kept = list(self._kept)
        return [kept[row][0] for row in rows]

    def _keep(self, instant: Instant) -> None:
        size = instant.poses.nbytes + sum(
            getattr(values, "nbytes", 0) + poses.nbytes for values, poses in instant.measurements.values()
        )
        if self._times and instant.time_ns == self._times[-1]:
            return
        with self._memory:
            self._kept.append((instant, size))
            self._times.append(instant.time_ns)
            self._bytes += size
            while self._bytes > self._size and len(self._kept) > 1:
                self._bytes -= self._kept.popleft()[1]
            del self._times[: len(self._times) - len(self._kept)]

    def _look_at(self, instant: Instant, at_ns: int | None) -> None:
        """Show an instant as the state at a time; None for live."""
        self._at_ns = at_ns
        self._show(instant)

    def _sought(self, time_ns: int) -> Instant:
        """Return the state at a time, and the instants that led to it."""
        row = self._row_at(time_ns)
        passed = [self._kept[number][0] for number in range(max(row - MAX_PASSED, 0), row + 1)]
        return self._instant_at(time_ns)._replace(passed=passed)

    def _row_at(self, time_ns: int) -> int:
        return max(bisect_right(self._times, time_ns) - 1, 0)

    def _instant_at(self, time_ns: int) -> Instant:
        """Return the state at a time, with the measurements up to then."""
        row = self._row_at(time_ns)
        measured: Latest = {}
        for number in range(row, -1, -1):
            instant = self._kept[number][0]
            if self._times[number] < time_ns - LOOK_BACK_NS:
                break
            measured = {**instant.measurements, **measured}
        return self._kept[row][0]._replace(measurements=measured)

    def _go_on(self) -> None:
        now = time.monotonic()
        if self._at_ns is None or not self._plays:
            return
        next_ns = self._at_ns + round(1e9 * self._rate * (now - self._since))
        self._since = now
        if not self._times or next_ns >= self._times[-1]:
            self.to_live()
        else:
            at_ns = max(next_ns, self._times[0])
            self._look_at(self._instant_at(at_ns), at_ns)

    # Transport interface

    loops: bool | None = None

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last stored time, ns; None if there are fewer than two."""
        with self._memory:
            return (self._times[0], self._times[-1]) if len(self._times) > 1 else None

    @property
    def live(self) -> bool | None:
        """Whether the page shows the run live."""
        return self._at_ns is None

    @property
    def playing(self) -> bool:
        """Whether the shown time advances."""
        return self._run.playing if self._at_ns is None else self._plays

    @property
    def speed(self) -> float:
        """Measured simulated seconds per wall second; while looking back, the requested value."""
        return self._run.speed if self._at_ns is None else self._rate

    @property
    def speed_set(self) -> float:
        """Requested simulated seconds per wall second."""
        return self._run.speed_set if self._at_ns is None else self._rate

    @property
    def why(self) -> str:
        """The reason if the run is slower than requested."""
        return self._run.why

    def marks(self) -> Sequence[Mark]:
        """Return the marks of the run."""
        return self._run.marks()

    def play(self) -> None:
        """Resume what is shown."""
        with self._lock:
            if self._at_ns is None:
                self._run.play()
            self._plays, self._since = True, time.monotonic()

    def pause(self) -> None:
        """Pause what is shown. While the page looks back, the run continues."""
        if self._at_ns is None:
            self._run.pause()
        self._plays = False

    def step(self) -> None:
        """Pause, and advance by one step."""
        at = self._at_ns
        if at is None:
            self._run.step()
        else:
            self._plays = False
            self.seek(at + STEP_NS)

    def reset(self) -> None:
        """Reset the run."""
        self.to_live()
        self._run.reset()

    def set_speed(self, speed: float) -> None:
        """Change the speed of what is shown."""
        if self._at_ns is None:
            self._run.set_speed(speed)
        else:
            self._rate = speed or 1.0

    def seek(self, time_ns: int) -> None:
        """Look back at a time. The newest time or a later one means live."""
        with self._lock:
            if not self._times:
                return
            if time_ns >= self._times[-1]:
                self.to_live()
                return
            if self._at_ns is None:
                self._plays = False
            self._since = time.monotonic()
            at_ns = max(time_ns, self._times[0])
            self._look_at(self._sought(at_ns), at_ns)

    def to_live(self) -> None:
        """Show the run live."""
        with self._lock:
            if self._at_ns is None:
                return
            if self._times:
                self._look_at(self._sought(self._times[-1]), None)
            self._at_ns = None
            if self._newest is not None:
                self._show(self._newest)
                self._newest = None
