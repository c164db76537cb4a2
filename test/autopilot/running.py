"""A bridge in a thread, and what it tells."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from waiting import PATIENCE

from sim_node.mavlink.axes import Quaternion
from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.connection import Connection, Identity
from sim_node.mavlink.links import endpoint_of
from sim_node.mavlink.signing import Signing
from sim_node.mavlink.topics import VehicleTopic
from sim_node.mavlink.transaction import Result, Transaction
from sim_node.mavlink.vehicle import BridgeSettings, Vehicle


class Running:
    """Collects what the bridge tells; waits without polling the clock."""

    def __init__(self, *urls: str, settings: BridgeSettings | None = None, signing: Signing | None = None) -> None:
        identity = Identity()
        self.bridge = Bridge(
            [Connection(endpoint_of(url), identity, signing) for url in urls], self, settings, identity
        )
        self.messages: dict[tuple[int, str], list[tuple[float, bytes]]] = {}
        self.frames: dict[str, Quaternion] = {}
        self.complaints: list[str] = []
        self.news: list[str] = []
        self.failure: BaseException | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join(PATIENCE)
        assert self.failure is None, self.failure
        assert not self._thread.is_alive()

    def stop(self) -> None:
        self.bridge.stop()
        self.join()

    def _run(self) -> None:
        try:
            self.bridge.run()
        except BaseException as failure:
            self.failure = failure

    def vehicle_found(self, vehicle: Vehicle) -> None:
        with self._changed:
            self._changed.notify_all()

    def static_frame(self, system: int, child: str, rotation: Quaternion) -> None:
        with self._changed:
            self.frames[child] = rotation
            self._changed.notify_all()

    def publish(self, system: int, topic: VehicleTopic, data: bytes) -> None:
        with self._changed:
            self.messages.setdefault((system, topic.name), []).append((time.monotonic(), data))
            self._changed.notify_all()

    def warn(self, text: str) -> None:
        with self._changed:
            self.complaints.append(text)
            self._changed.notify_all()

    def report(self, text: str) -> None:
        with self._changed:
            self.news.append(text)
            self._changed.notify_all()

    def count(self, topic: str, system: int = 1) -> int:
        return len(self.messages.get((system, topic), []))

    def wait_for(self, done: Callable[[], Any], what: str = "") -> Any:
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while not (found := done()):
                assert self.failure is None, self.failure
                left = deadline - time.monotonic()
                assert left > 0.0, f"not within {PATIENCE:g} s: {what}"
                self._changed.wait(min(left, 0.1))
        return found

    def vehicle(self, system: int = 1) -> Vehicle:
        found: Vehicle = self.wait_for(lambda: self.bridge.vehicles.get(system), what=f"system {system}")
        return found

    def ask(self, make: Callable[[Vehicle], Transaction], system: int = 1) -> Result:
        """The result of an exchange that is made in the bridge's thread."""
        vehicle, results = self.vehicle(system), []

        def act(now_ns: int) -> None:
            vehicle.begin(make(vehicle), lambda transaction, result: results.append(result), now_ns)

        self.bridge.post(act)
        self.wait_for(lambda: results, "a result")
        result: Result = results[0]
        return result


@contextmanager
def running(*urls: str, **what: Any) -> Iterator[Running]:
    made = Running(*urls, **what)
    made.start()
    try:
        yield made
    finally:
        made.stop()
