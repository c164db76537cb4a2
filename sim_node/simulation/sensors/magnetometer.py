"""Earth's magnetic field: the World Magnetic Model, its linearisation about a place, and a magnetometer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import Noise, covariance
from sim_node.simulation.sensors.parameters import group, parameter
from sim_node.simulation.sensors.registry import Measure, Message, SensorType, channels, sensor
from sim_node.spatial.frames import Frame, convert_position, convert_velocity
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared, given
from sim_node.world.model import Origin
from sim_node.world.quantities import ListOf, Number

FIRST_YEAR, LAST_YEAR = 2025.0, 2030.0
# Distance between the places whose difference gives the gradient of the field, m.
_STEP = 1_000.0


def field(latitude: float, longitude: float, altitude: float, year: float) -> FloatArray:
    """Return Earth's magnetic field (3,) along east, north, up, T.

    latitude and longitude in degrees, altitude in metres above the WGS84 ellipsoid, decimal year from 2025 to 2030.
    WMM2025 by pygeomag: Chulliat et al., The US/UK World Magnetic Model for 2025-2030, NOAA NCEI, 2024; the field of
    core and lithosphere to degree 12, accurate to about 150 nT. Raises ImportError without pygeomag.
    """
    result = _model().calculate(glat=latitude, glon=longitude, alt=altitude * 1e-3, time=year)
    return np.array([result.y, result.x, -result.z]) * 1e-9


class StraightField(NamedTuple):
    """A linear field (T): its value (3,) at a place and its gradient (3, 3) there, T/m, a row per component."""

    centre: FloatArray
    gradient: FloatArray

    def at(self, positions: FloatArray) -> FloatArray:
        """Return the field (..., 3), T, at positions (..., 3) relative to that place, m."""
        return np.asarray(self.centre + positions @ self.gradient.T)


def field_around(origin: Origin, year: float) -> StraightField:
    """Return the field as a function of position, both along `origin`'s ENU axes.

    It is linearised about the origin, because the model takes 0.2 ms per place. The error grows with the square of the
    distance: below 1 nT within 10 km, below 100 nT within 100 km.
    """
    here = (origin.latitude, origin.longitude, origin.altitude)
    centre = field(*here, year)
    gradient = np.empty((3, 3))
    for axis in range(3):
        ends = []
        for sign in (-1.0, 1.0):
            offset = np.zeros(3)
            offset[axis] = sign * _STEP
            place = convert_position(offset, Frame.ENU, Frame.LLA, here)
            ends.append(_along(here, place, field(place[0], place[1], place[2], year)))
        gradient[:, axis] = (ends[1] - ends[0]) / (2.0 * _STEP)
    return StraightField(centre, gradient)


def _along(here: tuple[float, float, float], there: FloatArray, vector: FloatArray) -> FloatArray:
    """Return a vector along ENU at one place, along ENU at another."""
    through = convert_velocity(vector, Frame.ENU, Frame.ECEF, tuple(there.tolist()))
    return convert_velocity(through, Frame.ECEF, Frame.ENU, here)


@cache
def _model() -> Any:
    from pygeomag import GeoMag

    return GeoMag(coefficients_file="wmm/WMM_2025.COF")


@sensor("magnetometer")
@declared
class Magnetometer(SensorType):
    """Measures the magnetic field (T) at its frame's origin, along its axes: the World Magnetic Model 2025, or `field`.

    The default noise is that of an HMC5883L (Honeywell, data sheet Rev. E: 2 mG resolution, field range 8 G).
    """

    rate: float = parameter(50.0, "Hz", "measurements per second", above=0.0)
    year: float = parameter(2026.0, "year", "date of the field, in decimal years", low=FIRST_YEAR, high=LAST_YEAR)
    field: tuple[float, ...] = given(
        ListOf(Number(-1.0, 1.0), 3, 3),
        "a field that is the same everywhere, [x, y, z] in the fixed frame",
        "T",
        default=(),
    )
    noise: Noise = group(Noise(deviation=2e-7, saturation=8e-4), "T", "magnetic field", axes=3)

    channels: ClassVar = ("field_x", "field_y", "field_z")
    needs_package: ClassVar = "pygeomag"

    @property
    def needs_origin(self) -> bool:
        """Whether the world must have an `origin`: unless the field is given."""
        return not self.field

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a sensor_msgs/MagneticField."""
        fields = {
            "magnetic_field": channels(0, 3),
            "magnetic_field_covariance": covariance(self.rate, *[self.noise] * 3),
        }
        return (Message("mag", "sensor_msgs/msg/MagneticField", fields),)

    @classmethod
    def measure(cls, sensors: Sequence[Magnetometer], context: SensorContext) -> Measure:
        """Return the function that measures the field (S, 3) at the frames, T; one model is evaluated per year."""
        from sim_node.simulation.sensors.kernels import straight_field

        origin, of_year = context.world.origin, dict[float, StraightField]()
        for year in {each.year for each in sensors if not each.field}:
            assert origin is not None, "a suite is not opened without one"
            of_year[year] = field_around(origin, year)
        fields = [
            StraightField(np.array(each.field), np.zeros((3, 3))) if each.field else of_year[each.year]
            for each in sensors
        ]
        centres, gradients = np.array([each.centre for each in fields]), np.array([each.gradient for each in fields])

        return lambda state: straight_field(state.pose, centres, gradients)
