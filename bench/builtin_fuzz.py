"""Half a million hostile frames each to the ground link and the simulator link of the built-in autopilot.

Over real sockets: broken bytes, and whole frames whose fields are anything at all. After each burst a sound question
has to be answered and a sound reading has to get motor commands within 0 to 1: nothing raises, nothing hangs, and
memory does not grow.
"""

from __future__ import annotations

import argparse
import math
import random
import resource
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pymavlink.dialects.v20 import all as dialect

from bench.lockstep_fuzz import BURST, FLAT, HANG, mutated
from sim_node.autopilot.builtin import mission, mission_protocol, parameters, setpoints
from sim_node.autopilot.builtin.ardupilot import ARDUPILOT
from sim_node.autopilot.builtin.autopilot import BuiltinAutopilot
from sim_node.autopilot.builtin.commands import COMMANDS
from sim_node.autopilot.builtin.dialect import Dialect, Mode
from sim_node.autopilot.builtin.px4 import PX4
from sim_node.autopilot.builtin.world import parameters_in
from sim_node.autopilot.codec import EncodeError, frame_bytes
from sim_node.autopilot.connection import Connection, Identity
from sim_node.autopilot.links import endpoint_of
from sim_node.autopilot.parser import Parser
from sim_node.world import load

SYSTEM, GROUND = 1, 255
STEP_US = 4000
# What the ground side listens to, and the simulator side.
FROM_GROUND = sorted({"COMMAND_LONG", "COMMAND_INT", "TIMESYNC", "PING", "SET_MODE", "HEARTBEAT",
                      "FILE_TRANSFER_PROTOCOL", "REQUEST_DATA_STREAM"} | setpoints.NAMES
                     | mission_protocol.NAMES | parameters.NAMES)  # fmt: skip
FROM_SIMULATOR = ("HIL_SENSOR", "ODOMETRY", "HIL_GPS")
TABLES = {str(table.msgname): table for table in dialect.mavlink_map.values()}
REALS = (math.nan, math.inf, -math.inf, 3.4e38, -3.4e38, 1e-45, 0.0, -0.0, -1.0, 1.0, 1e6, 1e9)
BITS = {"char": 8, "int8_t": 8, "uint8_t": 8, "int16_t": 16, "uint16_t": 16, "int32_t": 32, "uint32_t": 32,
        "int64_t": 64, "uint64_t": 64, "uint8_t_mavlink_version": 8}  # fmt: skip


def anything(name: str, chance: random.Random, sequence: int, sender: int = GROUND, target: int = SYSTEM) -> bytes:
    """A whole frame of a message to an autopilot: each field small, extreme, or any value of its type."""
    table = TABLES[name]
    fields: dict[str, Any] = {}
    for field, kind, length in zip(
        table.fieldnames, table.fieldtypes, _in_order_of_names(table, table.array_lengths), strict=True
    ):
        values = [_value(kind, chance) for _ in range(max(length, 1))]
        fields[field] = bytes(v & 0x7F for v in values) if kind == "char" else values if length else values[0]
    fields |= {field: value for field, value in _sense(name, target, chance).items() if field in fields}
    return frame_bytes(name, fields, sender, 190, sequence & 0xFF)


