"""Rangefinders and optical flow on a vehicle, as autopilots receive them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim_node.simulation import Simulation
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.autopilots import sensors_on

# PX4 has as many instances of its topic (ORB_MULTI_MAX_INSTANCES).
MAX_RANGEFINDERS = 4
# Cosine of the largest angle (2.6 degrees) between straight down and the axis of a sensor that looks down.
_STRAIGHT = 0.999


@dataclass(frozen=True, slots=True, eq=False)
class Distance:
    """A measurement of a rangefinder.

    Attributes:
        number: Which of the vehicle's rangefinders, from 0.
        metres: The distance; -inf below the minimum, inf above the maximum.
        minimum: Minimum distance (m).
        maximum: Maximum distance (m).
        field_of_view: Angle across the cone (rad).
        deviation: Standard deviation of the distance (m).
        attitude: Orientation (4,) of the sensor in base_link [x, y, z, w]; it looks along its x axis.
    """

    number: int
    metres: float
    minimum: float
    maximum: float
    field_of_view: float
    deviation: float
    attitude: FloatArray


class Rangefinders:
    """The rangefinders that are fixed to a body, up to MAX_RANGEFINDERS.

    Args:
        simulation: The run.
        body: The body's name.
        types: The sensors of the world by name.
    """

    def __init__(self, simulation: Simulation, body: str, types: Mapping[str, Any]) -> None:
        mounted = [sensor.name for sensor in sensors_on(simulation.world, body) if sensor.type == "rangefinder"]
        poses = simulation.snapshot().poses
        self._sensors = []
        for number, name in enumerate(mounted[:MAX_RANGEFINDERS]):
            kind = types[name]
            deviation = float(np.sqrt(kind.noise.variance(kind.rate)))
            attitude = simulation.frames.lookup(poses, body, name)[3:]
            constants = (kind.range_min, kind.range_max, kind.field_of_view, deviation, attitude)
            self._sensors.append((number, simulation.subscribe(name), constants))

    def latest(self, step: int) -> tuple[Distance, ...]:
        """Return the measurements since the last call, at most one of each sensor."""
        if not self._sensors:
            return ()
        latest = ((number, subscribed.latest(step), constants) for number, subscribed, constants in self._sensors)
        return tuple(Distance(number, float(v[0]), *constants) for number, v, constants in latest if v is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """A measurement of an optical flow sensor that looks down.

    Attributes:
        seconds: Time between two measurements (s).
        flow: Flow (2,) about base_link's x and y axes (FLU), rad/s; nan if the ground is out of range.
        rate: Angular velocity (3,) along base_link's axes, rad/s, as the imu measures it.
    """

    seconds: float
    flow: FloatArray
    rate: FloatArray


class FlowSensor:
    """The first optical flow sensor of a body that looks down along its z axis, if there is one.

    Args:
        simulation: The run.
        body: The body's name.
        types: The sensors of the world by name.
    """

    def __init__(self, simulation: Simulation, body: str, types: Mapping[str, Any]) -> None:
        poses = simulation.snapshot().poses
        self._subscribed = None
        for sensor in sensors_on(simulation.world, body):
            if sensor.type == "optical_flow" and self._subscribed is None:
                to_body = quaternions.to_matrix(simulation.frames.lookup(poses, body, sensor.name)[3:])
                if -to_body[2, 0] >= _STRAIGHT:
                    self._to_body = to_body[:2, 1:]
                    self._seconds = 1.0 / types[sensor.name].rate
                    self._subscribed = simulation.subscribe(sensor.name)

    def latest(self, step: int, rate: FloatArray) -> Flow | None:
        """Return the measurement since the last call, or None.

        Args:
            step: The present step.
            rate: Angular velocity (3,) of the body as the imu measures it (FLU), rad/s.

        Returns:
            The flow along the axes of the body.
        """
        measured = None if self._subscribed is None else self._subscribed.latest(step)
        return None if measured is None else Flow(self._seconds, self._to_body @ measured, rate)
