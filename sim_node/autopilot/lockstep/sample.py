"""What an autopilot is told of its vehicle at one instant, in the conventions of the house."""

from __future__ import annotations

from dataclasses import dataclass

from sim_node.geometry.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Fix:
    """What a satellite receiver tells: latitude and longitude (degrees), altitude (m above the ellipsoid), ENU m/s.

    horizontal, vertical: the standard deviation of its place, of an axis each (m).
    """

    latitude: float
    longitude: float
    altitude: float
    velocity: FloatArray
    horizontal: float
    vertical: float


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A vehicle at an instant. What is None has not been measured since the sample before.

    time_ns: simulation time since the start. pose (7,) of base_link in the fixed frame (ENU), velocity (3,) along its
    axes, m/s; rate (3,) rad/s and specific force (3,) m/s² along base_link's axes (FLU), as an IMU there reads them.
    field (3,): magnetic flux density along base_link's axes, T. pressure, differential_pressure: Pa.
    altitude: m above the sea, which a barometer is taken to tell. temperature: of the air, °C.
    ranges: of up to six rangefinders, m. airspeed: m/s. wind (3,): velocity of the air, ENU m/s.
    """

    time_ns: int
    pose: FloatArray
    velocity: FloatArray
    rate: FloatArray
    force: FloatArray
    field: FloatArray | None = None
    pressure: float | None = None
    altitude: float = 0.0
    temperature: float = 15.0
    differential_pressure: float | None = None
    fix: Fix | None = None
    ranges: tuple[float, ...] = ()
    airspeed: float | None = None
    wind: FloatArray | None = None
