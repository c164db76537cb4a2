"""Which messages a sensor's readings become: topic, type and bytes, by the type of the sensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import TwistWithCovarianceStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import FluidPressure, Imu, JointState, MagneticField, NavSatFix

from sim_node.geometry.arrays import FloatArray
from sim_node.sensors import groups_of
from sim_node.sensors.noise import Noise
from sim_node.wire import sensor_messages as wire
from sim_node.wire.sensor_messages import Write
from sim_node.world import World


class Topic(NamedTuple):
    """One message of a sensor: its name below the sensor's, its type, the channels that are its values, its bytes.

    layout: of the sensor's parameters, its frame and the fixed frame.
    """

    name: str
    message: Any
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


def _diagonal(rate: float, *noises: Noise) -> FloatArray:
    return np.diag([noise.variance(rate) for noise in noises])


TOPICS: dict[str, tuple[Topic, ...]] = {
    "imu": (Topic("data_raw", Imu, slice(0, 6), _imu),),
    "magnetometer": (Topic("mag", MagneticField, slice(0, 3), _field),),
    "barometer": (Topic("pressure", FluidPressure, slice(0, 1), _pressure),),
    "airspeed": (Topic("differential_pressure", FluidPressure, slice(0, 1), _pressure),),
    "gps": (
        Topic("fix", NavSatFix, slice(0, 3), _fix),
        Topic("fix_velocity", TwistWithCovarianceStamped, slice(3, 6), _fix_velocity),
    ),
    "joint_states": (Topic("joint_states", JointState, slice(None), _joint_state),),
    "odometry": (Topic("odom", Odometry, slice(0, 19), _odometry),),
    "ground_truth": (Topic("odom", Odometry, slice(0, 13), _ground_truth),),
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
