"""The six coordinate conventions, as data: axes, units, who uses them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sim_node.text import did_you_mean


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
