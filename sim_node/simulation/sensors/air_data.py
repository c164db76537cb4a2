"""Air data: the U.S. Standard Atmosphere up to 86 km, a barometer and a pitot tube."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.geopotential import EARTH_RADIUS
from sim_node.simulation.sensors.noise import Noise
from sim_node.simulation.sensors.parameters import group, parameter
from sim_node.simulation.sensors.registry import Measure, Message, SensorType, channels, sensor
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared
from sim_node.world.model import World

SEA_LEVEL_PRESSURE = 101325.0  # Pa
SEA_LEVEL_TEMPERATURE = 288.15  # K
_HEAT_RATIO = 1.4
GAS_CONSTANT = 287.05287  # J/(kg K), dry air: ISO 2533
_GRAVITY = 9.80665

# Geopotential height (m) where each layer begins, and its lapse rate (K/m): U.S. Standard Atmosphere, 1976, table 4.
# Above the last of them, 86 km, the temperature is taken to stay.
_BASES = np.array([0.0, 11_000.0, 20_000.0, 32_000.0, 47_000.0, 51_000.0, 71_000.0, 84_852.0])
_LAPSES = np.array([-6.5e-3, 0.0, 1.0e-3, 2.8e-3, 0.0, -2.8e-3, -2.0e-3, 0.0])


def layers_of(at_sea_level: float = SEA_LEVEL_TEMPERATURE, gradient: float = float(_LAPSES[0])) -> FloatArray:
    """Return the layers (L, 4) of an atmosphere: base (m), lapse rate (K/m), temperature (K), pressure ratio at base.

    Args:
        at_sea_level: Temperature at sea level, K.
        gradient: Lapse rate of the lowest layer, K/m. The other layers have those of the standard atmosphere.
    """
    warmth, ratio = [at_sea_level], [1.0]
    lapses = np.array([gradient, *_LAPSES[1:]])
    constant = _GRAVITY / GAS_CONSTANT
    for thickness, lapse in zip(np.diff(_BASES), lapses, strict=False):
        top = warmth[-1] + lapse * thickness
        fallen = (top / warmth[-1]) ** (-constant / lapse) if lapse else np.exp(-constant * thickness / top)
        warmth.append(top)
        ratio.append(ratio[-1] * fallen)
    return np.stack([_BASES, lapses, np.array(warmth), np.array(ratio)], axis=1)


# Layers of the standard atmosphere.
_LAYERS = layers_of()


def pressure(
    altitude: npt.ArrayLike, sea_level: npt.ArrayLike = SEA_LEVEL_PRESSURE, layers: FloatArray = _LAYERS
) -> FloatArray:
    """Return the static pressure (Pa) at altitudes (m) above mean sea level, for a pressure (Pa) at sea level.

    The result has the shape of the altitudes. The lowest layer is extrapolated below sea level; above 86 km the
    temperature is constant. U.S. Standard Atmosphere, 1976, equations 33a and 33b, equal to ISO 2533 up to 32 km.
    layers: those of an atmosphere with another temperature, as returned by `layers_of`.
    """
    # Imported here so that describing sensors does not require numba.
    from sim_node.simulation.sensors.kernels import pressure_ratios

    places = np.asarray(altitude, dtype=np.float64)
    ratios = pressure_ratios(places.ravel(), layers, _GRAVITY / GAS_CONSTANT)
    return np.asarray(np.multiply(sea_level, ratios.reshape(places.shape)))


def pressure_altitude(pressure: float) -> float:
    """Return the altitude (m) above mean sea level at which the standard atmosphere has a pressure (Pa); to 11 km.

    Equation 33a of the U.S. Standard Atmosphere, 1976, solved for the height: what altimeters show.
    """
    lapse = float(_LAPSES[0])
    ratio = (pressure / SEA_LEVEL_PRESSURE) ** (-lapse * GAS_CONSTANT / _GRAVITY)
    height = SEA_LEVEL_TEMPERATURE / lapse * (ratio - 1.0)
    return float(EARTH_RADIUS * height / (EARTH_RADIUS - height))


def temperature(altitude: npt.ArrayLike, layers: FloatArray = _LAYERS) -> FloatArray:
    """Return the temperature (K) at altitudes (m) above mean sea level, in an atmosphere with these layers."""
    from sim_node.simulation.sensors.kernels import temperatures

    places = np.asarray(altitude, dtype=np.float64)
    found: FloatArray = temperatures(places.ravel(), layers).reshape(places.shape)
    return found


def density(altitude: npt.ArrayLike) -> FloatArray:
    """Return the density of dry air (kg/m³) at altitudes (m) above mean sea level, by the ideal gas law."""
    return np.asarray(pressure(altitude) / (GAS_CONSTANT * temperature(altitude)))


# Parameters of the atmosphere, by default those of the standard one.
_AT_SEA_LEVEL = parameter(SEA_LEVEL_PRESSURE, "Pa", "pressure at sea level", low=8e4, high=1.2e5)
_WARMTH = parameter(SEA_LEVEL_TEMPERATURE, "K", "temperature at sea level", low=180.0, high=400.0)
_GRADIENT = parameter(
    float(_LAPSES[0]), "K/m", "change of the temperature with height, up to 11 km", low=-0.01, high=0.02
)


class _Air:
    """The atmospheres of some sensors: the layers of each different one, with the rows of its sensors."""

    def __init__(self, sensors: Sequence[Airspeed | Barometer]) -> None:
        self.sea_level = np.array([each.sea_level_pressure for each in sensors])
        kinds: dict[tuple[float, float], list[int]] = {}
        for row, kind in enumerate([(each.sea_level_temperature, each.temperature_gradient) for each in sensors]):
            kinds.setdefault(kind, []).append(row)
        self._of = [(np.array(rows), layers_of(*kind)) for kind, rows in kinds.items()]

    def each(self, of: Callable[..., FloatArray], *values: FloatArray) -> FloatArray:
        """Return the results (S,) of a function of values (S,), of pressures at sea level, and of layers."""
        if len(self._of) == 1:
            return of(*values, self.sea_level, self._of[0][1])
        found = np.empty(len(self.sea_level))
        for rows, layers in self._of:
            found[rows] = of(*(each[rows] for each in values), self.sea_level[rows], layers)
        return found


def _fluid_pressure(topic: str, variance: float) -> Message:
    fields = {"fluid_pressure": channels(0), "variance": variance}
    return Message(topic, "sensor_msgs/msg/FluidPressure", fields)


@sensor("airspeed")
@declared
class Airspeed(SensorType):
    """Measures the differential pressure (Pa) of a pitot tube along its frame's x axis, wind included.

    Air from behind gives zero. The default noise is that of an MS4525DO of 1 psi (TE Connectivity, data sheet: 0.25 %
    of full scale).
    """

    rate: float = parameter(50.0, "Hz", "measurements per second", above=0.0)
    sea_level_pressure: float = _AT_SEA_LEVEL
    sea_level_temperature: float = _WARMTH
    temperature_gradient: float = _GRADIENT
    noise: Noise = group(Noise(deviation=1.0, turn_on_bias=17.0, saturation=6895.0), "Pa", "differential pressure")

    channels: ClassVar = ("differential_pressure",)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a sensor_msgs/FluidPressure."""
        return (_fluid_pressure("differential_pressure", self.noise.variance(self.rate)),)

    @classmethod
    def measure(cls, sensors: Sequence[Airspeed], context: SensorContext) -> Measure:
        """Return the function for the impact pressures (S, 1) at the altitudes of the frames, Pa."""
        base, air = altitude_of_origin(context.world), _Air(sensors)

        def read(state: FrameState) -> FloatArray:
            through_air = state.twist[:, :3] - context.environment.wind(state.pose[:, :3])
            ahead = np.maximum(state.to_frame(through_air)[:, 0], 0.0)
            return air.each(impact_pressure, ahead, base + state.pose[:, 2])[:, None]

        return read


