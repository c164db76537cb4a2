"""A topic: its name, its type and its quality of service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

# Durations of a profile that sets none (rmw's RMW_DURATION_INFINITE).
INFINITE_NS = 2**63 - 1


@dataclass(frozen=True)
class Qos:
    """A DDS quality of service, in the words of rosbag2 (keep_last, reliable, transient_local ...)."""

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
        """Whether late subscribers get what was sent before."""
        return self.durability == "transient_local"


# What tf2_ros and rclcpp send the same topics with.
TF = Qos(depth=100)
TF_STATIC = Qos(depth=1, durability="transient_local")
# Reliable, so that best-effort subscribers (rclcpp's ClockQoS) and reliable ones both match.
CLOCK = Qos(depth=1)
DIAGNOSTICS = Qos(depth=10)
# rmw_qos_profile_sensor_data, deep enough for what the fastest sensors tell between two ticks.
SENSOR_DATA = Qos(depth=50, reliability="best_effort")
LATCHED = Qos(depth=1, durability="transient_local")


# Sends one message: its time (ns) and its CDR.
Send = Callable[[int, bytes], None]


@dataclass(frozen=True)
class Topic:
    """name: absolute (/tf) or below whatever namespace the outlet has (drone/imu/data_raw); type: package/msg/Name."""

    name: str
    type: str
    qos: Qos


class Outlet(Protocol):
    """Where messages go."""

    def advertise(self, topic: Topic) -> Send:
        """What sends on a topic from now on."""


class Tee:
    """Hands each message to several outlets, in their order: what is laid out once goes everywhere."""

    def __init__(self, *outlets: Outlet) -> None:
        self._outlets = outlets

    def advertise(self, topic: Topic) -> Send:
        """What sends on the topic in all of them."""
        sends = [outlet.advertise(topic) for outlet in self._outlets]
        if len(sends) == 1:
            return sends[0]

        def send(time_ns: int, data: bytes) -> None:
            for each in sends:
                each(time_ns, data)

        return send
