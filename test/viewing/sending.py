"""Another node of the graph, in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def sending(*topics: tuple[str, Any, bool]) -> Iterator[None]:
    """Another node, which sends messages again and again: topic, message, and whether it is latched."""
    import rclpy
    from rclpy.context import Context
    from rclpy.qos import DurabilityPolicy, QoSProfile

    qos = {latched: QoSProfile(depth=1, durability=DurabilityPolicy(2 - latched)) for latched in (False, True)}
    context, ended = Context(), threading.Event()
    rclpy.init(context=context)
    node = rclpy.create_node("sender", context=context)
    publishers = [node.create_publisher(type(message), topic, qos[latched]) for topic, message, latched in topics]

    def send() -> None:
        while not ended.wait(0.1):
            for publisher, (_, message, _) in zip(publishers, topics, strict=True):
                publisher.publish(message)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        node.destroy_node()
        context.shutdown()
