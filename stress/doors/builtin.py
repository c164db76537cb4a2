"""Hostile frames on both links of the built-in autopilot, over real sockets.

Before and after each burst a sound question has to be answered, and a sound measurement has to get motor commands
within 0 to 1.
"""

from __future__ import annotations

import math
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT
from sim_node.autopilots.builtin.autopilot import BuiltinAutopilot
from sim_node.autopilots.builtin.dialect import Dialect, Mode
from sim_node.autopilots.builtin.ground_messages import handle
from sim_node.autopilots.builtin.px4 import PX4
from sim_node.autopilots.builtin.world import parameters_in
from sim_node.mavlink.codec import frame_bytes
from sim_node.mavlink.connection import Connection, Identity
from sim_node.mavlink.links import endpoint_of
from sim_node.mavlink.parser import Parser
from sim_node.world import load
from stress.mavlink import FROM_GROUND, FROM_SIMULATOR, GROUND, SYSTEM, anything
from stress.mutations import broken_bytes

STEP_US = 4000
# PX4's main mode AUTO with its sub mode LOITER.
PX4_AUTO, PX4_AUTO_LOITER = 4.0, 3.0
# A sound frame is answered at once; far more than that, on a busy machine too, is a hang (s).
HANG = 100.0
# Datagrams may be lost: telemetry of a burst alone can fill the buffer of the ground's socket. Each is asked for again
# after so long (s), as in MAVLink's services.
AGAIN = 2.0
HEIGHT = 5.0


class Ground:
    """Frames of a ground station, most of them whole."""

    burst = 40
    dialect = ARDUPILOT
    # The parameters of DO_SET_MODE for flying to places that are commanded.
    guided: Sequence[float] = (ARDUPILOT.modes[Mode.GUIDED].custom,)

    def __init__(self, folder: Path) -> None:
        self._running = Running(self.dialect)
        self._number = 0
        self._ready()

    def seeds(self) -> Sequence[bytes]:
        """A question that is always answered."""
        return [frame_bytes("TIMESYNC", {"tc1": 0, "ts1": 5}, GROUND, 190, 0)]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """Any message that an autopilot listens to, with any fields; or broken."""
        whole = anything(rng.choice(FROM_GROUND), rng, rng.randrange(256))
        return whole if rng.random() < 0.7 else broken_bytes(rng.choice((seed, whole)), rng)

    def feed(self, data: bytes) -> str:
        """It is sent."""
        self._running.say(data)
        return "sent"

    def settle(self) -> None:
        """It answers and commands its motors; then it is in the air and guided again, whatever the burst made of it."""
        self._running.flown(HEIGHT)
        self._ask()
        self._ready()

    def close(self) -> None:
        """Ends it. Raises AssertionError where it had failed."""
        self._running.stop()

    def _ready(self) -> None:
        self._running.flown(HEIGHT)
        self._running.command(176, 1, *self.guided)
        self._running.command(400, 1)
        self._running.command(22, 0, 0, 0, 0, 0, 0, math.nan)
        self._ask()

    def _ask(self) -> None:
        self._number += 1
        self._running.asked(self._number)


class GroundLikePx4(Ground):
    """The same, of an autopilot that answers like PX4."""

    dialect = PX4
    guided = (PX4_AUTO, PX4_AUTO_LOITER)


class Simulator(Ground):
    """Frames of a simulator, all of them whole."""

    def seeds(self) -> Sequence[bytes]:
        """Zeros of each kind."""
        return [frame_bytes(name, {}, SYSTEM, 200, 0) for name in FROM_SIMULATOR]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """Any fields."""
        return anything(rng.choice(FROM_SIMULATOR), rng, rng.randrange(256), SYSTEM)

    def feed(self, data: bytes) -> str:
        """It is sent."""
        self._running.tell(data)
        return "sent"


