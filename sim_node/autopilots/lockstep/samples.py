"""Samples: the state of a vehicle that an autopilot receives, from onboard sensors or ground truth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from sim_node.simulation import Simulation
from sim_node.simulation.sensors import air_data, groups_of
from sim_node.simulation.sensors.measurements import SensorSubscription
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.frames import Frame, Position
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import WorldError
from sim_node.world.autopilots import Vehicle, sensors_on
from sim_node.world.problems import Problem, quoted

# Time constant with which a filter follows its sensors, s.
LAG = 1.0
_KINDS = ("gps", "magnetometer", "barometer")


class EstimateErrors:
    """Errors of a filter like PX4's when sensors have failed. It follows its sensors with time constant LAG.

    GPS gives the horizontal position, the barometer the height, and the magnetometer the yaw. Sensors that have not
    failed cause no errors: the filter removes their noise.

    Args:
        simulation: The run.
        body: Body that the sensors are fixed to.

    Attributes:
        position: Position error (3,), ENU, m.
        yaw: Yaw error, rad, counterclockwise.
    """

    def __init__(self, simulation: Simulation, body: str) -> None:
        self._run, self._time_ns = simulation, 0
        self._sensors: Mapping[str, str] = {
            sensor.type: sensor.name for sensor in reversed(sensors_on(simulation.world, body)) if sensor.type in _KINDS
        }
        self.position, self.yaw = np.zeros(3), 0.0

    def advance(self, step: int, time_ns: int, attitude: FloatArray) -> bool:
        """Update the errors for the present step, and return whether there are any.

        Args:
            step: The present step.
            time_ns: Time since the start, ns. If it has gone back, the run was reset.
            attitude: True attitude (4,) [x, y, z, w] of the body.
        """
        seconds, self._time_ns = (time_ns - self._time_ns) * 1e-9, time_ns
        if seconds < 0.0:
            self.position[:], self.yaw, seconds = 0.0, 0.0, 0.0
        alterations = self._run.alterations
        failed = {kind: name for kind, name in self._sensors.items() if name in alterations} if alterations else {}
        if not failed and not self.yaw and not any(self.position.tolist()):
            return False
        part = -math.expm1(-seconds / LAG)
        wanted, yaw = np.zeros(3), 0.0
        for kind, name in failed.items():
            sound, found = alterations[name].sound, self._run.sensors[name].newest_by(step)
            if sound is None or found is None:
                continue
            if kind == "gps":
                wanted[:2] = self._metres(np.asarray(found), sound)[:2]
            elif kind == "barometer":
                wanted[2] = air_data.pressure_altitude(float(found[0])) - air_data.pressure_altitude(float(sound[0]))
            else:
                yaw = _heading_error(np.asarray(found), sound, attitude)
        self.position += part * (wanted - self.position)
        self.yaw += part * math.remainder(yaw - self.yaw, math.tau)
        if not failed and np.abs(self.position).max() < 1e-6 and abs(self.yaw) < 1e-9:
            self.position[:], self.yaw = 0.0, 0.0
        return True

    def _metres(self, found: FloatArray, sound: FloatArray) -> FloatArray:
        origin = self._run.world.origin
        assert origin is not None, "a receiver needs one"
        place = origin.latitude, origin.longitude, origin.altitude
        one, other = (Position(each[:3], Frame.LLA).to(Frame.ENU, place).in_frame(Frame.ENU) for each in (found, sound))
        return np.asarray(one - other)


def _heading_error(found: FloatArray, sound: FloatArray, attitude: FloatArray) -> float:
    """Return the error of a heading, rad, counterclockwise, from a measured instead of the true magnetic field."""
    taken, true = quaternions.rotate(attitude, found), quaternions.rotate(attitude, sound)
    return math.remainder(math.atan2(true[1], true[0]) - math.atan2(taken[1], taken[0]), math.tau)


# Number of instances of PX4's topic (ORB_MULTI_MAX_INSTANCES).
MAX_RANGEFINDERS = 4
# Cosine of the maximum angle (2.6 degrees) between straight down and the axis of a sensor that looks down.
_STRAIGHT = 0.999


@dataclass(frozen=True, slots=True, eq=False)
class Distance:
    """A measurement of a rangefinder.

    Attributes:
        number: Index of the rangefinder on the vehicle.
        metres: Distance; -inf below the minimum, inf above the maximum.
        minimum: Minimum distance (m).
        maximum: Maximum distance (m).
        field_of_view: Angle across the cone (rad).
        deviation: Standard deviation of the distance (m).
        attitude: Orientation (4,) [x, y, z, w] of the sensor, which looks along its x axis, in base_link.
    """

    number: int
    metres: float
    minimum: float
    maximum: float
    field_of_view: float
    deviation: float
    attitude: FloatArray


class Rangefinders:
    """The rangefinders that are fixed to a body, up to MAX_RANGEFINDERS.

    Args:
        simulation: The run.
        body: The body's name.
        types: The sensors of the world by name.
    """

    def __init__(self, simulation: Simulation, body: str, types: Mapping[str, Any]) -> None:
        mounted = [sensor.name for sensor in sensors_on(simulation.world, body) if sensor.type == "rangefinder"]
        poses = simulation.snapshot().poses
        self._sensors = []
        for number, name in enumerate(mounted[:MAX_RANGEFINDERS]):
            kind = types[name]
            deviation = float(np.sqrt(kind.noise.variance(kind.rate)))
            attitude = simulation.frames.lookup(poses, body, name)[3:]
            constants = (kind.range_min, kind.range_max, kind.field_of_view, deviation, attitude)
            self._sensors.append((number, simulation.subscribe(name), constants))

    def latest(self, step: int) -> tuple[Distance, ...]:
        """Return the measurements since the last call, at most one of each sensor."""
        if not self._sensors:
            return ()
        latest = ((number, subscribed.latest(step), constants) for number, subscribed, constants in self._sensors)
        return tuple(Distance(number, float(v[0]), *constants) for number, v, constants in latest if v is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """A measurement of an optical flow sensor that looks down.

    Attributes:
        seconds: Time between two measurements (s).
        flow: Flow (2,) about base_link's x and y axes (FLU), rad/s; nan if the ground is out of range.
        rate: Angular velocity (3,) along base_link's axes, rad/s, as the imu measures it.
    """

    seconds: float
    flow: FloatArray
    rate: FloatArray


class FlowSensor:
    """The first optical flow sensor of a body that looks down along the body's z axis, if any.

    Args:
        simulation: The run.
        body: Name of the body.
        types: Sensors of the world by name.
    """

    def __init__(self, simulation: Simulation, body: str, types: Mapping[str, Any]) -> None:
        poses = simulation.snapshot().poses
        self._subscribed = None
        for sensor in sensors_on(simulation.world, body):
            if sensor.type == "optical_flow" and self._subscribed is None:
                to_body = quaternions.to_matrix(simulation.frames.lookup(poses, body, sensor.name)[3:])
                if -to_body[2, 0] >= _STRAIGHT:
                    self._to_body = to_body[:2, 1:]
                    self._seconds = 1.0 / types[sensor.name].rate
                    self._subscribed = simulation.subscribe(sensor.name)

    def latest(self, step: int, rate: FloatArray) -> Flow | None:
        """Return the measurement since the last call, or None.

        Args:
            step: The present step.
            rate: Angular velocity (3,) of the body as the imu measures it (FLU), rad/s.

        Returns:
            The flow along the axes of the body.
        """
        measured = None if self._subscribed is None else self._subscribed.latest(step)
        return None if measured is None else Flow(self._seconds, self._to_body @ measured, rate)


# Number of distances in ArduPilot's JSON interface.
MAX_RANGES = 6


@dataclass(frozen=True, slots=True, eq=False)
class Fix:
    """A GPS measurement.

    Attributes:
        latitude: Latitude, degrees.
        longitude: Longitude, degrees.
        altitude: Altitude above the ellipsoid (m).
        velocity: Velocity (3,), ENU, m/s.
        horizontal: Standard deviation of the position along a horizontal axis (m).
        vertical: Standard deviation of the position along the vertical axis (m).
        undulation: Height of the geoid above the ellipsoid (m).
    """

    latitude: float
    longitude: float
    altitude: float
    velocity: FloatArray
    horizontal: float
    vertical: float
    undulation: float

    @property
    def altitude_msl(self) -> float:
        """Altitude above mean sea level (m)."""
        return self.altitude - self.undulation


class Sample(NamedTuple):
    """State of a vehicle at an instant. None stands for a quantity without a new measurement since the last sample.

    Attributes:
        time_ns: Simulation time since the start (ns).
        pose: Pose (7,) [x, y, z, qx, qy, qz, qw] of base_link in the fixed frame (ENU), m.
        velocity: Velocity (3,) along the fixed frame's axes, m/s.
        rate: Angular velocity (3,) along base_link's axes (FLU), rad/s, as an IMU measures it.
        force: Specific force (3,) along base_link's axes (FLU), m/s².
        field: Magnetic flux density (3,) along base_link's axes, T.
        pressure: Static pressure (Pa).
        altitude: Pressure altitude (m).
        temperature: Temperature of the air (°C).
        differential_pressure: Differential pressure of the airspeed sensor (Pa).
        fix: GPS measurement.
        ranges: Distances of up to six rangefinders (m).
        distances: New measurements of rangefinders.
        flow: Measurement of an optical flow sensor that looks down.
        airspeed: Airspeed (m/s).
        wind: Velocity (3,) of the air, ENU, m/s.
        estimate: Pose (7,) of base_link, ENU, m, as a filter would estimate it from failed sensors; None for the true
            pose.
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
    distances: tuple[Distance, ...] = ()
    flow: Flow | None = None
    airspeed: float | None = None
    wind: FloatArray | None = None
    estimate: FloatArray | None = None


