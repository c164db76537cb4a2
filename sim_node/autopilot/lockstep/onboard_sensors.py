"""A vehicle's own sensors, for autopilots that fly by them: the first of each type, along base_link's axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sim_node.autopilot.lockstep.sample import Fix, Sample
from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.sensors import air_data, groups_of
from sim_node.sensors.measurements import SensorSubscription
from sim_node.simulation import Simulation
from sim_node.world import Multirotor, WorldError
from sim_node.world.autopilot_checks import sensors_on
from sim_node.world.problems import Problem, quoted

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
