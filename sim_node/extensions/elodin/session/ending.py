"""The end of a run at Ctrl-C or SIGTERM: at a tick, and at once where the run waits for something else."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType, TracebackType

from sim_node.interrupt import PATIENCE_S

# Time until an interrupt that was dropped is raised again.
AGAIN_S = 0.05


class Ending:
    """While entered, SIGINT and SIGTERM set `asked`.

    They raise KeyboardInterrupt while `open` is set, because a function that waits, such as time.sleep, would go on
    after the signal. A second request raises it anywhere. In another thread than the main one, signals are left alone.

    Attributes:
        asked: Whether the end was requested.
        open: Whether KeyboardInterrupt may be raised: user's functions run, or the run waits.
    """

    def __init__(self) -> None:
        self.asked = self.open = False
        self._since = 0.0
        self._handlers: dict[signal.Signals, object] = {}
        self._unraisable = sys.unraisablehook

    def __enter__(self) -> Ending:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers[number] = signal.signal(number, self._handle)
            self._unraisable, sys.unraisablehook = sys.unraisablehook, self._lost
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handlers:
            sys.unraisablehook = self._unraisable
        for number, handler in self._handlers.items():
            # None stands for a handler of another language's, which cannot be set from here.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # type: ignore[arg-type]

    @property
    def installed(self) -> bool:
        """Whether signals are handled here."""
        return bool(self._handlers)

    def sleep(self, seconds: float) -> None:
        """Wait for a time, s. Raises KeyboardInterrupt if the end is requested."""
        self.open = True
        if self.asked:
            raise KeyboardInterrupt
        time.sleep(seconds)
        self.open = False

    def _lost(self, lost: sys.UnraisableHookArgs) -> None:
        """Raise a KeyboardInterrupt again that hit where Python drops exceptions, such as in a collector of garbage."""
        if lost.exc_type is KeyboardInterrupt:
            self.open = True
            # Later, outside of what dropped it.
            again = threading.Timer(AGAIN_S, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
            again.daemon = True
            again.start()
        else:
            self._unraisable(lost)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        second = self.asked and now > self._since + PATIENCE_S
        if not self.asked:
            self.asked, self._since = True, now
        if self.open or second:
            self.open = False
            raise KeyboardInterrupt