class SampleSource(Protocol):
    """Makes the samples of a vehicle in a run.

    Attributes:
        rate: Samples per second of simulation time (Hz).
    """

    rate: float

    def __init__(self, simulation: Simulation, vehicle: Vehicle) -> None:
        """Create a source. Raises WorldError if the vehicle does not suit it."""

    def sample(self, step: int, time_ns: int) -> Sample | None:
        """Return the vehicle's state at the present step, time_ns after the start; None if there is no sample."""


# Maximum rate (Hz), that of ArduPilot's own simulators (SIM_RATE_HZ). Otherwise there is a sample at each step.
RATE = 1200.0
# Distance (m) of a rangefinder without a target, beyond the range of all sensors.
_TOO_FAR = 1e4


class GroundTruthSource:
    """Samples of the true motion of base_link, with the last distances of up to six rangefinders, and airspeed."""

    rate = RATE

    def __init__(self, simulation: Simulation, vehicle: Vehicle) -> None:
        sensors = sensors_on(simulation.world, vehicle.body)
        finders = [sensor.name for sensor in sensors if sensor.type == "rangefinder"][:MAX_RANGES]
        self._ranges = [_TOO_FAR] * len(finders)
        self._finders = [simulation.subscribe(name) for name in finders]
        self._has_tube = any(sensor.type == "airspeed" for sensor in sensors)
        self._wind = simulation.wind if simulation.world.wind is not None or self._has_tube else None
        self._truth = simulation.observer([vehicle.body])

    def sample(self, step: int, time_ns: int) -> Sample:
        """Return the present state of the vehicle."""
        from sim_node.simulation.sensors.kernels import rate_and_force

        for index, finder in enumerate(self._finders):
            reported = finder.latest(step)
            if reported is not None:
                self._ranges[index] = float(np.clip(reported[0], 0.0, _TOO_FAR))
        state = self._truth()
        imu = rate_and_force(state.pose, state.twist, state.acceleration, state.gravity)[0]
        wind = None if self._wind is None else self._wind(state.pose[:, :3])[0]
        airspeed = None if wind is None or not self._has_tube else _ahead(state, wind)
        pose, velocity = state.pose[0], state.twist[0, :3]
        ranges = tuple(self._ranges)
        return Sample(time_ns, pose, velocity, imu[:3], imu[3:], ranges=ranges, airspeed=airspeed, wind=wind)


