"""What an autopilot receives of its vehicle at one instant, from onboard sensors or from the ground truth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.sensors import air_data, groups_of
from sim_node.sensors.measurements import SensorSubscription
from sim_node.sensors.truth import FrameState
from sim_node.simulation import Simulation
from sim_node.world import Multirotor, WorldError
from sim_node.world.problems import Problem, quoted
from sim_node.world.vehicle_checks import sensors_on

# ArduPilot's JSON interface takes this many distances.
MAX_RANGES = 6


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


class SampleSource(Protocol):
    """Reads one vehicle of a run. rate: Samples per simulated second (Hz)."""

    rate: float

    def __init__(self, simulation: Simulation, vehicle: Multirotor) -> None:
        """Raises WorldError where the vehicle is not fit for it."""

    def sample(self, step: int, time_ns: int) -> Sample | None:
        """The vehicle at the present step, time_ns after the start; None where there is nothing to tell."""


# As fast as the world steps, but no faster than ArduPilot's own simulators do (SIM_RATE_HZ).
RATE = 1200.0
# What a rangefinder tells that sees nothing, m: more than any measures.
_TOO_FAR = 1e4


class GroundTruthSource:
    """How base_link truly moves; up to six rangefinders as they read last; airspeed where there is a tube for it."""

    rate = RATE

    def __init__(self, simulation: Simulation, vehicle: Multirotor) -> None:
        sensors = sensors_on(simulation.world, vehicle.body)
        finders = [sensor.name for sensor in sensors if sensor.type == "rangefinder"][:MAX_RANGES]
        self._ranges = [_TOO_FAR] * len(finders)
        self._finders = [simulation.subscribe(name) for name in finders]
        self._has_tube = any(sensor.type == "airspeed" for sensor in sensors)
        self._wind = simulation.wind if simulation.world.wind is not None or self._has_tube else None
        self._truth = simulation.observer([vehicle.body])

    def sample(self, step: int, time_ns: int) -> Sample:
        """The vehicle as it is."""
        from sim_node.sensors.kernels import rate_and_force

        for index, finder in enumerate(self._finders):
            told = finder.newest(step)
            if told is not None:
                self._ranges[index] = float(np.clip(told[0], 0.0, _TOO_FAR))
        state = self._truth()
        felt = rate_and_force(state.pose, state.twist, state.acceleration, state.gravity)[0]
        wind = None if self._wind is None else self._wind(state.pose[:, :3])[0]
        airspeed = None if wind is None or not self._has_tube else _ahead(state, wind)
        pose, velocity = state.pose[0], state.twist[0, :3]
        ranges = tuple(self._ranges)
        return Sample(time_ns, pose, velocity, felt[:3], felt[3:], ranges=ranges, airspeed=airspeed, wind=wind)


def _ahead(state: FrameState, wind: np.ndarray) -> float:
    """The speed of the air from ahead, m/s; a tube feels none from behind."""
    return max(float(state.to_frame(state.twist[:, :3] - wind)[0, 0]), 0.0)


# As far as an imu may be from the origin of base_link, where autopilots take it to be, m.
_AT_ORIGIN = 1e-6
_CELSIUS = 273.15


class OnboardSensors:
    """Imu, magnetometer, barometer and gps, and airspeed where there is one; a Sample for every reading of the imu.

    Raises WorldError for an imu away from the origin of base_link. That there is one of each, the world has checked.
    """

    def __init__(self, simulation: Simulation, vehicle: Multirotor) -> None:
        poses = simulation.snapshot().poses
        first = {sensor.type: sensor for sensor in reversed(sensors_on(simulation.world, vehicle.body))}

        def heard(kind: str) -> tuple[SensorSubscription, FloatArray]:
            name = first[kind].name
            mounting = simulation.frames.lookup(poses, vehicle.body, name)
            if kind == "imu" and np.linalg.norm(mounting[:3]) > _AT_ORIGIN:
                place, where = first[kind].place, np.round(mounting[:3], 6).tolist()
                away = f"is at {where} of {quoted(vehicle.body)}; an autopilot takes it to be at the origin"
                raise WorldError([Problem(place.where, place.key, f"{quoted(name)} {away}")])
            return simulation.subscribe(name), quaternions.to_matrix(mounting[3:])

        self._imu, self._from_imu = heard("imu")
        self._magnetometer, self._from_magnetometer = heard("magnetometer")
        self._barometer, self._gps = heard("barometer")[0], heard("gps")[0]
        self._tube = heard("airspeed")[0] if "airspeed" in first else None
        types = {
            name: sensor
            for group in groups_of(simulation.world)
            for name, sensor in zip(group.names, group.sensors, strict=True)
        }
        self.rate = types[first["imu"].name].rate
        # What the receiver takes its place to be off by: PX4 weighs it by that.
        gps: Any = types[first["gps"].name]
        self._place_off = tuple(math.sqrt(noise.variance(gps.rate)) for noise in (gps.horizontal, gps.vertical))
        origin = simulation.world.origin
        self._base = 0.0 if origin is None else origin.altitude
        self._temperature: float | None = None
        self._truth = simulation.observer([vehicle.body])

    def sample(self, step: int, time_ns: int) -> Sample | None:
        """What the sensors have told since the last; None where the imu has not."""
        felt = self._imu.newest(step)
        if felt is None:
            return None
        state = self._truth()
        field, pressure, fix = self._magnetometer.newest(step), self._barometer.newest(step), self._gps.newest(step)
        tube = None if self._tube is None else self._tube.newest(step)
        if pressure is not None or self._temperature is None:
            # As often as a barometer measures it.
            self._temperature = float(air_data.temperature(self._base + state.pose[0, 2])) - _CELSIUS
        return Sample(
            time_ns,
            state.pose[0],
            state.twist[0, :3],
            self._from_imu @ felt[:3],
            self._from_imu @ felt[3:],
            field=None if field is None else self._from_magnetometer @ field,
            pressure=None if pressure is None else float(pressure[0]),
            altitude=0.0 if pressure is None else air_data.pressure_altitude(float(pressure[0])),
            temperature=self._temperature,
            differential_pressure=None if tube is None else float(tube[0]),
            fix=None if fix is None else Fix(float(fix[0]), float(fix[1]), float(fix[2]), fix[3:], *self._place_off),
        )