def fuzz_ground(frames: int, seed: int = 1) -> int:
    """So many hostile frames of a ground station; how many there were."""

    def hostile(number: int, chance: random.Random) -> bytes:
        sound = frame_bytes("TIMESYNC", {"tc1": 0, "ts1": number}, GROUND, 190, number & 0xFF)
        whole = anything(chance.choice(FROM_GROUND), chance, number)
        return whole if chance.random() < 0.7 else mutated(chance.choice((sound, whole)), chance)

    done = 0
    for like in (PX4, ARDUPILOT):
        with _running(like) as autopilot:
            done += _fuzz(autopilot, hostile, autopilot.say, frames // 2, seed)
    return done


def fuzz_simulator(frames: int, seed: int = 1) -> int:
    """So many hostile frames of a simulator; how many there were."""

    def hostile(number: int, chance: random.Random) -> bytes:
        return anything(chance.choice(FROM_SIMULATOR), chance, number, SYSTEM)

    with _running() as autopilot:
        return _fuzz(autopilot, hostile, autopilot.tell, frames, seed)


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
        self.autopilot = BuiltinAutopilot(
            craft, dialect, SYSTEM, simulator, [connection], None, self._keep, [connection] if quiet else ()
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
        """A question of the ground's is answered."""
        self.say(frame_bytes("TIMESYNC", {"tc1": 0, "ts1": -number}, GROUND, 190, 0))
        self.heard("TIMESYNC", lambda fields: fields.ts1 == -number)

    def heard(self, name: str, fits: Callable[[Any], bool]) -> None:
        """The ground hears a message that fits."""
        deadline = time.monotonic() + HANG
        while time.monotonic() < deadline:
            try:
                data, _ = self._ground.recvfrom(4096)
            except TimeoutError:
                break
            if any(message.name == name and fits(message.fields) for message in self._heard.feed(data)):
                return
        raise AssertionError(self._why(f"the ground hears no such {name}"))

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


@contextmanager
def _running(dialect: Dialect = ARDUPILOT) -> Iterator[Running]:
    made = Running(dialect)
    try:
        yield made
    finally:
        made.stop()


def _fuzz(
    running: Running, hostile: Callable[[int, random.Random], bytes], send: Callable[[bytes], None],
    frames: int, seed: int,
) -> int:  # fmt: skip
    chance, done = random.Random(seed), 0
    height = 5.0
    while done < frames:
        # In the air and guided again, whatever the last burst has made of it.
        running.flown(height)
        running.command(176, 1, float(ARDUPILOT.modes[Mode.GUIDED].custom))
        running.command(400, 1)
        running.command(22, 0, 0, 0, 0, 0, 0, math.nan)
        running.asked(2 * done + 1)
        for _ in range(BURST):
            try:
                send(hostile(done, chance))
            except EncodeError:
                continue
            done += 1
        running.flown(height)
        running.asked(2 * done + 2)
    return done


def _in_order_of_names(table: Any, lengths: list[int]) -> list[int]:
    by_name = dict(zip(table.ordered_fieldnames, lengths, strict=True))
    return [by_name[name] for name in table.fieldnames]


def _value(kind: str, chance: random.Random) -> Any:
    how = chance.random()
    if kind in ("float", "double"):
        return chance.choice(REALS) if how < 0.3 else chance.uniform(-50.0, 50.0) if how < 0.8 else 0.0
    bits = BITS[kind]
    low = 0 if kind[0] in "uc" else -(1 << bits - 1)
    high = low + (1 << bits) - 1
    if how < 0.5:
        return chance.randrange(30)
    return chance.choice((low, high, 0)) if how < 0.7 else chance.randint(low, high)


def _sense(name: str, target: int, chance: random.Random) -> dict[str, Any]:
    """Fields without which most messages would be left aside at the door."""
    fields: dict[str, Any] = {"target_system": target, "target_component": 1}
    if name.startswith("COMMAND") and chance.random() < 0.9:
        fields["command"] = chance.choice(list(COMMANDS))
    elif name.startswith("MISSION_ITEM") and chance.random() < 0.9:
        fields |= {"command": chance.choice([*mission.ITEMS, mission.DO_JUMP]), "seq": chance.randrange(3)}
    elif name == "MISSION_COUNT" and chance.random() < 0.8:
        fields["count"] = chance.randint(1, 3)
    if chance.random() < 0.9:
        fields |= {"coordinate_frame": chance.choice((1, 7, 8, 9, 5, 6)), "frame": chance.choice((0, 1, 3, 5, 6))}
        fields["mission_type"] = 0
    return fields


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--frames", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for name, fuzz in (("ground", fuzz_ground), ("simulator", fuzz_simulator)):
        fuzz(arguments.frames // 10, arguments.seed)
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
        done = fuzz(arguments.frames, arguments.seed + 1)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"{name:<12}{done:>12,} hostile frames in {time.monotonic() - began:.0f} s, {grown} kB more memory")
        if grown > FLAT:
            print(f"FAILED: memory is not flat, {grown} kB more")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
