"""A robot's bag, written by the rosbags library from formulas that tests know: a vehicle on a circle, turning.

base_link is at (2 cos t, 2 sin t, 0) with yaw t + pi/2 in odom, which is at (1, 2, 3) turned by pi/2 in map; the lidar
is 0.5 m above base_link.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS2_HUMBLE)
RATE = 50
_FOREVER = QosTime(9223372036, 854775807)
LATCHED = Qos(
    QosHistory.KEEP_LAST, 1, QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL, _FOREVER, _FOREVER,
    QosLiveliness.AUTOMATIC, _FOREVER, False,
)  # fmt: skip


def make(name: str, **fields: Any) -> Any:
    return STORE.types[name](**fields)


def time_of(time_ns: int) -> Any:
    return make("builtin_interfaces/msg/Time", sec=time_ns // 10**9, nanosec=time_ns % 10**9)


def header(time_ns: int, frame: str) -> Any:
    return make("std_msgs/msg/Header", stamp=time_of(time_ns), frame_id=frame)


def vector(x: float, y: float, z: float) -> Any:
    return make("geometry_msgs/msg/Vector3", x=x, y=y, z=z)


def quaternion(yaw: float) -> Any:
    return make("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=math.sin(yaw / 2), w=math.cos(yaw / 2))


def transform(time_ns: int, parent: str, child: str, xyz: tuple[float, float, float], yaw: float) -> Any:
    pose = make("geometry_msgs/msg/Transform", translation=vector(*xyz), rotation=quaternion(yaw))
    return make(
        "geometry_msgs/msg/TransformStamped", header=header(time_ns, parent), child_frame_id=child, transform=pose
    )


def tf(*transforms: Any) -> tuple[str, Any]:
    return "tf2_msgs/msg/TFMessage", make("tf2_msgs/msg/TFMessage", transforms=list(transforms))


def imu(time_ns: int, rate: float, noise: float = 0.0) -> tuple[str, Any]:
    message = make(
        "sensor_msgs/msg/Imu",
        header=header(time_ns, "base_link"),
        orientation=quaternion(0.0),
        orientation_covariance=np.zeros(9),
        angular_velocity=vector(0.0, 0.0, rate),
        angular_velocity_covariance=np.full(9, 0.25),
        linear_acceleration=vector(noise, 0.0, 9.80665),
        linear_acceleration_covariance=np.zeros(9),
    )
    return "sensor_msgs/msg/Imu", message


def text(output: str) -> tuple[str, Any]:
    return "std_msgs/msg/String", make("std_msgs/msg/String", data=output)


Entry = tuple[str, int, tuple[str, Any]]


def robot(seconds: int = 4, start_ns: int = 0) -> list[Entry]:
    """Topic, time and message of each, in the order of time."""
    entries: list[Entry] = [
        ("/tf_static", start_ns, tf(transform(0, "map", "odom", (1.0, 2.0, 3.0), math.pi / 2))),
        ("/tf_static", start_ns, tf(transform(0, "base_link", "lidar", (0.0, 0.0, 0.5), 0.0))),
        ("/status", start_ns, text('armed, "ready"\nnow')),
    ]
    for i in range(seconds * RATE + 1):
        time_ns = start_ns + i * 10**9 // RATE
        t = i / RATE
        moved = transform(time_ns, "odom", "base_link", (2 * math.cos(t), 2 * math.sin(t), 0.0), t + math.pi / 2)
        entries += [("/tf", time_ns, tf(moved)), ("/imu/data", time_ns, imu(time_ns, math.sin(t), 0.001 * i))]
    return entries


def write(
    folder: Path, entries: list[Entry], storage: StoragePlugin = StoragePlugin.MCAP, version: Any = 9, **options: Any
) -> Path:
    writer = Writer(folder, version=version, storage_plugin=storage)
    for name, arguments in options.items():
        getattr(writer, name)(*arguments)
    with writer:
        connections = {
            topic: writer.add_connection(
                topic, kind, typestore=STORE, offered_qos_profiles=[LATCHED] if topic == "/tf_static" else []
            )
            for topic, kind in {topic: kind for topic, _, (kind, _) in entries}.items()
        }
        for topic, time_ns, (kind, message) in entries:
            writer.write(connections[topic], time_ns, STORE.serialize_cdr(message, kind))
    return folder
