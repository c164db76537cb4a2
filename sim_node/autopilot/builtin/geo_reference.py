"""Places on Earth, in MAVLink's frames, to the local frame and back."""

from __future__ import annotations

import math

import numpy as np

from sim_node.autopilot.builtin.vehicle_parameters import VehicleParameters
from sim_node.frames import Frame, convert_position
from sim_node.geometry.arrays import FloatArray

# MAV_FRAME: heights above mean sea level, and above home.
GLOBAL, RELATIVE = (0, 5), (3, 6)
LOCAL_NED = 1
# What is further away than this (m) is no place to fly to.
MAX_DISTANCE = 1e6


class GeoReference:
    """The local frame (ENU, m) of a craft, and home in it, None before it is known."""

    def __init__(self, parameters: VehicleParameters) -> None:
        self.home: tuple[float, float, float] | None = None
        self.origin, self._undulation = parameters.origin, parameters.undulation

    def local(self, frame: int, latitude: float, longitude: float, height: float) -> FloatArray | None:
        """Degrees and metres in a frame of MAVLink to ENU (3,); None for frames that are not known."""
        if frame in GLOBAL:
            altitude = height + self._undulation
        elif frame in RELATIVE:
            altitude = height + (self.ellipsoid(self.home)[2] if self.home else self.origin[2])
        else:
            return None
        return np.asarray(convert_position((latitude, longitude, altitude), Frame.LLA, Frame.ENU, self.origin))

    def ellipsoid(self, place: tuple[float, float, float] | FloatArray) -> tuple[float, float, float]:
        """Latitude, longitude (degrees) and metres above the ellipsoid of a place in ENU."""
        latitude, longitude, altitude = convert_position(place, Frame.ENU, Frame.LLA, self.origin).tolist()
        return latitude, longitude, altitude

    def sea_level(self, altitude: float) -> float:
        """Metres above mean sea level of metres above the ellipsoid."""
        return altitude - self._undulation


def yaw_of_degrees(degrees: float) -> float:
    """Degrees clockwise from north to rad counterclockwise from east; what is not finite is NaN."""
    return math.radians(90.0 - degrees) if math.isfinite(degrees) else math.nan
