"""What failures of sensors do to the estimate of an autopilot that is given the true state in place of one."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sim_node.simulation import Simulation
from sim_node.simulation.sensors import air_data
from sim_node.spatial.frames import Frame, Position
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.autopilots import sensors_on

# A filter follows its sensors within this time, s.
LAG = 1.0
_KINDS = ("gps", "magnetometer", "barometer")


class EstimateErrors:
    """The errors that a filter of PX4's kind makes of failed sensors: it follows them within LAG.

    The receiver gives its position east and north, the barometer its height, and the magnetometer its yaw. Sound
    sensors make no errors: their noise is what the filter is there for.

    Args:
        simulation: The run.
        body: The body that the sensors are fixed to.

    Attributes:
        position: (3,) east, north and up, m.
        yaw: rad, counterclockwise.
    """

    def __init__(self, simulation: Simulation, body: str) -> None:
        self._run, self._time_ns = simulation, 0
        self._sensors: Mapping[str, str] = {
            sensor.type: sensor.name for sensor in reversed(sensors_on(simulation.world, body)) if sensor.type in _KINDS
        }
        self.position, self.yaw = np.zeros(3), 0.0

    def advance(self, step: int, time_ns: int, attitude: FloatArray) -> bool:
        """Follow the sensors up to the present step; return whether there is an error.

        Args:
            step: The present step.
            time_ns: Time since the start, ns; an earlier one than the last means a reset.
            attitude: The true attitude (4,) of the body.
        """
        seconds, self._time_ns = (time_ns - self._time_ns) * 1e-9, time_ns
        if seconds < 0.0:
            self.position[:], self.yaw, seconds = 0.0, 0.0, 0.0
        alterations = self._run.alterations
        failed = {kind: name for kind, name in self._sensors.items() if name in alterations}
        if not failed and not self.yaw and not self.position.any():
            return False
        part = -math.expm1(-seconds / LAG)
        wanted, yaw = np.zeros(3), 0.0
        for kind, name in failed.items():
            sound, found = alterations[name].sound, self._run.sensors[name].newest_by(step)
            if sound is None or found is None:
                continue
            if kind == "gps":
                wanted[:2] = self._metres(np.asarray(found), sound)[:2]
            elif kind == "barometer":
                wanted[2] = air_data.pressure_altitude(float(found[0])) - air_data.pressure_altitude(float(sound[0]))
            else:
                yaw = _heading_error(np.asarray(found), sound, attitude)
        self.position += part * (wanted - self.position)
        self.yaw += part * math.remainder(yaw - self.yaw, math.tau)
        if not failed and np.abs(self.position).max() < 1e-6 and abs(self.yaw) < 1e-9:
            self.position[:], self.yaw = 0.0, 0.0
        return True

    def _metres(self, found: FloatArray, sound: FloatArray) -> FloatArray:
        origin = self._run.world.origin
        assert origin is not None, "a receiver needs one"
        place = origin.latitude, origin.longitude, origin.altitude
        one, other = (Position(each[:3], Frame.LLA).to(Frame.ENU, place).in_frame(Frame.ENU) for each in (found, sound))
        return np.asarray(one - other)


def _heading_error(found: FloatArray, sound: FloatArray, attitude: FloatArray) -> float:
    """Return how far a compass turns counterclockwise that takes one field for another, rad."""
    taken, true = quaternions.rotate(attitude, found), quaternions.rotate(attitude, sound)
    return math.remainder(math.atan2(true[1], true[0]) - math.atan2(taken[1], taken[0]), math.tau)
