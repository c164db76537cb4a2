"""An IMU: specific force and angular rate along the sensor's own axes (REP 145)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import Noise, covariance
from sim_node.simulation.sensors.parameters import group, parameter
from sim_node.simulation.sensors.registry import Measure, Message, SensorType, channels, sensor
from sim_node.world.declared import declared

# Of an ADIS16448 (Analog Devices, data sheet Rev. G, table 1).
_GYROSCOPE = Noise(density=1.9e-4, bias_instability=7.0e-5, turn_on_bias=8.7e-3, saturation=17.45)
_ACCELEROMETER = Noise(density=1.8e-3, bias_instability=2.5e-3, turn_on_bias=0.196, saturation=176.5)


@sensor("imu")
@declared
class Imu(SensorType):
    """Measures [angular rate, specific force] at its frame's origin, lever arm included: +g upwards at rest (REP 145).

    The default noise is that of an ADIS16448 (Analog Devices, data sheet Rev. G, table 1).
    """

    rate: float = parameter(100.0, "Hz", "measurements per second", above=0.0)
    gyroscope: Noise = group(_GYROSCOPE, "rad/s", "angular rate", axes=3)
    accelerometer: Noise = group(_ACCELEROMETER, "m/s²", "specific force", axes=3)

    channels: ClassVar = ("rate_x", "rate_y", "rate_z", "force_x", "force_y", "force_z")

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a sensor_msgs/Imu: the first orientation covariance is -1, since orientation is not measured."""
        fields = {
            "orientation_covariance": [-1.0, *[0.0] * 8],
            "angular_velocity": channels(0, 3),
            "angular_velocity_covariance": covariance(self.rate, *[self.gyroscope] * 3),
            "linear_acceleration": channels(3, 6),
            "linear_acceleration_covariance": covariance(self.rate, *[self.accelerometer] * 3),
        }
        return (Message("data_raw", "sensor_msgs/msg/Imu", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[Imu], context: SensorContext) -> Measure:
        """Return the function that measures [angular rate, specific force] (S, 6), rad/s and m/s²."""
        from sim_node.simulation.sensors.kernels import rate_and_force

        return lambda state: rate_and_force(state.pose, state.twist, state.acceleration, state.gravity)
