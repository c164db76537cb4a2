"""The graph as an outlet: QoS profiles, publishers of serialized messages, and transforms as message objects."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy
from rclpy.type_support import check_for_type_support
from tf2_msgs.msg import TFMessage

from sim_node.messages import topic
from sim_node.messages.tf_sink import TF as TF_TOPIC
from sim_node.messages.tf_sink import LayOutPoses, PoseOutlet, SendPoses
from sim_node.messages.topic import INFINITE_NS, Qos, Send, Topic
from sim_node.ros.calls import Orders
from sim_node.spatial.geometry.arrays import FloatArray


@cache
def profile(wanted: Qos) -> QoSProfile:
    """Convert to an rclpy profile. Raises KeyError for an unknown policy."""
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
    """Convert from an rclpy profile."""
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


def offered_on(node: Node, topic: str) -> tuple[Qos, ...]:
    """Return the QoS of each publisher on a topic."""
    return tuple(qos_of(each.qos_profile) for each in node.get_publishers_info_by_topic(topic))


def subscription_qos(offered: Sequence[Qos], min_depth: int) -> Qos:
    """Return the QoS of a subscription that is compatible with several publishers."""
    return Qos(
        depth=max(min_depth, *(qos.depth for qos in offered)),
        reliability="reliable" if all(qos.reliability == "reliable" for qos in offered) else "best_effort",
        durability="transient_local" if all(qos.latched for qos in offered) else "volatile",
    )


def _duration(nanoseconds: int) -> Duration:
    # rclpy's default, which middlewares treat as infinite
    return Duration() if nanoseconds == INFINITE_NS else Duration(nanoseconds=nanoseconds)


def _nanoseconds(duration: Duration) -> int:
    return int(duration.nanoseconds) or INFINITE_NS


TF = profile(topic.TF)
# Like tf2's profile, this keeps the latched messages of up to 100 broadcasters for a late listener.
TF_STATIC_LISTENER = profile(Qos(depth=100, durability="transient_local"))
DIAGNOSTICS = profile(topic.DIAGNOSTICS)


class Publishers:
    """Publishes on a node's topics. They may be advertised and withdrawn while the node spins."""

    def __init__(self, node: Node) -> None:
        self._node, self._orders = node, Orders(node)
        self._created: dict[Topic, list[Publisher]] = {}

    def advertise(self, topic: Topic) -> Send:
        """Create a publisher. Raises ImportError or AttributeError for types that are not installed."""
        kind = message_class(topic.type)
        publisher = self._node.create_publisher(kind, topic.name, profile(topic.qos))
        self._created.setdefault(topic, []).append(publisher)
        publish = publisher.publish
        if topic.type == "sensor_msgs/msg/Range" and not hasattr(kind, "variance"):
            return _without_variance(publish)
        return lambda time_ns, data: publish(data)

    def withdraw(self, topic: Topic) -> None:
        """Destroy a publisher in the executor's thread, which may be about to use it."""
        publishers = self._created[topic]
        publisher = publishers.pop()
        if not publishers:
            del self._created[topic]
        self._orders.add(lambda: self._node.destroy_publisher(publisher))

    def refuses(self, topic: Topic) -> str | None:
        """Return why a topic cannot be published (type not installed, or invalid name), or None."""
        try:
            message_class(topic.type)
            self._node.resolve_topic_name(topic.name)
        except (ImportError, AttributeError):
            return f"{topic.name}: {topic.type} is not installed"
        except NameValidationException as error:
            return f"{topic.name}: is not the name of a topic: {str(error).splitlines()[0]}"
        return None


# rcl's name for a node until the graph knows its real name
_NOT_YET = "_NODE_NAME_UNKNOWN_"


def publishers_of(node: Node | None, topic: str) -> str:
    """Return ` (published by /a, /b)` for all publishers, because rclpy does not report a message's publisher."""
    if node is None:
        return ""
    names = sorted(
        {
            f"{each.node_namespace.rstrip('/')}/{each.node_name}"
            for each in node.get_publishers_info_by_topic(topic)
            if each.node_name != _NOT_YET
        }
    )
    return f" (published by {', '.join(names)})" if names else ""


@cache
def message_class(type: str) -> Any:
    """Return the class of package/Name or package/msg/Name."""
    package, *_, name = type.split("/")
    return getattr(importlib.import_module(f"{package}.msg"), name)


def load_type_support(types: Iterable[Any]) -> None:
    """Import the type support of message and service classes, which would otherwise happen at the first publisher."""
    for type in types:
        check_for_type_support(type)


def _without_variance(publish: Callable[[bytes], None]) -> Send:
    """Send a Range without its last float32 field (variance), which ROS 2 has only since Jazzy."""
    return lambda time_ns, data: publish(data[:-4])


def typed(node: Node) -> PoseOutlet:
    """Return an outlet that sends message objects, through tf2_ros' broadcaster for /tf if it is installed."""

    def advertise(topic: Topic) -> LayOutPoses:
        publish = _publish(node, topic)

        def lay_out(parents: Sequence[str], children: Sequence[str]) -> SendPoses:
            transforms = [TransformStamped(child_frame_id=child) for child in children]
            for transform, parent in zip(transforms, parents, strict=True):
                transform.header.frame_id = parent
            return _sender(publish, transforms)

        return lay_out

    return advertise


def _sender(publish: Callable[[list[TransformStamped]], None], transforms: list[TransformStamped]) -> SendPoses:
    """Return a function that publishes transforms with new stamps and poses."""

    def send(stamp_ns: int, poses: FloatArray) -> None:
        seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
        for message, (x, y, z, qx, qy, qz, qw) in zip(transforms, poses.tolist(), strict=True):
            message.header.stamp.sec, message.header.stamp.nanosec = seconds, nanoseconds
            translation, rotation = message.transform.translation, message.transform.rotation
            translation.x, translation.y, translation.z = x, y, z
            rotation.x, rotation.y, rotation.z, rotation.w = qx, qy, qz, qw
        publish(transforms)

    return send


def _publish(node: Node, topic: Topic) -> Callable[[list[TransformStamped]], None]:
    if topic == TF_TOPIC:
        try:
            from tf2_ros import TransformBroadcaster
        except ImportError:
            pass
        else:
            send: Callable[[list[TransformStamped]], None] = TransformBroadcaster(
                node, profile(topic.qos)
            ).sendTransform
            return send
    publisher = node.create_publisher(TFMessage, topic.name, profile(topic.qos))
    return lambda transforms: publisher.publish(TFMessage(transforms=transforms))


class LatePublishers:
    """Creates publishers in the executor's thread. Messages sent earlier are then published, in order.

    Args:
        node: The node that publishes.
    """

    def __init__(self, node: Node) -> None:
        self._publishers, self._orders = Publishers(node), Orders(node)

    def advertise(self, topic: Topic) -> Send:
        """Queue the creation of a publisher. May be called from any thread.

        Args:
            topic: The topic. Its type must be installed.

        Returns:
            A function that sends one message, given its time (ns) and CDR bytes.
        """
        late = _Late()
        self._orders.add(lambda: late.open(self._publishers.advertise(topic)))
        return late.send


class _Late:
    """Buffers messages until the publisher exists."""

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
