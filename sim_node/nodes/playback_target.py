"""The graph as a stage for a player: publishers of raw bytes, and whether their subscribers are there and have all."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

from rclpy.duration import Duration
from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock

from sim_node.nodes.publishers import message_class, profile
from sim_node.recording.bag import BagTopic
from sim_node.wire.clock import clock_writer
from sim_node.wire.topic import CLOCK, Qos

ANY = "*"
# As fast as possible, a reliable topic does not run further ahead of its subscribers than this.
MAX_UNACKNOWLEDGED_BYTES = 32_000_000
# A subscriber that does not acknowledge anything for so long has hung, and is not waited for any more.
PATIENCE_S = 5.0
SLICE = Duration(nanoseconds=50_000_000)


class PlaybackTarget:
    """Publishes topics of a bag, given by their places in it, and the clock where that is wanted.

    clock_ns: what /clock said last; None before, and where it is not published.
    """

    def __init__(self, node: Node, *, clock: bool, wait_for: Iterable[str], settle_s: float) -> None:
        self.sends: dict[int, Callable[[bytes], None]] = {}
        # Whether reliable topics are to wait for their subscribers, until it is over.
        self.lossless = False
        self.over: Callable[[], bool] = lambda: False
        self._node = node
        self._publishers: dict[str, Publisher] = {}
        self.clock_ns: int | None = None
        self._clock: Publisher | None = None
        self._clock_bytes = clock_writer()
        if clock:
            self._clock = self._publishers["/clock"] = node.create_publisher(Clock, "/clock", profile(CLOCK))
        self._wait_for = list(wait_for)
        self._settle_s = settle_s
        self._found, self._found_at = -1, time.monotonic()

    def add(self, row: int, topic: BagTopic, qos: Qos) -> str | None:
        """Publishes a topic; if that is not possible, why not."""
        if topic.encoding != "cdr":
            return f"its messages are {topic.encoding}, not cdr"
        package, _, name = topic.type.partition("/msg/")
        if not _has_messages(package):
            return f"{package or 'its type'} is not installed"
        try:
            publisher = self._node.create_publisher(message_class(topic.type), topic.name, profile(qos))
        except (ImportError, AttributeError):
            return f"{package} as installed has no {name}"
        except NameValidationException as error:
            return f"its name is none: {str(error).splitlines()[0]}"
        here = self._hash(publisher)
        if topic.type_hash and here and here != topic.type_hash:
            self._node.destroy_publisher(publisher)
            return f"{topic.type} as installed is another one than was recorded"
        self._publishers[topic.name] = publisher
        reliable = qos.reliability == "reliable"
        self.sends[row] = _Reliable(self, publisher, qos).send if reliable else publisher.publish
        return None

    def clock(self, time_ns: int) -> None:
        """On /clock."""
        if self._clock is not None:
            self._clock.publish(self._clock_bytes(time_ns))
            self.clock_ns = time_ns

    def ready(self) -> bool:
        """Whether whoever is waited for is there, and nobody has been found for a while."""
        counts = {name: publisher.get_subscription_count() for name, publisher in self._publishers.items()}
        now, found = time.monotonic(), sum(counts.values())
        if found != self._found:
            self._found, self._found_at = found, now
        awaited = (found if name == ANY else counts.get(name, 0) for name in self._wait_for)
        return all(awaited) and now - self._found_at >= self._settle_s

    def missing(self) -> list[str]:
        """Who is waited for and not there."""
        found = {name: publisher.get_subscription_count() for name, publisher in self._publishers.items()}
        found[ANY] = sum(found.values())
        return [name for name in self._wait_for if not found.get(name, 0)]

    def delivered(self) -> bool:
        """Whether all that was sent reliably has been acknowledged, after a moment at most."""
        return all(publisher.wait_for_all_acked(SLICE) for publisher in self._publishers.values())

    def complain(self, text: str) -> None:
        """In the log."""
        self._node.get_logger().warning(text)

    def others(self) -> list[str]:
        """Topics that somebody else publishes too."""
        shared = ("/rosout", "/parameter_events", "/diagnostics")
        names = [publisher.topic_name for publisher in self._publishers.values()]
        return [name for name in names if name not in shared and self._node.count_publishers(name) > 1]

    def _hash(self, publisher: Publisher) -> str:
        """The type hash of what is published; empty before ROS 2 Iron."""
        name = self._node.get_name(), self._node.get_namespace()
        for found in self._node.get_publishers_info_by_topic(publisher.topic_name):
            if (found.node_name, found.node_namespace) == name:
                return str(getattr(found, "topic_type_hash", ""))
        return ""


class _Reliable:
    """Sends on a reliable topic: where nothing may be lost, not more than its history holds for its subscribers."""

    def __init__(self, stage: PlaybackTarget, publisher: Publisher, qos: Qos) -> None:
        self._stage = stage
        self._publisher = publisher
        self._publish = publisher.publish
        self._most = qos.depth if qos.latched else qos.depth // 2
        self._max_bytes = MAX_UNACKNOWLEDGED_BYTES
        self._messages = self._bytes = 0

    def send(self, data: bytes) -> None:
        self._publish(data)
        if not self._stage.lossless:
            return
        self._messages += 1
        self._bytes += len(data)
        if self._messages >= self._most or self._bytes >= self._max_bytes:
            self._messages = self._bytes = 0
            deadline = time.monotonic() + PATIENCE_S
            while not self._publisher.wait_for_all_acked(SLICE) and not self._stage.over():
                if time.monotonic() > deadline:
                    name = self._publisher.topic_name
                    self._stage.complain(f"{name}: a subscriber stands still; it is not waited for any more")
                    self._most = self._max_bytes = sys.maxsize
                    return


def _has_messages(package: str) -> bool:
    """Whether there is a package of messages of that name. A bag may name anything: nothing is imported to find out."""
    if not package.isidentifier():
        return False
    found = find_spec(package)
    places = found.submodule_search_locations if found else None
    return any(Path(place, "msg").is_dir() for place in places or ())
