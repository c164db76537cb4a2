"""Wheel or visual odometry: how far a frame came since the start, added up from rates that are off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sim_node.columns import Array
from sim_node.geometry import poses, quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.sensors.context import SensorContext
from sim_node.sensors.drift import DriftCovariance
from sim_node.sensors.message import Channels, Message, channels
from sim_node.sensors.noise import Noise, Quantities, covariance
from sim_node.sensors.parameters import group, parameter
from sim_node.sensors.registry import Measure, Report, SensorType, sensor
from sim_node.sensors.truth import FrameState


@sensor("odometry")
@dataclass(frozen=True)
class Odometry(SensorType):
    """Reads its frame's mean twist since the reading before, and the pose that adds up to from where it began.

    The pose drifts: noise is of the twist. It is in a frame of its own, which is where the sensor was at the start;
    without noise it is exact at any rate. Beside it stand the variances of its position and of its rotation about the
    axes of that frame, by the formula in drift.py. The noise is a choice that drifts by about a percent of the way; no
    data sheet's.
    """

    rate: float = parameter(50.0, "Hz", "readings per second", above=0.0)
    latency: float = parameter(0.0, "s", "from a reading until it is out", low=0.0, high=10.0)
    linear: Noise = group(Noise(density=0.01, scale_error=0.01), "m/s", "linear velocity")
    angular: Noise = group(Noise(density=1e-3, bias_instability=5e-4), "rad/s", "angular velocity")

    channels: ClassVar = (
        *("x", "y", "z", "qx", "qy", "qz", "qw", "vx", "vy", "vz", "rate_x", "rate_y", "rate_z"),
        *("variance_x", "variance_y", "variance_z", "variance_roll", "variance_pitch", "variance_yaw"),
    )

    def quantities(self) -> Quantities:
        """The twist, and the time that it lasted, which is not off."""
        return (self.linear, 3), (self.angular, 3), (Noise(), 1)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """nav_msgs/Odometry in FRAME/odom; the variances of the pose are the diagonal of its covariance."""
        fields = {
            "header.frame_id": f"{frame}/odom",
            "child_frame_id": frame,
            "pose.pose": channels(0, 7),
            "pose.covariance": Channels(slice(13, 19), within=np.zeros(36), at=slice(0, 36, 7)),
            "twist.twist": channels(7, 13),
            "twist.covariance": covariance(self.rate, *[self.linear] * 3, *[self.angular] * 3),
        }
        return (Message("odom", "nav_msgs/msg/Odometry", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[Odometry], context: SensorContext) -> Measure:
        """The mean twists along the frames' axes, and for how long (s)."""
        return _Twists(len(sensors))

    @classmethod
    def report(cls, sensors: Sequence[Odometry], context: SensorContext) -> Report:
        """The poses, twists and variances."""
        return _DeadReckoning(sensors)


class _Twists:
    """[linear, angular, seconds] (S, 7): what leads from the poses of the reading before to those of now."""

    def __init__(self, sensors: int) -> None:
        self._before = np.zeros((sensors, 7))
        self.reset()

    def reset(self) -> None:
        self._time_ns = -1

    def state(self) -> dict[str, Array]:
        return {"before_ns": np.full(len(self._before), self._time_ns), "before": self._before}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._time_ns = int(state["before_ns"][0])
        self._before[:] = state["before"]

    def __call__(self, state: FrameState) -> FloatArray:
        measured = np.empty((len(state.pose), 7))
        if self._time_ns < 0:
            measured[:, :3], measured[:, 3:6] = state.to_frame(state.twist[:, :3]), state.to_frame(state.twist[:, 3:])
            measured[:, 6] = 0.0
        else:
            seconds = (state.time_ns - self._time_ns) * 1e-9
            measured[:, :6] = poses.log(poses.relative(self._before, state.pose)) / seconds
            measured[:, 6] = seconds
        self._time_ns = state.time_ns
        self._before[:] = state.pose
        return measured


class _DeadReckoning:
    """The channels of Odometry (S, 19), from twists and how long each lasted (S, 7)."""

    def __init__(self, sensors: Sequence[Odometry]) -> None:
        self._drift = DriftCovariance([[each.linear] * 3 + [each.angular] * 3 for each in sensors], sensors[0].rate)
        self._pose = np.empty((len(sensors), 7))
        self.reset()

    def reset(self) -> None:
        self._pose[:] = poses.IDENTITY
        self._drift.reset()

    def state(self) -> dict[str, Array]:
        return {"pose": self._pose, "drift": self._drift.parts}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._pose[:] = state["pose"]
        self._drift.parts[:] = state["drift"]

    def __call__(self, measured: FloatArray) -> FloatArray:
        twist, seconds = measured[:, :6], measured[:, 6:]
        way = twist * seconds
        self._drift.add(poses.compose(self._pose, poses.exp(0.5 * way)), twist, seconds)
        self._pose[:] = poses.compose(self._pose, poses.exp(way))
        self._pose[:, 3:] = quaternions.normalise(self._pose[:, 3:])
        published = np.empty((len(measured), 19))
        published[:, :7], published[:, 7:13] = self._pose, twist
        published[:, 13:] = np.diagonal(self._drift.at(self._pose[:, :3]), axis1=1, axis2=2)
        return published
