"""QoS profiles of rclpy, from and to those of sim_node.wire.qos."""

from __future__ import annotations

from functools import cache

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy

from sim_node.wire import qos
from sim_node.wire.qos import INFINITE_NS, Qos


@cache
def profile(wanted: Qos) -> QoSProfile:
    """What rclpy takes. Raises KeyError for a policy that it does not know."""
    return QoSProfile(
        depth=wanted.depth,
        history=HistoryPolicy[wanted.history.upper()],
        reliability=ReliabilityPolicy[wanted.reliability.upper()],
        durability=DurabilityPolicy[wanted.durability.upper()],
        deadline=_duration(wanted.deadline_ns),
        lifespan=_duration(wanted.lifespan_ns),
        liveliness=LivelinessPolicy[wanted.liveliness.upper()],
        liveliness_lease_duration=_duration(wanted.liveliness_lease_ns),
        avoid_ros_namespace_conventions=wanted.avoid_ros_namespace_conventions,
    )


def qos_of(found: QoSProfile) -> Qos:
    """What an endpoint of the graph offers, in the words of bags."""
    return Qos(
        depth=found.depth,
        history=found.history.name.lower(),
        reliability=found.reliability.name.lower(),
        durability=found.durability.name.lower(),
        deadline_ns=_nanoseconds(found.deadline),
        lifespan_ns=_nanoseconds(found.lifespan),
        liveliness=found.liveliness.name.lower(),
        liveliness_lease_ns=_nanoseconds(found.liveliness_lease_duration),
        avoid_ros_namespace_conventions=found.avoid_ros_namespace_conventions,
    )


def _duration(nanoseconds: int) -> Duration:
    # rclpy's own default, which middlewares take for infinite too.
    return Duration() if nanoseconds == INFINITE_NS else Duration(nanoseconds=nanoseconds)


def _nanoseconds(duration: Duration) -> int:
    return int(duration.nanoseconds) or INFINITE_NS


TF = profile(qos.TF)
# A late listener to tf2's own profile keeps as many latched messages as there are broadcasters, up to 100.
TF_STATIC_LISTENER = profile(Qos(depth=100, durability="transient_local"))
DIAGNOSTICS = profile(qos.DIAGNOSTICS)
