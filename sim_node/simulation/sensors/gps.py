"""A satellite navigation receiver: latitude, longitude, altitude and velocity, with correlated errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import UNKNOWN_VARIANCE, Noise, covariance
from sim_node.simulation.sensors.parameters import group, parameter
from sim_node.simulation.sensors.registry import Measure, Message, Report, SensorType, channels, sensor
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.frames import Frame, Position
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared

# sensor_msgs/NavSatStatus and NavSatFix.
_STATUS_FIX, _SERVICE_GPS, _COVARIANCE_DIAGONAL_KNOWN = 0, 1, 2


@sensor("gps")
@declared
class Gps(SensorType):
    """Measures the position of its frame's origin (WGS84) and its velocity east, north and up at the world's origin.

    The default noise is that of a NEO-M8 (u-blox, data sheet UBX-15031086: half of all fixes within 2.5 m horizontally,
    velocity to 0.05 m/s); most of it is correlated over about a minute.
    """

    rate: float = parameter(5.0, "Hz", "fixes per second", above=0.0)
    horizontal: Noise = group(
        Noise(deviation=0.3, bias_instability=2.1, correlation_time=60.0), "m", "position east and north", axes=2
    )
    vertical: Noise = group(Noise(deviation=0.5, bias_instability=3.5, correlation_time=60.0), "m", "altitude")
    velocity: Noise = group(Noise(deviation=0.05), "m/s", "velocity", axes=3)

    channels: ClassVar = ("latitude", "longitude", "altitude", "velocity_east", "velocity_north", "velocity_up")
    units: ClassVar = ("°", "°", "m", "m/s", "m/s", "m/s")

    @property
    def needs_origin(self) -> bool:
        """Always."""
        return True

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return the fix, and the velocity along the fixed frame's axes, which are east, north, up.

        A receiver does not measure angular velocity, whose variances are very large.
        """
        fix = {
            "status.status": _STATUS_FIX,
            "status.service": _SERVICE_GPS,
            "latitude": channels(0),
            "longitude": channels(1),
            "altitude": channels(2),
            "position_covariance": covariance(self.rate, self.horizontal, self.horizontal, self.vertical),
            "position_covariance_type": _COVARIANCE_DIAGONAL_KNOWN,
        }
        known = np.diag(covariance(self.rate, *[self.velocity] * 3))
        velocity = {
            "header.frame_id": fixed_frame,
            "twist.twist.linear": channels(3, 6),
            "twist.covariance": np.diag([*known, *[UNKNOWN_VARIANCE] * 3]),
        }
        return (
            Message("fix", "sensor_msgs/msg/NavSatFix", fix),
            Message("fix_velocity", "geometry_msgs/msg/TwistWithCovarianceStamped", velocity),
        )

    @classmethod
    def measure(cls, sensors: Sequence[Gps], context: SensorContext) -> Measure:
        """Return the function that measures positions and velocities (S, 6) along ENU, m and m/s, before noise."""
        return position_and_velocity

    @classmethod
    def report(cls, sensors: Sequence[Gps], context: SensorContext) -> Report:
        """Return the function that converts positions to degrees, degrees and m above the WGS84 ellipsoid."""
        assert context.world.origin is not None, "a suite is not opened without one"
        origin = (context.world.origin.latitude, context.world.origin.longitude, context.world.origin.altitude)

        def fix(measured: FloatArray) -> FloatArray:
            published = np.array(measured)
            positions = Position(measured[:, :3], Frame.ENU, origin).to(Frame.LLA)
            published[:, :3] = positions.in_frame(Frame.LLA)
            return published

        return fix


def position_and_velocity(state: FrameState) -> FloatArray:
    """Return [position, velocity] (S, 6) of each frame's origin along the fixed frame's axes, m and m/s."""
    return np.concatenate([state.pose[:, :3], state.twist[:, :3]], axis=1)