class Running:
    """An autopilot in a thread, and both of its other ends: a ground station, and a simulator that stands still."""

    def __init__(self, dialect: Dialect = ARDUPILOT, *, quiet: bool = False) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._ground = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._ground.bind(("127.0.0.1", 0))
        self._ground.settimeout(HANG)
        world = load("guided")
        craft = replace(parameters_in(world, world.vehicles[0]), mission=None)
        connection = Connection(endpoint_of(f"udpout:127.0.0.1:{self._ground.getsockname()[1]}"), Identity(SYSTEM, 1))
        self.told: list[str] = []
        simulator = self._server.getsockname()
        listeners = [connection] if quiet else ()
        self.autopilot = BuiltinAutopilot(
            craft, dialect, SYSTEM, simulator, [connection], handle, None, self._keep, listeners
        )
        self.failure: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._simulator, _ = self._server.accept()
        self._simulator.settimeout(HANG)
        self._simulator.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._parser, self._heard = Parser(datagrams=False), Parser(datagrams=True)
        self.time_us = STEP_US
        _, self._place = self._ground.recvfrom(2048)

    def say(self, data: bytes) -> None:
        """What a ground station sends."""
        self._ground.sendto(data, self._place)

    def tell(self, data: bytes) -> None:
        """What a simulator sends; the answers to it are nobody's."""
        self._simulator.sendall(data)
        while select.select([self._simulator], [], [], 0.0)[0]:
            assert self._simulator.recv(65536), self._why("it hung up")

    def command(self, number: int, *params: float) -> None:
        """A sound COMMAND_LONG."""
        fields = {f"param{at}": value for at, value in enumerate(params, start=1)} | {"command": number}
        fields |= {"target_system": SYSTEM, "target_component": 1}
        self.say(frame_bytes("COMMAND_LONG", fields, GROUND, 190, 0))

    def asked(self, number: int) -> None:
        """A question of the ground's is answered, at once or when it is repeated."""
        deadline = time.monotonic() + HANG
        while time.monotonic() < deadline:
            self.say(frame_bytes("TIMESYNC", {"tc1": 0, "ts1": -number}, GROUND, 190, 0))
            if self._receives("TIMESYNC", lambda fields: fields.ts1 == -number):
                return
        raise AssertionError(self._why("the ground's question is not answered"))

    def heard(self, name: str, fits: Callable[[Any], bool]) -> None:
        """The ground receives a message that fits, without asking for it."""
        deadline = time.monotonic() + HANG
        while time.monotonic() < deadline:
            if self._receives(name, fits):
                return
        raise AssertionError(self._why(f"the ground receives no such {name}"))

    def _receives(self, name: str, fits: Callable[[Any], bool]) -> bool:
        """Whether the ground receives a message that fits before it asks again."""
        deadline = time.monotonic() + AGAIN
        while time.monotonic() < deadline:
            if select.select([self._ground], [], [], AGAIN)[0]:
                data, _ = self._ground.recvfrom(4096)
                if any(message.name == name and fits(message.fields) for message in self._heard.feed(data)):
                    return True
        return False

    def flown(self, height: float, steps: int = 3) -> list[float]:
        """The commands of the last of some readings, level and still at a height (m)."""
        commands: list[float] = []
        for _ in range(steps):
            self.time_us += STEP_US
            level = {"x": 0.0, "y": 0.0, "z": -height, "q": (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)), "frame_id": 1}
            sensed = {"time_usec": self.time_us, "zacc": -9.81, "fields_updated": 0x1FFF}
            told = (("ODOMETRY", level), ("HIL_SENSOR", sensed))
            self._simulator.sendall(b"".join(frame_bytes(name, fields, SYSTEM, 200, 0) for name, fields in told))
            commands = self._answer()
            assert all(0.0 <= command <= 1.0 for command in commands), commands
        return commands

    def stop(self) -> None:
        """Ends it. Raises AssertionError where it had failed."""
        self.autopilot.stop()
        self._thread.join(HANG)
        for end in (self._simulator, self._server, self._ground):
            end.close()
        assert not self._thread.is_alive(), "it does not stop"
        assert not self.failure, self._why("it failed")

    def _answer(self) -> list[float]:
        deadline = time.monotonic() + HANG
        while time.monotonic() < deadline:
            try:
                data = self._simulator.recv(65536)
            except TimeoutError:
                break
            assert data, self._why("it hung up")
            for message in self._parser.feed(data):
                if message.name == "HIL_ACTUATOR_CONTROLS" and message.fields.time_usec == self.time_us:
                    return list(message.fields.controls)
        raise AssertionError(self._why("the simulator gets no answer"))

    def _keep(self, line: str) -> None:
        self.told = [*self.told[-20:], line]

    def _why(self, what: str) -> str:
        return f"{what}: {self.failure or self.told}"

    def _run(self) -> None:
        try:
            self.autopilot.run()
        except BaseException as failure:
            self.failure.append(failure)
            raise
