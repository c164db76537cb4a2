"""The sensor: the distance to a reflector, as a laser gauge on a shuttle measures it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sim_node.simulation.sensors import (
    Measure,
    Message,
    Noise,
    Quantities,
    SensorContext,
    SensorType,
    channels,
    group,
    parameter,
    sensor,
)


@dataclass(frozen=True)
class Point:
    """Where something is in the fixed frame."""

    x: float = parameter(0.0, "m", "east")
    y: float = parameter(0.0, "m", "north")
    z: float = parameter(0.0, "m", "up")


@sensor("reflector")
@dataclass(frozen=True)
class Reflector(SensorType):
    """The distance in m from its frame to a reflector that stands still in the fixed frame."""

    rate: float = parameter(20.0, "Hz", "measurements per second", above=0.0)
    latency: float = parameter(0.0, "s", "time from measurement to publication", low=0.0)
    range_max: float = parameter(50.0, "m", "farthest reflector that it sees", above=0.0)
    at: Point = group(Point(), "m", "the reflector")
    noise: Noise = group(Noise(), "m", "distance")

    channels: ClassVar = ("distance",)

    def quantities(self) -> Quantities:
        return ((self.noise, 1),)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        fields = {"radiation_type": 1, "max_range": self.range_max, "range": channels(0)}
        return (Message("distance", "sensor_msgs/msg/Range", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[Reflector], context: SensorContext) -> Measure:
        """Of all sensors alike at once: state.pose is (S, 7), readings are (S, 1)."""
        reflectors = np.array([(each.at.x, each.at.y, each.at.z) for each in sensors])
        return lambda state: np.linalg.norm(state.pose[:, :3] - reflectors, axis=1, keepdims=True)
