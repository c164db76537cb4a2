"""Publishers for a loop that must not wait until they are created, which takes milliseconds each."""

from __future__ import annotations

import threading

from rclpy.node import Node

from sim_node.messages.topic import Send, Topic
from sim_node.ros.orders import Orders
from sim_node.ros.publishers import Publishers


class LatePublishers:
    """Creates publishers in the executor's thread. What is sent before is published then, in order.

    Args:
        node: Whose topics they are.
    """

    def __init__(self, node: Node) -> None:
        self._publishers, self._orders = Publishers(node), Orders(node)

    def advertise(self, topic: Topic) -> Send:
        """Order a publisher. May be called from any thread.

        Args:
            topic: The topic, of a type that is installed.

        Returns:
            Sends one message: its time (ns) and its CDR.
        """
        late = _Late()
        self._orders.add(lambda: late.open(self._publishers.advertise(topic)))
        return late.send


class _Late:
    """Holds messages until there is a publisher."""

    def __init__(self) -> None:
        self._held: list[tuple[int, bytes]] = []
        self._publish: Send | None = None
        self._lock = threading.Lock()

    def send(self, time_ns: int, data: bytes) -> None:
        if self._publish is None:
            with self._lock:
                if self._publish is None:
                    self._held.append((time_ns, data))
                    return
        self._publish(time_ns, data)

    def open(self, publish: Send) -> None:
        with self._lock:
            for message in self._held:
                publish(*message)
            self._held.clear()
            self._publish = publish
