"""A thread that carries out calls from other threads between two turns of its own work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Refused(Exception):
    """A request that does not fit the state of what it is asked of; the message says why."""


class Worker:
    """Does `work` in a thread of its own, and carries out calls in between.

    work: returns soon after `stopping` is set, and calls `serve` often; name: what it does, for messages. failure: the
    first thing that went wrong, raised by `join`. requests: the calls that wait. Before `start`, the caller's own
    thread carries out its calls.
    """

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self.started = False
        self.stopping = False
        self.failure: BaseException | None = None
        self.requests: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._name = name
        self._work = work
        self._ended: Callable[[], None] = lambda: None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    # Of any thread

    def start(self, ended: Callable[[], None]) -> None:
        """Starts the thread; `ended` is called from it when it is over, for whatever reason."""
        with self._changed:
            self._ended = ended
            self.started = True
            self._thread.start()

    def call(self, function: Callable[[], T]) -> T:
        """Carry out a function between two turns, wait for it, and return its result or raise its exception.

        From the thread itself it is carried out at once. A caller that is interrupted while it waits withdraws a call
        that has not begun. Raises Refused after the end.
        """
        if self.is_current:
            return function()
        done: Future[T] = Future()
        with self._changed:
            if self.stopping:
                raise self.over()
            if not self.started:
                return function()
            self.requests.append((done, function))
            self._changed.notify()
        try:
            return done.result()
        finally:
            done.cancel()  # changes nothing once it has begun

    def post(self, function: Callable[[], object]) -> None:
        """Have a function carried out between two turns, unless the end comes first, without waiting for it."""
        with self._changed:
            if not self.stopping:
                self.requests.append((Future(), function))
                self._changed.notify()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this thread."""
        return threading.current_thread() is self._thread

    def end(self) -> None:
        """Has it stop, without waiting for that."""
        with self._changed:
            self.stopping = True
            self._changed.notify()

    def join(self) -> None:
        """Waits for it, unless it asks itself. Raises, once, what made it fail."""
        if self.is_current:
            return
        if self.started:
            self._thread.join()
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure

    def over(self) -> Refused:
        """What calls after the end raise."""
        return Refused(f"the {self._name} has ended")

    # Of its own thread

    def serve(self, wait: float = 0.0) -> bool:
        """Carry out one call, waiting up to so many seconds for it. Returns whether there was one."""
        with self._changed:
            if wait > 0.0 and not self.requests and not self.stopping:
                self._changed.wait(min(wait, threading.TIMEOUT_MAX))
            request = self.requests.popleft() if self.requests else None
        if request is None:
            return False
        done, function = request
        if done.set_running_or_notify_cancel():
            try:
                result = function()
            except BaseException as failure:  # raised to the caller
                done.set_exception(failure)
            else:
                done.set_result(result)
        return True

    def fail(self, failure: BaseException) -> None:
        """Has it stop with that, unless something failed before."""
        self.failure = self.failure or failure
        self.stopping = True

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as failure:  # told to whoever joins
            self.fail(failure)
        finally:
            with self._changed:
                self.stopping = True
                for done, _ in self.requests:
                    if done.set_running_or_notify_cancel():
                        done.set_exception(self.over())
                self.requests.clear()
            self._ended()
