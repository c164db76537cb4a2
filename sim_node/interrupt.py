"""Wait in the main thread for a signal or the end of the run, whichever comes first."""

from __future__ import annotations

import os
import signal
import time
from types import FrameType, TracebackType

# SIGHUP is sent when the terminal is closed.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A terminal, `timeout` and `ros2 launch` each send one Ctrl-C twice; only a later one is a second request.
PATIENCE_S = 1.0
_WAKE = 0


class Interrupt:
    """While entered, SIGINT, SIGTERM and SIGHUP end `wait` instead of the process. Main thread only.

    SIGHUP is ignored under nohup. A signal more than PATIENCE_S after the first one, or after `wait` has ended, raises
    KeyboardInterrupt as usual. Signals arrive through a pipe, so that no work happens inside a handler.
    """

    def __enter__(self) -> Interrupt:
        self._asked = float("inf")
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._handlers = {number: signal.signal(number, self._handle) for number in _handled_signals()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)

    @property
    def asked(self) -> bool:
        """Whether the end was requested: work that has not begun can be skipped."""
        return self._asked < float("inf")

    def wait(self) -> None:
        """Return after a signal or `wake`."""
        # The pipe reports every signal with a Python handler, including a library's SIGCHLD.
        while os.read(self._read, 1)[0] not in (_WAKE, *SIGNALS):
            pass
        self._asked = min(self._asked, time.monotonic())

    def wake(self) -> None:
        """End `wait`, from any thread."""
        os.write(self._write, bytes([_WAKE]))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now > self._asked + PATIENCE_S:
            raise KeyboardInterrupt
        self._asked = min(self._asked, now)


def _handled_signals() -> tuple[signal.Signals, ...]:
    """Return the handled signals: all except a SIGHUP that nohup ignores."""
    return tuple(n for n in SIGNALS if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN)


class ExitInterrupt(Interrupt):
    """An Interrupt at whose end the process ends: its signals are ignored from then on.

    `ros2 launch` repeats a Ctrl-C as soon as it can. The node may be shutting down by then, when Python would print a
    traceback or die of the signal.
    """

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handlers = dict.fromkeys(SIGNALS, signal.SIG_IGN)
        super().__exit__(kind, error, trace)
