"""The graph as a playback target: publishers of serialized messages, and the state of their subscribers."""

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

from sim_node.messages.clock import clock_writer
from sim_node.messages.topic import CLOCK, Qos
from sim_node.recording.bag import BagTopic
from sim_node.ros.publishers import message_class, profile
from sim_node.text import MAX_LINE, shown

ANY = "*"
# Maximum unacknowledged bytes of a reliable topic when playing as fast as possible.
MAX_UNACKNOWLEDGED_BYTES = 32_000_000
# A subscriber that acknowledges nothing for this long is assumed to hang, and is no longer waited for.
PATIENCE_S = 5.0
SLICE = Duration(nanoseconds=50_000_000)


class GraphPlaybackTarget:
    """Publishes the topics of a bag by index, and /clock if requested.

    clock_ns: the last time on /clock; None before the first, and if /clock is not published.
    """

    def __init__(self, node: Node, *, clock: bool, wait_for: Iterable[str], settle_s: float) -> None:
        self.sends: dict[int, Callable[[bytes], None]] = {}
        # Whether reliable topics wait for their subscribers, until `over`.
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
        """Publish a topic. Return the reason if it cannot be published."""
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
            return f"its name is invalid: {str(error).splitlines()[0]}"
        here = self._hash(publisher)
        if topic.type_hash and here and here != topic.type_hash:
            self._node.destroy_publisher(publisher)
            return f"{topic.type} as installed differs from the recorded one"
        self._publishers[topic.name] = publisher
        reliable = qos.reliability == "reliable"
        self.sends[row] = _Reliable(self, publisher, qos).send if reliable else publisher.publish
        return None

    def clock(self, time_ns: int) -> None:
        """Publish a time on /clock."""
        if self._clock is not None:
            self._clock.publish(self._clock_bytes(time_ns))
            self.clock_ns = time_ns

    def ready(self) -> bool:
        """Return whether all awaited subscribers have been found, and no new one has appeared for a while."""
        counts = {name: publisher.get_subscription_count() for name, publisher in self._publishers.items()}
        now, found = time.monotonic(), sum(counts.values())
        if found != self._found:
            self._found, self._found_at = found, now
        awaited = (found if name == ANY else counts.get(name, 0) for name in self._wait_for)
        return all(awaited) and now - self._found_at >= self._settle_s

    def missing(self) -> list[str]:
        """Return the topics whose subscribers have not been found."""
        found = {name: publisher.get_subscription_count() for name, publisher in self._publishers.items()}
        found[ANY] = sum(found.values())
        return [name for name in self._wait_for if not found.get(name, 0)]

    def delivered(self) -> bool:
        """Return whether all reliable messages have been acknowledged, after waiting a moment."""
        return all(publisher.wait_for_all_acked(SLICE) for publisher in self._publishers.values())

    def warn(self, text: str) -> None:
        """Log a warning."""
        self._node.get_logger().warning(shown(text, MAX_LINE))

    def others(self) -> list[str]:
        """Return the topics that another node also publishes."""
        shared = ("/rosout", "/parameter_events", "/diagnostics")
        names = [publisher.topic_name for publisher in self._publishers.values()]
        return [name for name in names if name not in shared and self._node.count_publishers(name) > 1]

    def _hash(self, publisher: Publisher) -> str:
        """Return the type hash of a publisher; empty before ROS 2 Iron."""
        name = self._node.get_name(), self._node.get_namespace()
        for found in self._node.get_publishers_info_by_topic(publisher.topic_name):
            if (found.node_name, found.node_namespace) == name:
                return str(getattr(found, "topic_type_hash", ""))
        return ""


class _Reliable:
    """Sends on a reliable topic. In lossless mode, at most the subscribers' history depth is unacknowledged."""

    def __init__(self, target: GraphPlaybackTarget, publisher: Publisher, qos: Qos) -> None:
        self._target = target
        self._publisher = publisher
        self._publish = publisher.publish
        self._max_messages = qos.depth if qos.latched else qos.depth // 2
        self._max_bytes = MAX_UNACKNOWLEDGED_BYTES
        self._messages = self._bytes = 0

    def send(self, data: bytes) -> None:
        self._publish(data)
        if not self._target.lossless:
            return
        self._messages += 1
        self._bytes += len(data)
        if self._messages >= self._max_messages or self._bytes >= self._max_bytes:
            self._messages = self._bytes = 0
            deadline = time.monotonic() + PATIENCE_S
            while not self._publisher.wait_for_all_acked(SLICE) and not self._target.over():
                if time.monotonic() > deadline:
                    name = self._publisher.topic_name
                    self._target.warn(f"{name}: a subscriber hangs; not waiting for it any more")
                    self._max_messages = self._max_bytes = sys.maxsize
                    return


def _has_messages(package: str) -> bool:
    """Return whether a message package exists, without importing it, because a bag may contain any name."""
    if not package.isidentifier():
        return False
    found = find_spec(package)
    places = found.submodule_search_locations if found else None
    return any(Path(place, "msg").is_dir() for place in places or ())
