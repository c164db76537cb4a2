"""Conversion of positions between MAVLink's frames and the local frame, with checks for unused and invalid values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sim_node.autopilots.builtin.dialect import Denied
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.spatial.frames import Frame, InvalidCoordinates, Ned
from sim_node.spatial.frames import Position as TaggedPosition
from sim_node.spatial.geometry.arrays import FloatArray

# MAV_FRAME: altitude above mean sea level, and above home.
GLOBAL, RELATIVE = (0, 5), (3, 6)
LOCAL_NED = 1
# Maximum coordinate of a valid position in the local frame, m.
MAX_DISTANCE = 1e6
# Latitude or longitude in COMMAND_INT and MISSION_ITEM_INT that is not used.
UNUSED = 0x7FFFFFFF
LOCAL_SCALE = 1e-4  # m per unit of x and y in local frames


class CommandPosition(NamedTuple):
    """Position in a command or a mission item, with NaN for unused coordinates.

    Attributes:
        frame: MAV_FRAME.
        x: Latitude in degrees, or metres north in LOCAL_NED.
        y: Longitude in degrees, or metres east in LOCAL_NED.
        z: Altitude or height, m, or metres down in LOCAL_NED.
    """

    frame: int
    x: float
    y: float
    z: float

    @property
    def is_here(self) -> bool:
        """Whether the horizontal position is unused: a coordinate is NaN, or latitude and longitude are both zero."""
        return math.isnan(self.x) or math.isnan(self.y) or (self.frame != LOCAL_NED and self.x == self.y == 0.0)


def position_of_ints(frame: int, x: int, y: int, z: float) -> CommandPosition:
    """Return the position of a COMMAND_INT or MISSION_ITEM_INT."""
    scale = LOCAL_SCALE if frame == LOCAL_NED else 1e-7
    return CommandPosition(frame, math.nan if x == UNUSED else x * scale, math.nan if y == UNUSED else y * scale, z)


class GeoReference:
    """The local frame (ENU) of a vehicle.

    Attributes:
        home: Home position (3,), ENU, m; None if not known yet.
        origin: Latitude and longitude (degrees) of the origin, and its altitude (m) above the ellipsoid.
        undulation: Height of the geoid above the ellipsoid, m.
    """

    def __init__(self, parameters: VehicleParameters) -> None:
        self.home: tuple[float, float, float] | None = None
        self.origin, self.undulation = parameters.origin, parameters.undulation
        # The position that was converted last, and its result: several messages of a step need the same.
        self._converted: tuple[Sequence[float], tuple[float, float, float]] | None = None

    def local(self, frame: int, latitude: float, longitude: float, height: float) -> FloatArray | None:
        """Convert a position in a frame of MAVLink to ENU (3,), m; None if the frame is not supported.

        Args:
            frame: MAV_FRAME.
            latitude: Latitude, degrees.
            longitude: Longitude, degrees.
            height: Height in the frame, m.
        """
        if frame in GLOBAL:
            altitude = height + self.undulation
        elif frame in RELATIVE:
            altitude = height + (self.ellipsoid(self.home)[2] if self.home else self.origin[2])
        else:
            return None
        place = TaggedPosition((latitude, longitude, altitude), Frame.LLA).to(Frame.ENU, self.origin)
        return np.array(place.in_frame(Frame.ENU))

    def locate(self, position: CommandPosition, here: FloatArray) -> FloatArray:
        """Convert a position to ENU (3,), m. Unused coordinates are those of `here` (3,).

        Raises:
            Denied: The frame is not supported, a number is infinite or out of range, or the position is too far away.
        """
        frame, x, y, z = position
        if any(map(math.isinf, (x, y, z))):
            raise Denied(f"{x:g}, {y:g}, {z:g} is not a position")
        if frame == LOCAL_NED:
            place = np.array(Ned((x, y, z)).to_enu())
        else:
            if frame not in GLOBAL and frame not in RELATIVE:
                raise Denied(f"MAV_FRAME {frame} is not supported")
            if abs(x) > 90.0 or abs(y) > 180.0:
                raise Denied(f"latitude {x:g}, longitude {y:g}: out of range")
            latitude, longitude, _ = self.ellipsoid(here)
            if not position.is_here:
                latitude, longitude = x, y
            try:
                place = self.local(frame, latitude, longitude, 0.0 if math.isnan(z) else z)  # type: ignore[assignment]
            except InvalidCoordinates as error:
                raise Denied(str(error)) from None
        if position.is_here:
            place[:2] = here[:2]
        if math.isnan(z):
            place[2] = here[2]
        if not np.abs(place).max() <= MAX_DISTANCE:
            raise Denied(f"{x:g}, {y:g}, {z:g} is further away than {MAX_DISTANCE:g} m")
        return place

    def ellipsoid(self, place: tuple[float, float, float] | FloatArray) -> tuple[float, float, float]:
        """Convert a position (3,), ENU, m, to latitude, longitude (degrees) and altitude above the ellipsoid (m)."""
        numbers = place if isinstance(place, tuple) else place.tolist()
        if self._converted is None or self._converted[0] != numbers:
            lla = TaggedPosition(place, Frame.ENU, self.origin).to(Frame.LLA)
            latitude, longitude, altitude = lla.in_frame(Frame.LLA).tolist()
            self._converted = numbers, (latitude, longitude, altitude)
        return self._converted[1]

    def sea_level(self, altitude: float) -> float:
        """Convert an altitude above the ellipsoid to one above mean sea level, m."""
        return altitude - self.undulation