def _ahead(state: FrameState, wind: np.ndarray) -> float:
    """Return the airspeed straight ahead (m/s), as a pitot tube measures it; not below 0."""
    return max(float(state.to_frame(state.twist[:, :3] - wind)[0, 0]), 0.0)


# Maximum distance (m) of an IMU from the origin of base_link, where autopilots expect it.
_AT_ORIGIN = 1e-6
_CELSIUS = 273.15


class OnboardSensors:
    """Samples of a vehicle's IMU, magnetometer, barometer and GPS: one for each measurement of the IMU.

    Includes an airspeed sensor, rangefinders, and an optical flow sensor that looks down, if any. The world has checked
    that the vehicle has one sensor of each required type.

    Raises:
        WorldError: The IMU is not at the origin of base_link.
    """

    def __init__(self, simulation: Simulation, vehicle: Vehicle) -> None:
        poses = simulation.snapshot().poses
        first = {sensor.type: sensor for sensor in reversed(sensors_on(simulation.world, vehicle.body))}

        def subscribed(kind: str) -> tuple[SensorSubscription, FloatArray]:
            name = first[kind].name
            mounting = simulation.frames.lookup(poses, vehicle.body, name)
            if kind == "imu" and np.linalg.norm(mounting[:3]) > _AT_ORIGIN:
                place, where = first[kind].place, np.round(mounting[:3], 6).tolist()
                away = f"is at {where} of {quoted(vehicle.body)}; autopilots expect it at the origin"
                raise WorldError([Problem(place.where, place.key, f"{quoted(name)} {away}")])
            return simulation.subscribe(name), quaternions.to_matrix(mounting[3:])

        self._imu, self._from_imu = subscribed("imu")
        self._magnetometer, self._from_magnetometer = subscribed("magnetometer")
        self._barometer, self._gps = subscribed("barometer")[0], subscribed("gps")[0]
        self._tube = subscribed("airspeed")[0] if "airspeed" in first else None
        types: dict[str, Any] = {
            name: sensor
            for group in groups_of(simulation.world)
            for name, sensor in zip(group.names, group.sensors, strict=True)
        }
        self.rate = types[first["imu"].name].rate
        # Standard deviations of the GPS position, by which PX4 weights it.
        gps, barometer = types[first["gps"].name], types[first["barometer"].name]
        self._air = air_data.layers_of(barometer.sea_level_temperature, barometer.temperature_gradient)
        self._deviations = [math.sqrt(noise.variance(gps.rate)) for noise in (gps.horizontal, gps.vertical)]
        self._rangefinders = Rangefinders(simulation, vehicle.body, types)
        self._flow = FlowSensor(simulation, vehicle.body, types)
        origin = simulation.world.origin
        self._base = air_data.altitude_of_origin(simulation.world)
        # The undulation changes by centimetres per kilometre.
        self._undulation = 0.0 if origin is None else origin.altitude - self._base
        self._temperature: float | None = None
        self._errors = EstimateErrors(simulation, vehicle.body)
        self._truth = simulation.observer([vehicle.body])

    def sample(self, step: int, time_ns: int) -> Sample | None:
        """Return the sensors' measurements since the last sample; None if the IMU has no new one."""
        imu = self._imu.latest(step)
        if imu is None:
            return None
        state = self._truth()
        field, pressure, fix = self._magnetometer.latest(step), self._barometer.latest(step), self._gps.latest(step)
        tube = None if self._tube is None else self._tube.latest(step)
        if pressure is not None or self._temperature is None:
            # Updated at the rate of the barometer.
            self._temperature = float(air_data.temperature(self._base + state.pose[0, 2], self._air)) - _CELSIUS
        rate = self._from_imu.dot(imu[:3])
        return Sample(
            time_ns,
            state.pose[0],
            state.twist[0, :3],
            rate,
            self._from_imu.dot(imu[3:]),
            field=None if field is None else self._from_magnetometer @ field,
            pressure=None if pressure is None else float(pressure[0]),
            altitude=0.0 if pressure is None else air_data.pressure_altitude(float(pressure[0])),
            temperature=self._temperature,
            differential_pressure=None if tube is None else float(tube[0]),
            distances=self._rangefinders.latest(step),
            flow=self._flow.latest(step, rate),
            fix=None if fix is None else self._fix(fix),
            estimate=self._estimate(step, time_ns, state.pose[0]),
        )

    def _estimate(self, step: int, time_ns: int, pose: FloatArray) -> FloatArray | None:
        """Return the pose that a filter would estimate from failed sensors; None if none has failed."""
        errors = self._errors
        if not errors.advance(step, time_ns, pose[3:]):
            return None
        turned = quaternions.multiply(quaternions.exp(np.array([0.0, 0.0, errors.yaw])), pose[3:])
        return np.concatenate([pose[:3] + errors.position, turned])

    def _fix(self, measured: FloatArray) -> Fix:
        latitude, longitude, altitude = measured[:3].tolist()
        horizontal, vertical = self._deviations
        return Fix(latitude, longitude, altitude, measured[3:], horizontal, vertical, self._undulation)
