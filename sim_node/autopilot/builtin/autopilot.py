"""The program: one loop over the simulator link and the ground links, until it is stopped."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sim_node.autopilot.builtin import mission_protocol, parameters, setpoints
from sim_node.autopilot.builtin.commands import mode_of, obey
from sim_node.autopilot.builtin.flight import WARNING, Flight, Refused, rehearse
from sim_node.autopilot.builtin.memory import Memory
from sim_node.autopilot.builtin.mission import Mission
from sim_node.autopilot.builtin.mission_protocol import MissionProtocol
from sim_node.autopilot.builtin.parameters import answer_parameters
from sim_node.autopilot.builtin.setpoints import Setpoints
from sim_node.autopilot.builtin.simulator import PAUSE_S, SimulatorLink
from sim_node.autopilot.builtin.streams import MESSAGES, Streams
from sim_node.autopilot.builtin.vehicle_parameters import VehicleParameters
from sim_node.autopilot.codec import EncodeError, Message
from sim_node.autopilot.connection import Connection
from sim_node.autopilot.links import Address
from sim_node.geometry.arrays import FloatArray

HEARTBEAT_NS, TICK_NS = 1_000_000_000, 50_000_000
# Nothing came from a simulator that is connected for so long: told once.
SILENT_NS = 2_000_000_000
_TEXT, _MAX_CHUNKS = 50, 5  # of STATUSTEXT

Tell = Callable[[str], None]


class BuiltinAutopilot:
    """An autopilot with its links. `run` until `stop`; everything else belongs to the thread that runs it.

    system: its MAVLink id. tell: takes a line for people.
    """

    def __init__(
        self,
        parameters: VehicleParameters,
        system: int,
        simulator: tuple[str, int],
        connections: Sequence[Connection],
        memory: Memory | None = None,
        tell: Tell = lambda line: None,
    ) -> None:
        self.parameters, self.system = parameters, system
        self.connections = list(connections)
        self.streams = Streams()
        self.link = SimulatorLink(simulator, system, self._step, self._tell_of, lambda: self.flight.armed)
        self._memory, self._tell = memory or Memory(-1), tell
        self._texts = 0
        self.flight = self._new_flight()
        remembered = self._memory.load()
        self._setpoints, self._missions = Setpoints(), MissionProtocol(self)
        self._reached = -1
        self._shown: tuple[bool, int] | None = None
        self._stopping = False
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_read.setblocking(False)
        self._watched: dict[object, int] = {}
        self._beat_ns = self._tick_ns = self._heard_ns = 0
        self._said_silent = self._said_senseless = False
        if remembered is not None:
            self.flight.take_back(remembered)
        rehearse(parameters)

    def run(self) -> None:
        """Until `stop`."""
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        try:
            while not self._stopping:
                self._turn()
        finally:
            self.link.close()
            for connection in self.connections:
                connection.link.close()
            self._selector.close()

    def stop(self) -> None:
        """Ends `run`, from any thread."""
        self._stopping = True
        with suppress(OSError):
            self._wake_write.send(b"\0")

    # What parts of it say

    def say(self, severity: int, text: str) -> None:
        """STATUSTEXT, in chunks where it is long."""
        self._tell(text)
        data = text.encode()[: _TEXT * _MAX_CHUNKS]
        chunks = [data[at : at + _TEXT] for at in range(0, len(data), _TEXT)]
        if len(chunks) > 1:
            self._texts = self._texts % 65535 + 1
        for number, chunk in enumerate(chunks):
            fields = {"severity": severity, "text": chunk}
            if len(chunks) > 1:
                fields |= {"id": self._texts, "chunk_seq": number}
            self._send_all("STATUSTEXT", fields)

    def answer(self, name: str, fields: Mapping[str, Any], connection: Connection, address: Address) -> None:
        """One message to whom it may concern; what does not fit into it is left unsaid."""
        with suppress(EncodeError):
            connection.send(name, fields, address, time.monotonic_ns())

    def tell_all(self, name: str) -> None:
        """One of MESSAGES to all, where there is something to tell."""
        fields = MESSAGES[name].tell(self)
        if fields is not None:
            self._send_all(name, fields)

    def beat_if_changed(self) -> None:
        """A heartbeat out of turn where mode or arming has changed."""
        shown = self.flight.armed, int(self.flight.mode)
        if shown != self._shown:
            self._shown = shown
            self.tell_all("HEARTBEAT")
            self.tell_all("EXTENDED_SYS_STATE")

    def _send_all(self, name: str, fields: Mapping[str, Any]) -> None:
        now_ns = time.monotonic_ns()
        for connection in self.connections:
            with suppress(EncodeError):
                connection.send_to_all(name, fields, now_ns)

    # The loop

    def _turn(self) -> None:
        now_ns = time.monotonic_ns()
        wait = max(0, self._tick_ns - now_ns) / 1e9
        if not self.link.connected:
            wait = min(wait, PAUSE_S)
        for key, _ in self._selector.select(wait):
            if key.data is None:
                with suppress(BlockingIOError):
                    self._wake_read.recv(64)
            elif key.data is self.link:
                self._heard_ns, self._said_silent = time.monotonic_ns(), False
                if not self.link.read():
                    self._watch(self.link, -1)
                    self._tell(
                        f"the simulator at {_place(self.link.address)} hung up"
                        + (" at once: another autopilot flies this vehicle" if self.link.hung_up_at_once else "")
                    )
            else:
                self._listen(key.data, time.monotonic_ns())
        now_ns = time.monotonic_ns()
        if not self.link.connected and self.link.connect():
            self._heard_ns = now_ns
            self._watch(self.link, self.link.fileno())
            self._tell(f"simulator at {_place(self.link.address)}")
        if now_ns >= self._tick_ns:
            self._tick_ns = now_ns + TICK_NS
            self._tick(now_ns)

    def _tick(self, now_ns: int) -> None:
        for connection in self.connections:
            before = connection.state
            connection.keep_up(now_ns)
            if connection.state == "connecting":
                connection.connected(now_ns)
            if connection.state == "down" and before == "down" and connection.why:
                self._complain(connection)
            self._watch(connection, connection.link.fileno())
        self._setpoints.watch(self, now_ns)
        self._missions.tick(now_ns)
        self.beat_if_changed()
        if now_ns - self._beat_ns >= HEARTBEAT_NS:
            self._beat_ns = now_ns
            self.tell_all("HEARTBEAT")
        if self.link.connected and not self._said_silent and now_ns - self._heard_ns > SILENT_NS:
            self._said_silent = True
            self._tell("the simulator is silent: paused, or waiting for somebody else")

        if self.link.senseless and not self._said_senseless:
            self._said_senseless = True
            self.say(WARNING, "the simulator tells of places, rotations or rates that are none: left aside")

    def _complain(self, connection: Connection) -> None:
        if connection.openings == 0:
            self._tell(f"{connection.name}: {connection.why}; trying on")

    def _watch(self, what: Any, number: int) -> None:
        """Keeps the selector at what is open."""
        before = self._watched.pop(what, -1)
        if before == number >= 0:
            self._watched[what] = number
            return
        if before >= 0:
            with suppress(KeyError, ValueError, OSError):
                self._selector.unregister(before)
        if number >= 0:
            self._selector.register(number, selectors.EVENT_READ, what)
            self._watched[what] = number

    # The simulator's side

    def _step(
        self,
        time_us: int,
        position: FloatArray,
        attitude: FloatArray,
        velocity: FloatArray,
        rate: FloatArray,
        reset: bool,
    ) -> FloatArray:
        if reset:
            self._begin_anew()
        flight = self.flight
        if time_us == flight.time_us:
            return flight.commands  # the link broke before the answer was there
        return flight.step(time_us, position, attitude, velocity, rate)

    def _tell_of(self, time_us: int) -> None:
        """Telemetry of a step, while the simulator is at the next."""
        flight = self.flight
        if flight.reached != self._reached:
            self._reached = flight.reached
            if flight.reached >= 0:
                self._send_all("MISSION_ITEM_REACHED", {"seq": flight.reached})
                self.tell_all("MISSION_CURRENT")
        for name in self.streams.due(time_us):
            self.tell_all(name)

    def _new_flight(self) -> Flight:
        flight = Flight(self.parameters, self.say)
        flight.changed = lambda: self._memory.keep(flight.memory())
        return flight

    def _begin_anew(self) -> None:
        """The world has been reset: all as at the start, but for a mission that was sent."""
        items = self.flight.mission.items
        if not self.flight.time_us:
            return
        self.flight = self._new_flight()
        if self.parameters.mission is None:
            self.flight.mission = Mission(items)
        self._setpoints, self._reached = Setpoints(), -1
        self.flight.changed()

    # The ground's side

    def _listen(self, connection: Connection, now_ns: int) -> None:
        for message, address in connection.receive(now_ns):
            fields = message.fields
            to_system = getattr(fields, "target_system", 0)
            to_component = getattr(fields, "target_component", 0)
            if to_system in (0, self.system) and to_component in (0, 1) and message.system != self.system:
                try:
                    self._take(message, connection, address, now_ns)
                except (ArithmeticError, ValueError, LookupError) as error:
                    # A value that nobody thought of must not end the flight.
                    self.say(WARNING, f"{message.name} left aside: {error}")

    def _take(self, message: Message, connection: Connection, address: Address, now_ns: int) -> None:
        name, fields = message.name, message.fields
        if name in ("COMMAND_LONG", "COMMAND_INT"):
            obey(self, message, connection, address)
        elif name in setpoints.NAMES:
            self._setpoints.take(self, name, fields, now_ns)
        elif name in mission_protocol.NAMES:
            self._missions.take(message, connection, address, now_ns)
        elif name in parameters.NAMES:
            answer_parameters(self, message, connection, address)
        elif name == "TIMESYNC" and fields.tc1 == 0:
            self.answer("TIMESYNC", {"tc1": self.flight.time_us * 1000, "ts1": fields.ts1}, connection, address)
        elif name == "PING" and _asks(fields):
            target = {"target_system": message.system, "target_component": message.component}
            self.answer("PING", {"time_usec": fields.time_usec, "seq": fields.seq} | target, connection, address)
        elif name == "SET_MODE":
            try:
                self.flight.set_mode(mode_of(fields.custom_mode))
            except Refused as refusal:
                self.say(WARNING, f"mode: {refusal}")
            self.beat_if_changed()


def _asks(fields: Any) -> bool:
    """Whether a PING asks, and does not answer."""
    return not fields.target_system and not fields.target_component


def _place(address: tuple[str, int]) -> str:
    return f"tcp {address[0]}:{address[1]}"
