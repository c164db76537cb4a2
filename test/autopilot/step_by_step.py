"""The built-in autopilot's flight on the simulation itself, step by step and without links."""

from __future__ import annotations

import math
import select
import socket
from typing import Any

import numpy as np

from sim_node.autopilots.builtin.answers import GroundMessage
from sim_node.autopilots.builtin.autopilot import TICK_NS, BuiltinAutopilot
from sim_node.autopilots.builtin.dialect import Dialect, Mode
from sim_node.autopilots.builtin.flight import Flight
from sim_node.autopilots.builtin.ground_messages import handle
from sim_node.autopilots.builtin.px4 import PX4
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.mavlink.codec import MavlinkMessage, frame_bytes, kind_named
from sim_node.mavlink.connection import Connection, Identity
from sim_node.mavlink.links import endpoint_of
from sim_node.mavlink.parser import Parser
from sim_node.simulation import Simulation
from sim_node.world import load

ORIGIN = (47.397742, 8.545594, 488.0)
# Of the Earth at that latitude, m per degree: WGS84's radii of curvature.
E2, A = 6.69437999014e-3, 6378137.0
_W = math.sqrt(1.0 - E2 * math.sin(math.radians(ORIGIN[0])) ** 2)
PER_LATITUDE = math.radians(1.0) * (A * (1.0 - E2) / _W**3 + ORIGIN[2])
PER_LONGITUDE = math.radians(1.0) * (A / _W + ORIGIN[2]) * math.cos(math.radians(ORIGIN[0]))


def in_body(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """A vector in the axes that a quaternion turns to; SciPy's Rotation would take a third of the time of a flight."""
    x, y, z, w = quaternion.tolist()
    a, b, c = vector.tolist()
    p, q, r = 2.0 * (z * b - y * c), 2.0 * (x * c - z * a), 2.0 * (y * a - x * b)
    return np.array([a + w * p + z * q - y * r, b + w * q + x * r - z * p, c + w * r + y * p - x * q])


class Flown:
    """A vehicle of the world `guided` and its flight."""

    def __init__(self, parameters: VehicleParameters, dialect: Dialect = PX4) -> None:
        # A timestep for each step: four would take twice as long, and show the same.
        self.simulation = Simulation(load("guided").with_values({"physics.timestep": 0.004}), sensors=False)
        self.said: list[str] = []
        self.flight = self._flight(parameters, dialect)
        self._motors = self.simulation.vehicles["drone"].command
        self._observe = self.simulation.observer(["drone/base_link"])
        self.path: list[list[float]] = []
        self.run(0.1)

    def _flight(self, parameters: VehicleParameters, dialect: Dialect) -> Flight:
        return Flight(parameters, dialect, report=lambda severity, text: self.said.append(text))

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * 250)):
            state = self._observe()
            pose, velocity = state.pose[0], state.twist[0, :3]
            rate = in_body(pose[3:], state.twist[0, 3:])
            time_us = 1_000_000 + self.simulation.time_ns // 1000
            self._motors[:] = self.flight.step(time_us, pose[:3], pose[3:], velocity, rate)
            self.path.append([*pose.tolist(), *velocity.tolist()])
            self.simulation.step()

    @property
    def pose(self) -> np.ndarray:
        return np.array(self.path[-1][:7])

    @property
    def velocity(self) -> np.ndarray:
        return np.array(self.path[-1][7:])

    def in_the_air(self, height: float = 5.0) -> None:
        self.flight.arm()
        self.flight.take_off(height)
        self.run(8.0)
        self.flight.set_mode(Mode.GUIDED)


class Commanded(Flown):
    """The same by messages of a ground station; the autopilot's wall clock is the simulation's."""

    def _flight(self, parameters: VehicleParameters, dialect: Dialect) -> Flight:
        self._ground = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._ground.bind(("127.0.0.1", 0))
        self._ground.setblocking(False)
        self._link = Connection(endpoint_of(f"udpout:127.0.0.1:{self._ground.getsockname()[1]}"), Identity(1, 1))
        self._parser = Parser(datagrams=True)
        self.autopilot = BuiltinAutopilot(
            parameters, dialect, 1, ("127.0.0.1", 9), [self._link], handle, None, self.said.append
        )
        self.autopilot.tick(0)
        return self.autopilot.flight

    @property
    def now_ns(self) -> int:
        return self.simulation.time_ns

    def run(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds * 1e9 / TICK_NS))):
            super().run(min(seconds, TICK_NS * 1e-9))
            self.autopilot.tick(self.now_ns)

    def say(self, name: str, **fields: Any) -> list[MavlinkMessage]:
        """Send a message, and return what is answered."""
        self.answers()
        known = kind_named(name).fields._fields
        fields |= {field: 1 for field in ("target_system", "target_component", "target") if field in known}
        [message] = Parser(datagrams=True).feed(frame_bytes(name, fields, 255, 190, 0))
        handle(self.autopilot, GroundMessage(message, self._link, self._ground.getsockname(), self.now_ns))
        return self.answers()

    def command(self, number: int, *params: float) -> int:
        """The result (MAV_RESULT) of a COMMAND_LONG."""
        return self._result(self.say_command(number, *params))

    def say_command(self, number: int, *params: float) -> list[MavlinkMessage]:
        """Send a COMMAND_LONG, and return what is answered."""
        values = {f"param{at}": value for at, value in enumerate(params, start=1)}
        return self.say("COMMAND_LONG", command=number, **values)

    def command_int(self, number: int, *params: float, frame: int = 6, east: float, north: float, up: float) -> int:
        """The result of a COMMAND_INT with a position."""
        place = item(number, *params, east=east, north=north, up=up) | {"frame": frame}
        del place["autocontinue"]
        return self._result(self.say("COMMAND_INT", **place))

    def answers(self) -> list[MavlinkMessage]:
        found: list[MavlinkMessage] = []
        while select.select([self._ground], [], [], 0.0)[0]:
            found += self._parser.feed(self._ground.recv(4096))
        return found

    def velocity_setpoint(self, north: float, east: float, down: float = 0.0) -> None:
        velocity = {"vx": north, "vy": east, "vz": down}
        self.say("SET_POSITION_TARGET_LOCAL_NED", coordinate_frame=1, type_mask=0x0FC7, **velocity)

    @staticmethod
    def _result(answers: list[MavlinkMessage]) -> int:
        [ack] = [answer.fields.result for answer in answers if answer.name == "COMMAND_ACK"]
        return int(ack)

    def close(self) -> None:
        self._link.close()
        self._ground.close()


def item(command: int, *params: float, east: float = 0.0, north: float = 0.0, up: float = 0.0) -> dict[str, Any]:
    """A MISSION_ITEM_INT near the origin, its place by the Earth's radii of curvature; up above home."""
    values = {f"param{n}": v for n, v in enumerate((*params, *[0.0] * (4 - len(params))), start=1)}
    x = round((ORIGIN[0] + north / PER_LATITUDE) * 1e7) if north or east else round(ORIGIN[0] * 1e7)
    y = round((ORIGIN[1] + east / PER_LONGITUDE) * 1e7)
    return {"frame": 6, "command": command, "autocontinue": 1, **values, "x": x, "y": y, "z": up}
