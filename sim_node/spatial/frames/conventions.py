"""Conventions of axes and origins, and the errors of conversions between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy.typing as npt

from sim_node.text import did_you_mean


class FrameMismatch(TypeError):
    """Two values, or a value and the code that uses it, are in different frames. The message names both."""


class OriginRequired(ValueError):
    """A conversion between a local and a global frame needs the position of the local frame on Earth."""


class AttitudeRequired(ValueError):
    """A conversion between a world and a body frame needs the pose of the vehicle."""


class InvalidCoordinates(ValueError):
    """Numbers that are not a position on Earth, such as a latitude beyond a pole or a point at Earth's centre."""


def checked_origin(origin: npt.ArrayLike | None, source: Frame, target: Frame) -> tuple[float, float, float]:
    """Return `origin` as three floats.

    Raises OriginRequired if it is None, ValueError if it is not one point, InvalidCoordinates if it is not a position
    on Earth.
    """
    if origin is None:
        raise OriginRequired(
            f"{source} to {target} needs origin=(latitude, longitude, altitude) of the local frame, "
            "in degrees, degrees and metres above the WGS84 ellipsoid"
        )
    try:
        latitude, longitude, altitude = map(float, origin)  # type: ignore[arg-type, unused-ignore]
    except (TypeError, ValueError):
        raise ValueError(f"origin is {origin!r}, needs one point: (latitude, longitude, altitude)") from None
    if not (abs(latitude) <= 90.0 and abs(longitude) <= 360.0 and math.isfinite(altitude)):
        raise InvalidCoordinates(
            f"origin is ({latitude:g}, {longitude:g}, {altitude:g}), needs a latitude in [-90, 90], "
            "a longitude in [-360, 360] and a finite altitude"
        )
    return latitude, longitude, altitude


class FrameKind(Enum):
    """What a frame is fixed to: the ground, a vehicle or the Earth."""

    LOCAL = "local"  # to the ground, its origin somewhere on Earth
    BODY = "body"  # to a vehicle
    GLOBAL = "global"  # to the whole Earth


@dataclass(frozen=True)
class Convention:
    """The meaning of the three numbers of a frame.

    Attributes:
        full_name: Such as East-North-Up.
        axes: Names of the components.
        units: Units of the components.
        kind: What the frame is fixed to.
        handedness: Of the axes; None for angles.
        signed_axes: For each axis, the axis of ENU or FLU that it points along, counted from 1 and negative if it
            points the other way; None for a global frame, whose relation to ENU depends on the position.
        users: Formats and programs that use the convention.
    """

    full_name: str
    axes: tuple[str, str, str]
    units: tuple[str, str, str]
    kind: FrameKind
    handedness: str | None
    signed_axes: tuple[int, int, int] | None
    users: tuple[str, ...]


_METRES = ("m", "m", "m")


class Frame(Enum):
    """A coordinate convention. sim_node uses ENU and FLU internally (REP 103)."""

    ENU = Convention(
        "East-North-Up",
        ("east", "north", "up"),
        _METRES,
        FrameKind.LOCAL,
        "right",
        (1, 2, 3),
        ("ROS 2 world frames (REP 103)", "Gazebo", "sim_node inside"),
    )
    NED = Convention(
        "North-East-Down",
        ("north", "east", "down"),
        _METRES,
        FrameKind.LOCAL,
        "right",
        (2, 1, -3),
        ("MAVLink", "PX4", "ArduPilot"),
    )
    FLU = Convention(
        "Forward-Left-Up",
        ("forward", "left", "up"),
        _METRES,
        FrameKind.BODY,
        "right",
        (1, 2, 3),
        ("ROS 2 base_link (REP 103)", "sim_node inside"),
    )
    FRD = Convention(
        "Forward-Right-Down",
        ("forward", "right", "down"),
        _METRES,
        FrameKind.BODY,
        "right",
        (1, -2, -3),
        ("MAVLink body", "PX4 body", "ArduPilot body"),
    )
    ECEF = Convention(
        "Earth-Centred Earth-Fixed",
        ("x", "y", "z"),
        _METRES,
        FrameKind.GLOBAL,
        "right",
        None,
        ("GNSS solutions", "the ROS 2 earth frame (REP 105)"),
    )
    LLA = Convention(
        "Latitude-Longitude-Altitude",
        ("latitude", "longitude", "altitude"),
        ("deg", "deg", "m above the WGS84 ellipsoid"),
        FrameKind.GLOBAL,
        None,
        None,
        ("sensor_msgs/NavSatFix", "GNSS receivers", "map data"),
    )

    # Members are singletons: hashing them by identity is right, and four times faster than by name.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Frame.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def axes(self) -> tuple[str, str, str]:
        """Names of the three components, in order."""
        return self.value.axes

    @property
    def kind(self) -> FrameKind:
        """Whether the frame is fixed to the ground, to a vehicle or to the whole Earth."""
        return self.value.kind

    @classmethod
    def named(cls, name: str) -> Frame:
        """Find a frame by its name.

        Args:
            name: In any case, such as "ned".

        Returns:
            The frame.

        Raises:
            ValueError: There is no such frame; the message lists all names.
        """
        try:
            return cls[name.strip().upper()]
        except KeyError:
            known = ", ".join(cls.__members__)
            hint = did_you_mean(name.strip(), cls.__members__)
            raise ValueError(f"unknown frame '{name}'{hint} (known: {known})") from None
