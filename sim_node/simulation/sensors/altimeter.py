"""An altimeter: height above a reference, and vertical speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import Noise
from sim_node.simulation.sensors.parameters import group, parameter
from sim_node.simulation.sensors.registry import Measure, Message, SensorType, channels, sensor
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared


@sensor("altimeter")
@declared
class Altimeter(SensorType):
    """Measures the height (m) of its frame's origin above a reference, and its vertical speed (m/s).

    Both are along z of the fixed frame. The default noise is an assumption: what a filter makes of a barometer.
    """

    rate: float = parameter(50.0, "Hz", "measurements per second", above=0.0)
    reference: float = parameter(0.0, "m", "z in the fixed frame that heights are above", low=-1e7, high=1e7)
    height: Noise = group(Noise(deviation=0.1, bias_instability=0.2, correlation_time=600.0), "m", "height")
    speed: Noise = group(Noise(deviation=0.05), "m/s", "vertical speed")

    channels: ClassVar = ("height", "vertical_speed")

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a Vector3Stamped for each, with z only, along the fixed frame's axes: ROS has no message for these."""
        vector, header = "geometry_msgs/msg/Vector3Stamped", {"header.frame_id": fixed_frame}
        return (
            Message("height", vector, {**header, "vector.z": channels(0)}),
            Message("vertical_speed", vector, {**header, "vector.z": channels(1)}),
        )

    @classmethod
    def measure(cls, sensors: Sequence[Altimeter], context: SensorContext) -> Measure:
        """Return the function that measures heights and vertical speeds (S, 2), m and m/s."""
        references = np.array([each.reference for each in sensors])

        def read(state: FrameState) -> FloatArray:
            return np.stack([state.pose[:, 2] - references, state.twist[:, 2]], axis=1)

        return read