@sensor("barometer")
@declared
class Barometer(SensorType):
    """Measures the static pressure (Pa) at its frame's origin.

    Its altitude above mean sea level is z, plus the altitude of the world's origin minus geoid_undulation, if there is
    an origin. By default geoid_undulation is NaN, which stands for EGM96's at the origin. The default noise is that of
    an MS5611 at its highest resolution (TE Connectivity, data sheet 2017: 0.012 mbar).
    """

    rate: float = parameter(50.0, "Hz", "measurements per second", above=0.0)
    sea_level_pressure: float = _AT_SEA_LEVEL
    sea_level_temperature: float = _WARMTH
    temperature_gradient: float = _GRADIENT
    geoid_undulation: float = parameter(
        math.nan, "m", "height of the geoid above the ellipsoid", low=-120.0, high=120.0
    )
    noise: Noise = group(Noise(deviation=1.2, bias_instability=2.0, correlation_time=600.0), "Pa", "pressure")

    channels: ClassVar = ("pressure",)

    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return a sensor_msgs/FluidPressure."""
        return (_fluid_pressure("pressure", self.noise.variance(self.rate)),)

    @classmethod
    def measure(cls, sensors: Sequence[Barometer], context: SensorContext) -> Measure:
        """Return the function for the static pressures (S, 1) at the altitudes of the frames, Pa."""
        air = _Air(sensors)
        undulation = np.array([each.geoid_undulation for each in sensors])
        origin = context.world.origin
        known = 0.0 if origin is None else origin.altitude
        base = np.where(np.isnan(undulation), altitude_of_origin(context.world), known - undulation)

        def read(state: FrameState) -> FloatArray:
            return air.each(pressure, base + state.pose[:, 2])[:, None]

        return read


def altitude_of_origin(world: World) -> float:
    """Return the altitude (m) above mean sea level of the fixed frame's origin; 0 if the world has no place on Earth.

    It uses the shipped EGM96 grid, so that runs give the same bytes on every machine.
    """
    from sim_node.spatial.frames import coarse_geoid_undulation

    origin = world.origin
    if origin is None:
        return 0.0
    return origin.altitude - float(coarse_geoid_undulation(origin.latitude, origin.longitude))


def impact_pressure(
    airspeed: npt.ArrayLike,
    altitude: npt.ArrayLike,
    sea_level: npt.ArrayLike = SEA_LEVEL_PRESSURE,
    layers: FloatArray = _LAYERS,
) -> FloatArray:
    """Return the impact pressure (Pa) of air that is brought to rest isentropically from subsonic airspeeds (m/s).

    altitude: m above mean sea level, which gives the static pressure and temperature. Anderson, Fundamentals of
    Aerodynamics, equation 8.42.
    """
    sound = np.sqrt(_HEAT_RATIO * GAS_CONSTANT * temperature(altitude, layers))
    mach = np.asarray(airspeed, dtype=np.float64) / sound
    exponent = _HEAT_RATIO / (_HEAT_RATIO - 1.0)
    rise = np.expm1(exponent * np.log1p(0.5 * (_HEAT_RATIO - 1.0) * mach**2))
    return np.asarray(pressure(altitude, sea_level, layers) * rise)
