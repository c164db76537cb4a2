"""A thread that runs calls from other threads between two turns of its own work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Refused(Exception):
    """A request that is not possible in the current state; the message gives the reason."""


class Worker:
    """Runs `work` in its own thread, and calls from other threads in between.

    Before `start`, calls run in the caller's thread.

    Args:
        name: What the thread does, for messages.
        work: The work of the thread. It must call `serve` often, and return soon after `stopping` is set.

    Attributes:
        failure: The first error, raised by `join`.
        requests: The pending calls.
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

    # For any thread

    def start(self, ended: Callable[[], None]) -> None:
        """Start the thread; `ended` is called from it when it is over, for whatever reason."""
        with self._changed:
            self._ended = ended
            self.started = True
            self._thread.start()

    def call(self, function: Callable[[], T]) -> T:
        """Run a function between two turns, wait for it, and return its result or raise its exception.

        In the thread itself, it runs immediately. If the caller is interrupted while waiting, a call that has not
        started is cancelled. Raises Refused after the end.
        """
        if self.is_current:
            return function()
        with self._changed:
            if not (self.started or self.stopping):
                return function()
        done = self.submit(function)
        try:
            return done.result()
        finally:
            done.cancel()  # no effect once it has started

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Schedule a function between two turns, and return the future of its result, which is set from the thread.

        The future raises Refused if the thread ends first. Raises Refused after the end.
        """
        done: Future[T] = Future()
        with self._changed:
            if self.stopping:
                raise self.over()
            self.requests.append((done, function))
            self._changed.notify()
        return done

    def post(self, function: Callable[[], object]) -> None:
        """Schedule a function between two turns without waiting. It is dropped if the thread ends first."""
        with self._changed:
            if not self.stopping:
                self.requests.append((Future(), function))
                self._changed.notify()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this thread."""
        return threading.current_thread() is self._thread

    def end(self) -> None:
        """Ask the thread to stop, without waiting for it."""
        with self._changed:
            self.stopping = True
            self._changed.notify()

    def join(self) -> None:
        """Wait for the thread, unless called from it. The error that ended it, if any, is raised once."""
        if self.is_current:
            return
        if self.started:
            self._thread.join()
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure

    def over(self) -> Refused:
        """Return the exception for calls after the end."""
        return Refused(f"the {self._name} has ended")

    # For its own thread

    def serve(self, wait: float = 0.0) -> bool:
        """Run the pending calls, waiting up to `wait` seconds for the first. Return whether there was any.

        Calls that arrive meanwhile are left for the next time, so that they cannot starve the thread's own work.
        """
        with self._changed:
            if wait > 0.0 and not self.requests and not self.stopping:
                self._changed.wait(min(wait, threading.TIMEOUT_MAX))
            waiting = len(self.requests)
        for _ in range(waiting):
            if self.stopping:
                break
            self._serve_one()
        return waiting > 0

    def _serve_one(self) -> None:
        with self._changed:
            done, function = self.requests.popleft()
        if done.set_running_or_notify_cancel():
            try:
                result = function()
            except BaseException as failure:  # raised in the caller
                done.set_exception(failure)
            else:
                done.set_result(result)

    def fail(self, failure: BaseException) -> None:
        """Stop the thread with an error, unless an earlier one is recorded."""
        self.failure = self.failure or failure
        self.stopping = True

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as failure:  # raised by join
            self.fail(failure)
        finally:
            with self._changed:
                self.stopping = True
                for done, _ in self.requests:
                    if done.set_running_or_notify_cancel():
                        done.set_exception(self.over())
                self.requests.clear()
            self._ended()
