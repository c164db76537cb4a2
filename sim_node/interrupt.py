"""Wait in the main thread for a signal or for the end of the run."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType

# SIGHUP is sent when the terminal is closed, SIGQUIT by Ctrl-\\. A recording is then completed, too.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# A terminal, `timeout` and `ros2 launch` may each send one Ctrl-C twice, so only a later signal is a second request.
PATIENCE_S = 1.0
_WAKE = 0


class StartEnded(KeyboardInterrupt):
    """The first signal came while work was held, before anything had started: a normal end if Ctrl-C is one."""


class Held:
    """Work in the main thread that KeyboardInterrupt must not hit, such as compilation. Other threads are not affected.

    Attributes:
        due: The exception to raise at its end.
    """

    def __init__(self) -> None:
        self.due: type[KeyboardInterrupt] | None = None
        self._depth = 0

    def __bool__(self) -> bool:
        """Whether such work is active."""
        return self._depth > 0

    def begin(self) -> None:
        """Begin such work. May be nested."""
        if threading.current_thread() is threading.main_thread():
            self._depth += 1

    def end(self) -> None:
        """End the innermost work. Raises KeyboardInterrupt if one is due."""
        if threading.current_thread() is threading.main_thread():
            self._depth -= 1
            if self.due is not None and not self._depth:
                due, self.due = self.due, None
                raise due


held = Held()


class Interrupt:
    """While entered, SIGINT, SIGTERM, SIGHUP and SIGQUIT end `wait` instead of the process. Main thread only.

    SIGHUP is ignored under nohup. A signal more than PATIENCE_S after the first one, or after `wait` has ended, raises
    KeyboardInterrupt as usual. Signals arrive through a pipe, so no work happens inside a handler.

    SIGUSR1 requests a snapshot of a recording. It is remembered until there is a listener.

    While work is `held`, KeyboardInterrupt is postponed to its end. Before `wait`, the first signal also does this and
    raises StartEnded: a first start compiles for a while and has not started anything yet.
    """

    def __enter__(self) -> Interrupt:
        self._asked = float("inf")
        self._starting = True
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._handlers = {number: signal.signal(number, self._handle) for number in _handled_signals()}
        self.snapshot_asked = False
        if signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL:
            self._handlers[signal.SIGUSR1] = signal.signal(signal.SIGUSR1, self._note_snapshot)
        return self

    def __exit__(self, *of: object) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)

    @property
    def asked(self) -> bool:
        """Whether the end was requested, so that work that has not begun can be skipped."""
        return self._asked < float("inf")

    def wait(self) -> None:
        """Return after a signal or `wake`."""
        self._starting = False
        # The pipe reports every signal with a Python handler, including a library's SIGCHLD.
        while os.read(self._read, 1)[0] not in (_WAKE, *SIGNALS):
            pass
        self._asked = min(self._asked, time.monotonic())

    def wake(self) -> None:
        """End `wait`, from any thread."""
        os.write(self._write, bytes([_WAKE]))

    def _note_snapshot(self, number: int, frame: FrameType | None) -> None:
        self.snapshot_asked = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        again = now > self._asked + PATIENCE_S
        self._asked = min(self._asked, now)
        if held:
            held.due = KeyboardInterrupt if again else StartEnded if self._starting else held.due
        elif again:
            raise KeyboardInterrupt


def _handled_signals() -> tuple[signal.Signals, ...]:
    """Return the handled signals: all, except a SIGHUP that nohup ignores."""
    return tuple(n for n in SIGNALS if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN)


class ExitInterrupt(Interrupt):
    """An Interrupt after which the process ends. Its signals are ignored from then on.

    `ros2 launch` repeats Ctrl-C as soon as it can. If the node is already shutting down, Python would print a
    traceback or be killed by the signal.
    """

    def __exit__(self, *of: object) -> None:
        self._handlers = dict.fromkeys(SIGNALS, signal.SIG_IGN)
        super().__exit__(*of)
