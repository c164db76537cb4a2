"""A publisher in a process of its own, which a test stops, kills or cuts off."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

RATE = 20.0
# A topic and the message on it.
Publication = tuple[str, Any]


@contextmanager
def publisher(publications: Iterable[Publication]) -> Iterator[subprocess.Popen[bytes]]:
    """All messages again and again, in their order, for as long as it lives."""
    from rclpy.serialization import serialize_message

    words = []
    for topic, message in publications:
        words += [topic, type(message).__module__.partition(".")[0], type(message).__name__]
        words.append(serialize_message(message).hex())
    with subprocess.Popen([sys.executable, __file__, *words]) as process:
        try:
            yield process
        finally:
            process.kill()


def main(words: list[str]) -> None:
    """Publish messages: a topic, a package, a type and bytes in hexadecimal digits of each."""
    import rclpy

    rclpy.init()
    node = rclpy.create_node("planner")
    rows = list(zip(*(words[column::4] for column in range(4)), strict=True))
    kinds = {topic: getattr(import_module(f"{package}.msg"), kind) for topic, package, kind, _ in rows}
    publishers = {topic: node.create_publisher(kind, topic, 1) for topic, kind in kinds.items()}
    while True:
        for topic, _, _, data in rows:
            publishers[topic].publish(bytes.fromhex(data))
            time.sleep(1.0 / RATE / len(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
