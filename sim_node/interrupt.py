"""Waiting in the main thread until a signal or the end of the run, whichever comes first."""

from __future__ import annotations

import os
import signal
import time
from types import FrameType, TracebackType

# SIGHUP comes when the terminal is closed.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A terminal, `timeout` and `ros2 launch` each send one Ctrl-C twice; only a later one is impatience.
PATIENCE_S = 1.0
_WAKE = 0


class Interrupt:
    """While entered, SIGINT, SIGTERM and SIGHUP end `wait` instead of the process; under nohup, SIGHUP does nothing.

    One that comes more than PATIENCE_S after the first, or after `wait` has ended, raises KeyboardInterrupt as
    usual. Signals come in through a pipe, so that nothing happens inside a handler. Main thread only.
    """

    def __enter__(self) -> Interrupt:
        self._asked = float("inf")
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._handlers = {number: signal.signal(number, self._handle) for number in _heard()}
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
        """Whether the end has come: what has not begun by then need not."""
        return self._asked < float("inf")

    def wait(self) -> None:
        """Returns after a signal or `wake`."""
        # The pipe tells of every signal that has a handler in Python, a library's SIGCHLD too.
        while os.read(self._read, 1)[0] not in (_WAKE, *SIGNALS):
            pass
        self._asked = min(self._asked, time.monotonic())

    def wake(self) -> None:
        """Ends `wait`, from any thread."""
        os.write(self._write, bytes([_WAKE]))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now > self._asked + PATIENCE_S:
            raise KeyboardInterrupt
        self._asked = min(self._asked, now)


def _heard() -> tuple[signal.Signals, ...]:
    """All but the SIGHUP that nohup has ignored."""
    return tuple(n for n in SIGNALS if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN)


class ExitInterrupt(Interrupt):
    """An Interrupt whose end is the end of the process: from there on its signals are ignored.

    `ros2 launch` repeats a Ctrl-C as soon as it can; by then the node may be on its way out, where Python would print
    a traceback or die of the signal.
    """

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handlers = dict.fromkeys(SIGNALS, signal.SIG_IGN)
        super().__exit__(kind, error, trace)
