"""Positions on Earth, in MAVLink's frames, to the local frame and back; what is unused or nonsense among them."""

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

# MAV_FRAME: heights above mean sea level, and above home.
GLOBAL, RELATIVE = (0, 5), (3, 6)
LOCAL_NED = 1
# What is further away than this (m) is no position to fly to.
MAX_DISTANCE = 1e6
# Of latitude and longitude in COMMAND_INT and MISSION_ITEM_INT: not used.
UNUSED = 0x7FFFFFFF
LOCAL_SCALE = 1e-4  # m, of x and y in local frames


class CommandPosition(NamedTuple):
    """A position as a command or an item has it; NaN for what is not used.

    x, y: latitude and longitude in degrees, or metres north and east in LOCAL_NED. z: m, down in LOCAL_NED.
    """

    frame: int
    x: float
    y: float
    z: float

    @property
    def is_here(self) -> bool:
        """Whether it has no latitude and longitude: neither is used, or both are zero, as ground stations write it."""
        return math.isnan(self.x) or math.isnan(self.y) or (self.frame != LOCAL_NED and self.x == self.y == 0.0)


def position_of_ints(frame: int, x: int, y: int, z: float) -> CommandPosition:
    """Return the position of a COMMAND_INT or MISSION_ITEM_INT."""
    scale = LOCAL_SCALE if frame == LOCAL_NED else 1e-7
    return CommandPosition(frame, math.nan if x == UNUSED else x * scale, math.nan if y == UNUSED else y * scale, z)


class GeoReference:
    """The local frame (ENU, m) of a vehicle, and home in it, None before it is known.

    undulation: height of the geoid above the ellipsoid (m).
    """

    def __init__(self, parameters: VehicleParameters) -> None:
        self.home: tuple[float, float, float] | None = None
        self.origin, self.undulation = parameters.origin, parameters.undulation
        # The place that was converted last, which several messages of an instant have, and what it became.
        self._converted: tuple[Sequence[float], tuple[float, float, float]] | None = None

    def local(self, frame: int, latitude: float, longitude: float, height: float) -> FloatArray | None:
        """Convert degrees and metres in a frame of MAVLink to ENU (3,); None for frames that are not supported."""
        if frame in GLOBAL:
            altitude = height + self.undulation
        elif frame in RELATIVE:
            altitude = height + (self.ellipsoid(self.home)[2] if self.home else self.origin[2])
        else:
            return None
        place = TaggedPosition((latitude, longitude, altitude), Frame.LLA).to(Frame.ENU, self.origin)
        return np.array(place.in_frame(Frame.ENU))

    def locate(self, position: CommandPosition, here: FloatArray) -> FloatArray:
        """Convert a position to ENU (3,); what it leaves open is that of `here` (3,).

        Raises:
            Denied: the frame is not supported, a number is infinite or out of range, or it is too far away.
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
        """Convert a place in ENU to latitude, longitude (degrees) and metres above the ellipsoid."""
        numbers = place if isinstance(place, tuple) else place.tolist()
        if self._converted is None or self._converted[0] != numbers:
            lla = TaggedPosition(place, Frame.ENU, self.origin).to(Frame.LLA)
            latitude, longitude, altitude = lla.in_frame(Frame.LLA).tolist()
            self._converted = numbers, (latitude, longitude, altitude)
        return self._converted[1]

    def sea_level(self, altitude: float) -> float:
        """Convert metres above the ellipsoid to metres above mean sea level."""
        return altitude - self.undulation
