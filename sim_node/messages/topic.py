"""Topics: name, type and quality of service."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

# Duration that means no limit (rmw's RMW_DURATION_INFINITE).
INFINITE_NS = 2**63 - 1


@dataclass(frozen=True)
class Qos:
    """A DDS quality of service profile, in rosbag2's terms (keep_last, reliable, transient_local ...).

    Attributes:
        history: keep_last or keep_all.
        depth: Messages kept, for keep_last.
        reliability: reliable or best_effort.
        durability: volatile or transient_local.
        deadline_ns: Expected maximum time between messages.
        lifespan_ns: Time after which a message is dropped.
        liveliness: automatic, manual_by_topic ...
        liveliness_lease_ns: Time after which a silent publisher counts as dead.
        avoid_ros_namespace_conventions: Whether the topic's DDS name is its plain name.
    """

    depth: int = 10
    reliability: str = "reliable"
    durability: str = "volatile"
    history: str = "keep_last"
    deadline_ns: int = INFINITE_NS
    lifespan_ns: int = INFINITE_NS
    liveliness: str = "automatic"
    liveliness_lease_ns: int = INFINITE_NS
    avoid_ros_namespace_conventions: bool = False

    @property
    def latched(self) -> bool:
        """Whether late subscribers receive earlier messages."""
        return self.durability == "transient_local"


# As in tf2_ros and rclcpp
TF = Qos(depth=100)
TF_STATIC = Qos(depth=1, durability="transient_local")
# Reliable, to match both best-effort subscribers (rclcpp's ClockQoS) and reliable ones
CLOCK = Qos(depth=1)
DIAGNOSTICS = Qos(depth=10)
# rmw_qos_profile_sensor_data, with enough depth for what the fastest sensors publish between two ticks
SENSOR_DATA = Qos(depth=50, reliability="best_effort")
LATCHED = Qos(depth=1, durability="transient_local")


# Sends one message, given its time (ns) on the clock of the stamps, and its CDR.
Send = Callable[[int, bytes], None]


@dataclass(frozen=True)
class Topic:
    """A topic to publish on.

    Attributes:
        name: Absolute (/tf), or relative to the outlet's namespace (drone/imu/data_raw).
        type: package/msg/Name.
        qos: Quality of service.
    """

    name: str
    type: str
    qos: Qos


class Outlet(Protocol):
    """Sends messages, for example through the publishers of a node, or into a bag."""

    def advertise(self, topic: Topic) -> Send:
        """Return a function that sends on a topic.

        Args:
            topic: The topic.

        Returns:
            A function that sends one message, given its time (ns) and its CDR.
        """


@runtime_checkable
class ChangingOutlet(Outlet, Protocol):
    """An outlet whose topics may also end while it is open."""

    def withdraw(self, topic: Topic) -> None:
        """End an advertised topic, because its publisher is gone.

        Args:
            topic: The topic, as it was advertised. If it was advertised several times, one publisher ends.
        """

    def refuses(self, topic: Topic) -> str | None:
        """Check a topic before it is advertised.

        Args:
            topic: The topic.

        Returns:
            The reason why it cannot be advertised now, or None.
        """


class Tee:
    """Sends each message through several outlets, in order.

    Args:
        outlets: The outlets.
    """

    def __init__(self, *outlets: Outlet) -> None:
        self._outlets = outlets

    def advertise(self, topic: Topic) -> Send:
        """Return a function that sends on the topic in all of them."""
        sends = [outlet.advertise(topic) for outlet in self._outlets]
        if len(sends) == 1:
            return sends[0]

        def send(time_ns: int, data: bytes) -> None:
            for each in sends:
                each(time_ns, data)

        return send

    def withdraw(self, topic: Topic) -> None:
        """End the topic in all of them.

        Args:
            topic: The topic, as it was advertised.
        """
        for outlet in self._outlets:
            if isinstance(outlet, ChangingOutlet):
                outlet.withdraw(topic)

    def refuses(self, topic: Topic) -> str | None:
        """Check a topic with all of them.

        Args:
            topic: The topic.

        Returns:
            The reason why one of them cannot advertise it, or None.
        """
        reasons = (outlet.refuses(topic) for outlet in self._outlets if isinstance(outlet, ChangingOutlet))
        return next((reason for reason in reasons if reason is not None), None)


def absolute(name: str) -> str:
    """Return the absolute name of a topic, assuming no namespace; ~ is the simulation node's name."""
    name = name.replace("~", "simulation", 1) if name.startswith("~/") else name
    return name if name.startswith("/") else f"/{name}"


class AdvertisedTopics:
    """The topics of a sink on an outlet. When a run changes, remaining topics keep their publishers.

    Args:
        outlet: The outlet of the topics.
    """

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._sends: dict[Topic, Send] = {}

    def __contains__(self, topic: object) -> bool:
        return topic in self._sends

    def renew(self, topics: Iterable[Topic]) -> list[Send]:
        """End the topics that are not in a list, and advertise the new ones.

        Args:
            topics: All topics from now on.

        Returns:
            A send function for each of them, in order.
        """
        wanted = list(topics)
        for gone in self._sends.keys() - set(wanted):
            del self._sends[gone]
            if isinstance(self._outlet, ChangingOutlet):
                self._outlet.withdraw(gone)
        for topic in wanted:
            if topic not in self._sends:
                self._sends[topic] = self._outlet.advertise(topic)
        return [self._sends[topic] for topic in wanted]

    def refused(self, topics: Iterable[Topic]) -> str | None:
        """Return why `renew` cannot advertise one of these topics, or None."""
        if not isinstance(self._outlet, ChangingOutlet):
            return None
        reasons = (self._outlet.refuses(topic) for topic in topics if topic not in self._sends)
        return next((reason for reason in reasons if reason is not None), None)
