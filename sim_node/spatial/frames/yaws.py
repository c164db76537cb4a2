"""Single yaws and headings that carry their convention. Vectors and attitudes are in vectors.py."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sim_node.spatial.frames.conventions import FrameMismatch


@dataclass(frozen=True, slots=True)
class YawEnu:
    """A yaw counterclockwise from east, as in ROS.

    Attributes:
        radians: The angle, rad; NaN if it is not known.
    """

    radians: float
    __array_ufunc__ = None

    def to_ned(self) -> YawNed:
        """Return the yaw clockwise from north.

        Returns:
            The yaw in NED, in [-pi, pi]; NaN if it is not finite.
        """
        return YawNed(_other(self.radians))

    def __sub__(self, other: YawEnu) -> float:
        """Return the shorter turn from another yaw to this one, in [-pi, pi] rad, counterclockwise."""
        if type(other) is not YawEnu:
            _refuse(self, other)
        return math.remainder(self.radians - other.radians, math.tau)


@dataclass(frozen=True, slots=True)
class YawNed:
    """A yaw clockwise from north, as in MAVLink.

    Attributes:
        radians: The angle, rad; NaN if it is not known.
    """

    radians: float
    __array_ufunc__ = None

    def to_enu(self) -> YawEnu:
        """Return the yaw counterclockwise from east.

        Returns:
            The yaw in ENU, in [-pi, pi]; NaN if it is not finite.
        """
        return YawEnu(_other(self.radians))

    def __sub__(self, other: YawNed) -> float:
        """Return the shorter turn from another yaw to this one, in [-pi, pi] rad, clockwise."""
        if type(other) is not YawNed:
            _refuse(self, other)
        return math.remainder(self.radians - other.radians, math.tau)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in degrees clockwise from north, as used for compasses, courses and missions.

    Attributes:
        degrees: The angle; NaN if it is not known.
    """

    degrees: float
    __array_ufunc__ = None

    @staticmethod
    def of(yaw: YawNed | YawEnu) -> Heading:
        """Return the heading of a yaw.

        Args:
            yaw: The yaw.

        Returns:
            The heading, in [0, 360).
        """
        if isinstance(yaw, YawEnu):
            return Heading((90.0 - math.degrees(yaw.radians)) % 360.0)
        return Heading(math.degrees(yaw.radians) % 360.0)

    @staticmethod
    def of_yaw_degrees(degrees: float) -> Heading:
        """Return the heading of a yaw in degrees counterclockwise from east, without rounding by way of radians.

        Args:
            degrees: The yaw.

        Returns:
            The heading, in [0, 360).
        """
        return Heading((90.0 - degrees) % 360.0)

    def to_yaw_degrees(self) -> float:
        """Return degrees counterclockwise from east.

        Returns:
            The yaw, in [-180, 180].
        """
        return math.remainder(90.0 - self.degrees, 360.0)

    def to_ned(self) -> YawNed:
        """Return the same as a yaw in radians.

        Returns:
            The yaw in NED.
        """
        return YawNed(math.radians(self.degrees))

    def to_enu(self) -> YawEnu:
        """Return the yaw counterclockwise from east.

        Returns:
            The yaw in ENU; NaN if it is not finite.
        """
        return YawEnu(math.radians(90.0 - self.degrees) if math.isfinite(self.degrees) else math.nan)


def _other(yaw: float) -> float:
    return math.remainder(0.5 * math.pi - yaw, math.tau) if math.isfinite(yaw) else math.nan


_AXES: dict[type, str] = {YawEnu: "yaw in ENU", YawNed: "yaw in NED", Heading: "heading"}


def _refuse(value: object, other: object) -> None:
    found = _AXES.get(type(other), f"a {type(other).__name__} without one")
    raise FrameMismatch(f"{_AXES[type(value)]} and {found}")
