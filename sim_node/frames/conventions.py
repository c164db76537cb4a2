"""Conventions of axes and origins, and the errors of conversions between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy.typing as npt

from sim_node.text import did_you_mean


class FrameMismatch(TypeError):
    """Two values, or a value and the code that takes it, do not speak of the same frame. The message names both."""


class OriginRequired(ValueError):
    """A local frame meets a global one, and nobody said where the local frame lies on Earth."""


class AttitudeRequired(ValueError):
    """A world frame meets a body frame: how the vehicle is turned, or where it is, decides the answer."""


class InvalidCoordinates(ValueError):
    """Numbers that are no place on Earth: a latitude beyond a pole, a point at Earth's centre."""


class GeoidUnavailable(RuntimeError):
    """Heights above the ellipsoid and above mean sea level meet, and no geoid model is installed."""


def checked_origin(origin: npt.ArrayLike | None, source: Frame, target: Frame) -> tuple[float, float, float]:
    """Return `origin` as three floats.

    Raises OriginRequired where there is none, ValueError where it is not one point, InvalidCoordinates where it
    is no place on Earth.
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


class Kind(Enum):
    """What a frame is fixed to."""

    LOCAL = "local"  # to the ground, its origin somewhere on Earth
    BODY = "body"  # to a vehicle
    GLOBAL = "global"  # to the whole Earth


@dataclass(frozen=True)
class Convention:
    """What the three numbers of a frame mean.

    signed_axes: where each axis points in the house's frame of the same kind (ENU or FLU), counted from 1 and
    negative where it points the other way; None for a global frame, whose relation to ENU depends on the place.
    handedness: of the three axes; none for angles.
    """

    full_name: str
    axes: tuple[str, str, str]
    units: tuple[str, str, str]
    kind: Kind
    handedness: str | None
    signed_axes: tuple[int, int, int] | None
    users: tuple[str, ...]


_METRES = ("m", "m", "m")


class Frame(Enum):
    """A coordinate convention. ENU and FLU are the ones used inside sim_node (REP 103)."""

    ENU = Convention(
        "East-North-Up",
        ("east", "north", "up"),
        _METRES,
        Kind.LOCAL,
        "right",
        (1, 2, 3),
        ("ROS 2 world frames (REP 103)", "Gazebo", "sim_node inside"),
    )
    NED = Convention(
        "North-East-Down",
        ("north", "east", "down"),
        _METRES,
        Kind.LOCAL,
        "right",
        (2, 1, -3),
        ("MAVLink", "PX4", "ArduPilot"),
    )
    FLU = Convention(
        "Forward-Left-Up",
        ("forward", "left", "up"),
        _METRES,
        Kind.BODY,
        "right",
        (1, 2, 3),
        ("ROS 2 base_link (REP 103)", "sim_node inside"),
    )
    FRD = Convention(
        "Forward-Right-Down",
        ("forward", "right", "down"),
        _METRES,
        Kind.BODY,
        "right",
        (1, -2, -3),
        ("MAVLink body", "PX4 body", "ArduPilot body"),
    )
    ECEF = Convention(
        "Earth-Centred Earth-Fixed",
        ("x", "y", "z"),
        _METRES,
        Kind.GLOBAL,
        "right",
        None,
        ("GNSS solutions", "the ROS 2 earth frame (REP 105)"),
    )
    LLA = Convention(
        "Latitude-Longitude-Altitude",
        ("latitude", "longitude", "altitude"),
        ("deg", "deg", "m above the WGS84 ellipsoid"),
        Kind.GLOBAL,
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
    def kind(self) -> Kind:
        """Whether the frame is fixed to the ground, to a vehicle or to the whole Earth."""
        return self.value.kind

    @classmethod
    def named(cls, name: str) -> Frame:
        """Return the frame called `name`, in any case. Raises ValueError with the known names."""
        try:
            return cls[name.strip().upper()]
        except KeyError:
            known = ", ".join(cls.__members__)
            hint = did_you_mean(name.strip(), cls.__members__)
            raise ValueError(f"unknown frame '{name}'{hint} (known: {known})") from None
