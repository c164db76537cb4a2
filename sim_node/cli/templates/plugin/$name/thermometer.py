"""A sensor: the temperature of the air, which falls by 6.5 mK for each metre of height."""

from dataclasses import dataclass

import numpy as np

from sim_node.simulation.sensors import Message, Noise, SensorType, channels, group, parameter, sensor

LAPSE_RATE = 0.0065  # K/m, of the International Standard Atmosphere


@sensor("thermometer")
@dataclass(frozen=True)
class Thermometer(SensorType):
    """A thermometer that measures without a time constant."""

    rate: float = parameter(10.0, "Hz", "measurements per second", above=0.0)
    latency: float = parameter(0.0, "s", "time from measurement to publication", low=0.0)
    ground: float = parameter(15.0, "degrees Celsius", "temperature at height 0", low=-90.0, high=60.0)
    noise: Noise = group(Noise(deviation=0.1), "K", "temperature")

    channels = ("temperature",)

    def messages(self, frame, fixed_frame):
        """Return the message that each measurement becomes."""
        fields = {"temperature": channels(0), "variance": self.noise.variance(self.rate)}
        return (Message("temperature", "sensor_msgs/msg/Temperature", fields),)

    @classmethod
    def measure(cls, sensors, context):
        """Return the function from the state of the sensors' frames to temperatures (S, 1), in degrees Celsius."""
        ground = np.array([each.ground for each in sensors])
        return lambda state: (ground - LAPSE_RATE * state.pose[:, 2])[:, None]
