"""The built-in autopilot's rovers on the simulation itself, step by step and without links."""

from __future__ import annotations

import math

import numpy as np
from step_by_step import in_body

from sim_node.autopilots.builtin.dialect import Dialect
from sim_node.autopilots.builtin.flight import Flight
from sim_node.autopilots.builtin.px4 import PX4_ROVER
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.autopilots.builtin.world import parameters_in
from sim_node.simulation import Simulation
from sim_node.world import World, loads
from sim_node.world.base_types.channels import BaseChannels
from sim_node.world.bases import Base

HZ = 50


def world(model: str = "rover", keys: str = "") -> World:
    """Flat ground with one rover that has the built-in autopilot; `keys` are further ones of its base."""
    return loads(f"""
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: 0.02}}
physics: {{integrator: implicitfast, timestep: {0.01 if "kinematic" in keys else 0.002}}}
ground: {{friction: 0.9}}
bases: [{{name: rover, model: {model}, sensors: false, autopilot: {{type: mavlink_builtin}} {keys}}}]
sensors:
  - {{name: rover/IMU, type: imu, rate: {HZ}}}
  - {{name: rover/MAG, type: magnetometer}}
  - {{name: rover/BARO, type: barometer}}
  - {{name: rover/GPS, type: gps}}
""")


class Driven:
    """A rover and its autopilot. path: rows [x y yaw vx vy wz] of ground truth, the twist along its own axes."""

    def __init__(self, model: str = "rover", dialect: Dialect = PX4_ROVER, keys: str = "") -> None:
        of = world(model, keys)
        (base,) = of.of(Base)
        self.parameters: VehicleParameters = parameters_in(of, base)
        self.simulation = Simulation(of, sensors=False)
        self.said: list[str] = []
        self.flight = Flight(self.parameters, dialect, report=lambda severity, text: self.said.append(text))
        self._channels = BaseChannels(base.channels, base.shape, base.limits.linear, base.limits.angular)
        self._vehicle = self.simulation.vehicles["rover"]
        self._observe = self.simulation.observer([base.body])
        self.rows: list[list[float]] = []
        self.run(0.2)

    def run(self, seconds: float) -> np.ndarray:
        """Run, and return the rows of that time."""
        for _ in range(round(seconds * HZ)):
            state = self._observe()
            pose, velocity = state.pose[0], state.twist[0, :3]
            rate = in_body(pose[3:], state.twist[0, 3:])
            time_us = 1_000_000 + self.simulation.time_ns // 1000
            commands = self.flight.step(time_us, pose[:3], pose[3:], velocity, rate)
            self._vehicle.cmd_vel(*self._channels.twist(commands.tolist()), timeout=0.0)
            x, y, z, w = pose[3:].tolist()
            yaw = math.atan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))
            self.rows.append([*pose[:2], yaw, *in_body(pose[3:], velocity)[:2], state.twist[0, 5]])
            self.simulation.step()
        return np.array(self.rows[-round(seconds * HZ) :])

    @property
    def place(self) -> np.ndarray:
        """[x y]."""
        return np.array(self.rows[-1][:2])
