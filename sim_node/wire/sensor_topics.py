"""Which messages a sensor's readings become: topic, type and bytes, by the type of the sensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sim_node import names
from sim_node.geometry.arrays import FloatArray
from sim_node.sensors import groups_of
from sim_node.sensors.noise import Noise
from sim_node.wire import image_messages, range_messages
from sim_node.wire import sensor_messages as wire
from sim_node.wire.sensor_messages import Write
from sim_node.world import World


class SensorTopic(NamedTuple):
    """One message of a sensor: its name below the sensor's, its type, the channels that are its values, its bytes.

    layout: of the sensor's parameters, its frame and the fixed frame.
    """

    name: str
    type: str
    channels: slice
    layout: Callable[[Any, str, str], Write]


def _imu(sensor: Any, frame: str, fixed: str) -> Write:
    rate = sensor.rate
    return wire.imu(frame, _diagonal(rate, *[sensor.gyroscope] * 3), _diagonal(rate, *[sensor.accelerometer] * 3))


def _field(sensor: Any, frame: str, fixed: str) -> Write:
    return wire.magnetic_field(frame, _diagonal(sensor.rate, *[sensor.noise] * 3))


def _pressure(sensor: Any, frame: str, fixed: str) -> Write:
    return wire.fluid_pressure(frame, sensor.noise.variance(sensor.rate))


def _fix(sensor: Any, frame: str, fixed: str) -> Write:
    return wire.nav_sat_fix(frame, _diagonal(sensor.rate, sensor.horizontal, sensor.horizontal, sensor.vertical))


def _fix_velocity(sensor: Any, frame: str, fixed: str) -> Write:
    """Along the fixed frame's axes, which are east, north, up; a receiver does not measure how it turns."""
    covariance = np.zeros((6, 6))
    covariance[:3, :3] = _diagonal(sensor.rate, *[sensor.velocity] * 3)
    covariance[3:, 3:] = np.diag([-1.0, -1.0, -1.0])
    write = wire.twist(fixed, covariance)
    return lambda stamp_ns, velocity: write(stamp_ns, np.concatenate([velocity, np.zeros(3)]))


def _ground_truth(sensor: Any, frame: str, fixed: str) -> Write:
    return wire.odometry(fixed, frame, np.zeros((6, 6)), np.zeros((6, 6)))


def _odometry(sensor: Any, frame: str, fixed: str) -> Write:
    twist = _diagonal(sensor.rate, *[sensor.linear] * 3, *[sensor.angular] * 3)
    return wire.drifting_odometry(f"{frame}/odom", frame, twist)


def _joint_state(sensor: Any, frame: str, fixed: str) -> Write:
    return wire.joint_state(frame, sensor.joints)


def _range(sensor: Any, frame: str, fixed: str) -> Write:
    variance = sensor.noise.variance(sensor.rate)
    return range_messages.infrared_range(frame, sensor.field_of_view, sensor.range_min, sensor.range_max, variance)


def _scan(sensor: Any, frame: str, fixed: str) -> Write:
    angles, limits = (sensor.angle_min, sensor.angle_max), (sensor.range_min, sensor.range_max)
    return range_messages.laser_scan(frame, *angles, sensor.samples, *limits, 1.0 / sensor.rate)


def _points(sensor: Any, frame: str, fixed: str) -> Write:
    return range_messages.point_cloud(frame, sensor.rings, sensor.samples)


def _image(sensor: Any, frame: str, fixed: str) -> Write:
    return image_messages.image(frame + names.OPTICAL, sensor.width, sensor.height, sensor.encoding)


def _camera_info(sensor: Any, frame: str, fixed: str) -> Write:
    return image_messages.camera_info(frame + names.OPTICAL, sensor.width, sensor.height, sensor.matrix())


def _wrench(sensor: Any, frame: str, fixed: str) -> Write:
    return wire.wrench(frame)


def _diagonal(rate: float, *noises: Noise) -> FloatArray:
    return np.diag([noise.variance(rate) for noise in noises])


_ALL = slice(None)

TOPICS: dict[str, tuple[SensorTopic, ...]] = {
    "imu": (SensorTopic("data_raw", "sensor_msgs/msg/Imu", slice(0, 6), _imu),),
    "magnetometer": (SensorTopic("mag", "sensor_msgs/msg/MagneticField", slice(0, 3), _field),),
    "barometer": (SensorTopic("pressure", "sensor_msgs/msg/FluidPressure", slice(0, 1), _pressure),),
    "airspeed": (SensorTopic("differential_pressure", "sensor_msgs/msg/FluidPressure", slice(0, 1), _pressure),),
    "gps": (
        SensorTopic("fix", "sensor_msgs/msg/NavSatFix", slice(0, 3), _fix),
        SensorTopic("fix_velocity", "geometry_msgs/msg/TwistWithCovarianceStamped", slice(3, 6), _fix_velocity),
    ),
    "joint_states": (SensorTopic("joint_states", "sensor_msgs/msg/JointState", slice(None), _joint_state),),
    "odometry": (SensorTopic("odom", "nav_msgs/msg/Odometry", slice(0, 19), _odometry),),
    "ground_truth": (SensorTopic("odom", "nav_msgs/msg/Odometry", slice(0, 13), _ground_truth),),
    "rangefinder": (SensorTopic("range", "sensor_msgs/msg/Range", slice(0, 1), _range),),
    "lidar_2d": (SensorTopic("scan", "sensor_msgs/msg/LaserScan", _ALL, _scan),),
    "lidar_3d": (SensorTopic("points", "sensor_msgs/msg/PointCloud2", _ALL, _points),),
    "camera": (
        SensorTopic("image_raw", "sensor_msgs/msg/Image", _ALL, _image),
        SensorTopic("camera_info", "sensor_msgs/msg/CameraInfo", _ALL, _camera_info),
    ),
    "depth_camera": (
        SensorTopic("image_raw", "sensor_msgs/msg/Image", _ALL, _image),
        SensorTopic("camera_info", "sensor_msgs/msg/CameraInfo", _ALL, _camera_info),
    ),
    "contact": (SensorTopic("wrench", "geometry_msgs/msg/WrenchStamped", slice(0, 6), _wrench),),
    "force_torque": (SensorTopic("wrench", "geometry_msgs/msg/WrenchStamped", slice(0, 6), _wrench),),
}


def topics_of(world: World, prefix: str) -> list[str]:
    """The names of all topics of a world's sensors, in their order."""
    return [
        topic_of(prefix + name, topic.name)
        for group in groups_of(world)
        for name in group.names
        for topic in TOPICS[group.kind]
    ]


def topic_of(sensor: str, name: str) -> str:
    """`drone/imu_main/data_raw` for the sensor `drone/IMU_MAIN`, in the characters that ROS allows in topics."""
    tokens = []
    for token in f"{sensor.lower()}/{name}".split("/"):
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in token)
        tokens.append(f"_{plain}" if plain[0].isdigit() else plain)
    return "/".join(tokens)
