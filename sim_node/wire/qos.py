"""Quality of service as data: what a topic is sent with, without ROS."""

from __future__ import annotations

from dataclasses import dataclass

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
