"""Bags of other people: written by rosbags, of each storage and of several years."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

TYPES = get_typestore(Stores.ROS2_JAZZY)
# Year 2023, when nothing of a simulation or of a test happens.
T0 = 1_700_000_000 * 10**9


class Row(NamedTuple):
    """A message to write. data: a message of TYPES, or its bytes."""

    topic: str
    time_ns: int
    data: Any


def qos(*, reliable: bool = True, latched: bool = False, depth: int = 10) -> Qos:
    return Qos(
        QosHistory.KEEP_LAST,
        depth,
        QosReliability.RELIABLE if reliable else QosReliability.BEST_EFFORT,
        QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        QosTime(0, 0),
        QosTime(0, 0),
        QosLiveliness.AUTOMATIC,
        QosTime(0, 0),
        False,
    )


LATCHED = qos(latched=True, depth=1)


def write_bag(
    path: Path,
    topics: dict[str, tuple[str, list[Qos]]],
    rows: Iterable[Row],
    *,
    version: int = 9,
    storage: StoragePlugin = StoragePlugin.MCAP,
) -> Path:
    """topics: type and offered profiles of each name."""
    with Writer(path, version=version, storage_plugin=storage) as writer:
        connections = {
            name: writer.add_connection(name, kind, typestore=TYPES, offered_qos_profiles=profiles)
            for name, (kind, profiles) in topics.items()
        }
        for row in rows:
            data = row.data if isinstance(row.data, bytes) else serialised(row.data)
            writer.write(connections[row.topic], row.time_ns, data)
    return path


def serialised(message: Any) -> bytes:
    return bytes(TYPES.serialize_cdr(message, message.__msgtype__))


def make(kind: str, *values: Any) -> Any:
    return TYPES.types[kind](*values)


def header(stamp_ns: int, frame: str) -> Any:
    return make("std_msgs/msg/Header", time(stamp_ns), frame)


def time(stamp_ns: int) -> Any:
    return make("builtin_interfaces/msg/Time", stamp_ns // 10**9, stamp_ns % 10**9)


def pose_stamped(stamp_ns: int, x: float) -> Any:
    pose = make(
        "geometry_msgs/msg/Pose",
        make("geometry_msgs/msg/Point", x, 0.0, 0.0),
        make("geometry_msgs/msg/Quaternion", 0.0, 0.0, 0.0, 1.0),
    )
    return make("geometry_msgs/msg/PoseStamped", header(stamp_ns, "map"), pose)


def tf_message(*transforms: tuple[int, str, str, float]) -> Any:
    """Of (stamp, parent, child, x)."""
    return make(
        "tf2_msgs/msg/TFMessage",
        [
            make(
                "geometry_msgs/msg/TransformStamped",
                header(stamp_ns, parent),
                child,
                make(
                    "geometry_msgs/msg/Transform",
                    make("geometry_msgs/msg/Vector3", x, 0.0, 0.0),
                    make("geometry_msgs/msg/Quaternion", 0.0, 0.0, 0.0, 1.0),
                ),
            )
            for stamp_ns, parent, child, x in transforms
        ],
    )


def text(value: str) -> Any:
    return make("std_msgs/msg/String", value)
