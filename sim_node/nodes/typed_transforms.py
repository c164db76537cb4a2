"""Transforms as message objects, which any graph takes: slower than ready bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

from sim_node.geometry.arrays import FloatArray
from sim_node.nodes.qos import profile
from sim_node.wire.tf_sink import TF, PoseOutlet, SendPoses
from sim_node.wire.topic import Topic


def typed(node: Node) -> PoseOutlet:
    """Sends message objects, through tf2_ros' broadcaster where /tf is sent and it is installed."""

    def advertise(topic: Topic, parents: Sequence[str], children: Sequence[str]) -> SendPoses:
        transforms = [TransformStamped(child_frame_id=child) for child in children]
        for transform, parent in zip(transforms, parents, strict=True):
            transform.header.frame_id = parent
        publish = _publish(node, topic)

        def send(stamp_ns: int, poses: FloatArray) -> None:
            seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
            for message, (x, y, z, qx, qy, qz, qw) in zip(transforms, poses.tolist(), strict=True):
                message.header.stamp.sec, message.header.stamp.nanosec = seconds, nanoseconds
                translation, rotation = message.transform.translation, message.transform.rotation
                translation.x, translation.y, translation.z = x, y, z
                rotation.x, rotation.y, rotation.z, rotation.w = qx, qy, qz, qw
            publish(transforms)

        return send

    return advertise


def _publish(node: Node, topic: Topic) -> Callable[[list[TransformStamped]], None]:
    if topic == TF:
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
