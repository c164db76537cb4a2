"""A thread that others ask things of: it does them between two turns of its own work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future


class Refused(Exception):
    """A request that does not fit the state of what it is asked of; the message says why."""


class Worker:
    """Does `work` in a thread of its own, and in between what others ask for.

    work: returns soon after `stopping` is set, and calls `serve` often; name: what it does, for messages. failure: the
    first thing that went wrong, raised by `join`. requests: those that wait. Before it is started, who asks does it.
    """

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self.started = False
        self.stopping = False
        self.failure: BaseException | None = None
        self.requests: deque[tuple[Future[None], Callable[[], None]]] = deque()
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

    def ask(self, action: Callable[[], None]) -> None:
        """Has the thread do something, and waits until it is done. Raises what `action` does; Refused after the end."""
        if threading.current_thread() is self._thread:
            raise Refused(f"a sink cannot ask this of the {self._name} that waits for it; ask from another thread")
        done: Future[None] = Future()
        with self._changed:
            if self.stopping:
                raise self._over()
            if not self.started:
                action()
                return
            self.requests.append((done, action))
            self._changed.notify()
        done.result()

    def end(self) -> None:
        """Has it stop, without waiting for that."""
        with self._changed:
            self.stopping = True
            self._changed.notify()

    def join(self) -> None:
        """Waits for it. Raises, once, what made it fail."""
        if self.started:
            self._thread.join()
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure

    # Of its own thread

    def serve(self, wait: float = 0.0) -> bool:
        """Carries out a request, and waits for one up to so many seconds. Returns whether there was one."""
        with self._changed:
            if wait > 0.0 and not self.requests and not self.stopping:
                self._changed.wait(min(wait, threading.TIMEOUT_MAX))
            request = self.requests.popleft() if self.requests else None
        if request is None:
            return False
        done, action = request
        try:
            action()
        except BaseException as failure:  # told to whoever asked
            done.set_exception(failure)
        else:
            done.set_result(None)
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
                    done.set_exception(self._over())
                self.requests.clear()
            self._ended()

    def _over(self) -> Refused:
        return Refused(f"the {self._name} has ended")
