"""Odometry, integrated from disturbed twists, and ground truth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from sim_node.simulation.columns import Array
from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import Noise, Quantities, covariance
from sim_node.simulation.sensors.parameters import group, parameter
from sim_node.simulation.sensors.registry import Channels, Measure, Message, Report, SensorType, channels, sensor
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared

# Channels of a pose and a twist.
_UNITS = (*["m"] * 3, *[""] * 4, *["m/s"] * 3, *["rad/s"] * 3)


@sensor("odometry")
@declared
class Odometry(SensorType):
    """Measures its frame's mean twist since the measurement before, and the pose that results from integrating it.

    The pose drifts, since the noise is that of the twist. It is relative to a frame of its own, where the sensor was at
    the start; without noise it is exact at any rate. Its variances, of position and of rotation about the axes of that
    frame, are propagated with it: see odometry_kernels.py. The default noise is an assumption, a drift of about 1 % of
    the path.
    """

    rate: float = parameter(50.0, "Hz", "measurements per second", above=0.0)
    linear: Noise = group(Noise(density=0.01, scale_error=0.01), "m/s", "linear velocity", axes=3)
    angular: Noise = group(Noise(density=1e-3, bias_instability=5e-4), "rad/s", "angular velocity", axes=3)

    channels: ClassVar = (
        *("x", "y", "z", "qx", "qy", "qz", "qw", "vx", "vy", "vz", "rate_x", "rate_y", "rate_z"),
        *("variance_x", "variance_y", "variance_z", "variance_roll", "variance_pitch", "variance_yaw"),
    )
    units: ClassVar = (*_UNITS, *["m²"] * 3, *["rad²"] * 3)

    def quantities(self) -> Quantities:
        """Return the noise of the twist, and none for the time between two measurements."""
        return (*SensorType.quantities(self), (Noise(), 1))

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a nav_msgs/Odometry in FRAME/odom; the variances of the pose are the diagonal of its covariance."""
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
        """Return the function that measures mean twists along the frames' axes, and their durations (S, 7)."""
        return _Twists(len(sensors))

    @classmethod
    def report(cls, sensors: Sequence[Odometry], context: SensorContext) -> Report:
        """Return the function that computes poses, twists and variances (S, 19)."""
        return _DeadReckoning(sensors)


class _Twists:
    """[linear, angular, seconds] (S, 7): the mean twists from the poses of the last measurement to the present ones."""

    def __init__(self, sensors: int) -> None:
        # Imported here so that describing sensors does not require numba.
        from sim_node.simulation.sensors.odometry_kernels import mean_twists

        self._mean_twists = mean_twists
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
        before_ns, self._time_ns = self._time_ns, state.time_ns
        if before_ns >= 0:
            measured: FloatArray = self._mean_twists(self._before, state.pose, (state.time_ns - before_ns) * 1e-9)
            return measured
        self._before[:] = state.pose
        return np.concatenate([state.pairs_to_frame(state.twist), np.zeros((len(state.pose), 1))], axis=1)


class _DeadReckoning:
    """The channels of Odometry (S, 19), from twists and their durations (S, 7)."""

    def __init__(self, sensors: Sequence[Odometry]) -> None:
        from sim_node.simulation.sensors.odometry_kernels import PARTS, START, SUMS, VARYING, dead_reckon

        self._dead_reckon = dead_reckon
        rate = sensors[0].rate
        self._noises = np.array(
            [[_variances(noise, rate) for noise in (each.linear,) * 3 + (each.angular,) * 3] for each in sensors]
        )
        self._pose, self._parts = np.empty((len(sensors), 7)), np.zeros((len(sensors), PARTS))
        self._start = np.zeros_like(self._parts)
        biases = self._noises[:, :, START:].swapaxes(1, 2)
        self._start[:, VARYING:SUMS] = biases.reshape(len(sensors), -1)
        self.reset()

    def reset(self) -> None:
        self._pose[:], self._parts[:] = poses.IDENTITY, self._start

    def state(self) -> dict[str, Array]:
        return {"pose": self._pose, "drift": self._parts}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._pose[:], self._parts[:] = state["pose"], state["drift"]

    def __call__(self, measured: FloatArray) -> FloatArray:
        published: FloatArray = self._dead_reckon(measured, self._noises, self._pose, self._parts)
        return published


def _variances(noise: Noise, rate: float) -> list[float]:
    """Return a row of the table of odometry_kernels.py, for measurements at `rate` (Hz)."""
    keep = math.exp(-1.0 / (rate * noise.correlation_time))
    instability = noise.bias_instability**2
    return [
        noise.density**2 * rate + noise.deviation**2,
        noise.turn_on_bias**2,
        noise.scale_error**2,
        noise.misalignment**2,
        *(1.0, keep),
        *(noise.random_walk**2 / rate, instability * (1.0 - keep**2)),
        *(0.0, instability),
    ]


@sensor("ground_truth")
@declared
class GroundTruth(SensorType):
    """Measures its frame's pose in the fixed frame, and its twist along the frame's own axes, without noise."""

    rate: float = parameter(100.0, "Hz", "measurements per second", above=0.0)

    channels: ClassVar = ("x", "y", "z", "qx", "qy", "qz", "qw", "vx", "vy", "vz", "rate_x", "rate_y", "rate_z")
    units: ClassVar = _UNITS

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a nav_msgs/Odometry in the fixed frame, with covariances of zero."""
        fields = {
            "header.frame_id": fixed_frame,
            "child_frame_id": frame,
            "pose.pose": channels(0, 7),
            "twist.twist": channels(7, 13),
        }
        return (Message("odom", "nav_msgs/msg/Odometry", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[GroundTruth], context: SensorContext) -> Measure:
        """Return the function that measures [pose, twist along the frame's axes] (S, 13), m, m/s and rad/s."""
        from sim_node.simulation.sensors.kernels import poses_and_twists

        return lambda state: poses_and_twists(state.pose, state.twist)
