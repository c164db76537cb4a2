"""The autopilot's main loop over the simulator link and the ground links."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.autopilots.builtin import mission_protocol
from sim_node.autopilots.builtin.answers import GroundMessage
from sim_node.autopilots.builtin.dialect import WARNING, Dialect, Mode, OrderRefused
from sim_node.autopilots.builtin.fence import Fence
from sim_node.autopilots.builtin.flight import Flight
from sim_node.autopilots.builtin.memory import Memory, restore
from sim_node.autopilots.builtin.mission_protocol import MissionProtocol
from sim_node.autopilots.builtin.parameters import ParameterLists
from sim_node.autopilots.builtin.setpoints import Setpoints, Sticks
from sim_node.autopilots.builtin.settings import Settings
from sim_node.autopilots.builtin.simulator import PAUSE_S, link_to
from sim_node.autopilots.builtin.streams import MESSAGES, Streams
from sim_node.autopilots.builtin.tasks import Task, Tilt
from sim_node.autopilots.builtin.vehicle_parameters import VehicleParameters
from sim_node.mavlink.codec import EncodeError, MavlinkMessage
from sim_node.mavlink.connection import Connection
from sim_node.spatial.geometry.arrays import FloatArray

HEARTBEAT_NS, TICK_NS = 1_000_000_000, 50_000_000
# If a connected simulator sends nothing for this long, a line says so, once.
SILENT_NS = 2_000_000_000
_TEXT, _MAX_CHUNKS = 50, 5  # STATUSTEXT

Show = Callable[[str], None]
# Executes and answers a message from the ground.
Handle = Callable[["BuiltinAutopilot", GroundMessage], None]


class BuiltinAutopilot:
    """An autopilot with its links.

    Call `run`, and `stop` from any thread. All other methods belong to the thread of `run`.

    If no simulator address is given, the simulator is in this process and exchanges bytes with `link`.

    Attributes:
        system: MAVLink system id.
        connections: Ground links. Those in the argument `quiet` carry only heartbeats until a peer responds.
        link: Simulator link.
        flight: The flight, replaced after a reset or reboot.
    """

    def __init__(
        self,
        parameters: VehicleParameters,
        dialect: Dialect,
        system: int,
        simulator: tuple[str, int] | None,
        connections: Sequence[Connection],
        handle: Handle,
        memory: Memory | None = None,
        show: Show = lambda line: None,
        quiet: Sequence[Connection] = (),
    ) -> None:
        self.parameters, self.dialect, self.system = parameters, dialect, system
        self.connections, self._quiet = list(connections), set(quiet)
        self.streams, self.parameter_lists = Streams(dialect.name), ParameterLists()
        self.link = link_to(simulator, system, self._step, self._publish, lambda: self.flight.armed, self._order)
        self._handle, self._memory, self._show = handle, memory or Memory(-1), show
        self._texts = 0
        self.flight = self._new_flight()
        remembered = self._memory.load()
        self.setpoints, self.sticks, self.missions = (
            Setpoints(),
            Sticks(),
            MissionProtocol(self.flight, self.send_to_all),
        )
        self._reached = -1
        self._shown: tuple[bool, int] | None = None
        self._stopping = False
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_read.setblocking(False)
        self._watched: dict[object, int] = {}
        self._beat_ns = self._tick_ns = self._received_ns = 0
        self._reported_silent = self._reported_invalid = False
        self.refused = set[str]()
        if remembered is not None:
            restore(self.flight, remembered)
        _rehearse(parameters)

    def run(self) -> None:
        """Run until `stop` is called."""
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
        """End `run`, from any thread."""
        self._stopping = True
        with suppress(OSError):
            self._wake_write.send(b"\0")

    # Messages from the autopilot's parts

    def report(self, severity: int, text: str) -> None:
        """Send a STATUSTEXT on all links, in chunks if it is long, and print it.

        Args:
            severity: MAV_SEVERITY.
            text: The text; only its first 250 bytes are sent.
        """
        self._show(text)
        data = text.encode()[: _TEXT * _MAX_CHUNKS]
        chunks = [data[at : at + _TEXT] for at in range(0, len(data), _TEXT)]
        if len(chunks) > 1:
            self._texts = self._texts % 65535 + 1
        for number, chunk in enumerate(chunks):
            fields = {"severity": severity, "text": chunk}
            if len(chunks) > 1:
                fields |= {"id": self._texts, "chunk_seq": number}
            self._send_all("STATUSTEXT", fields)
            self.link.send("STATUSTEXT", fields, None, 0)

    def send_to_all(self, name: str) -> None:
        """Send a registered message on all links that have a listener, if its content is known."""
        if not any(self._takes(connection, name) for connection in self.connections):
            return
        fields = MESSAGES[name].make(self.flight)
        if fields is not None:
            self._send_all(name, fields)

    def beat_if_changed(self) -> None:
        """Send a heartbeat at once if the mode or the arming state has changed."""
        shown = self.flight.armed, int(self.flight.mode)
        if shown != self._shown:
            self._shown = shown
            self.send_to_all("HEARTBEAT")
            self.send_to_all("EXTENDED_SYS_STATE")

    def _send_all(self, name: str, fields: Mapping[str, Any]) -> None:
        now_ns = time.monotonic_ns()
        for connection in self.connections:
            if self._takes(connection, name):
                with suppress(EncodeError):
                    connection.send_to_all(name, fields, now_ns)

    def _takes(self, connection: Connection, name: str) -> bool:
        """Return whether a link carries a message: only heartbeats if it has no known listener."""
        return name == "HEARTBEAT" or self._is_heard(connection)

    def _is_heard(self, connection: Connection) -> bool:
        return bool(connection.peers) or not (connection.unheard or connection in self._quiet)

    # The loop

    def _turn(self) -> None:
        now_ns = time.monotonic_ns()
        wait = max(0, self._tick_ns - now_ns) / 1e9
        if not self.link.measurements.connected:
            wait = min(wait, PAUSE_S)
        ready = self._selector.select(wait)
        with self.link.lock:
            self._serve(ready)

    def _serve(self, ready: Sequence[tuple[selectors.SelectorKey, int]]) -> None:
        for key, _ in ready:
            if key.data is None:
                with suppress(BlockingIOError):
                    self._wake_read.recv(64)
            elif key.data is self.link:
                self._received_ns, self._reported_silent = time.monotonic_ns(), False
                if not self.link.read():
                    self._watch(self.link, -1)
                    self._show(
                        f"the simulator at {_place(self.link.address)} hung up"
                        + (" at once: another autopilot flies this vehicle" if self.link.closed_at_once else "")
                    )
            else:
                self._listen(key.data, time.monotonic_ns())
        now_ns = time.monotonic_ns()
        if not self.link.measurements.connected and self.link.connect():
            self._received_ns = now_ns
            self._watch(self.link, self.link.fileno())
            self._show(f"simulator at {_place(self.link.address)}")
        if now_ns >= self._tick_ns:
            self._tick_ns = now_ns + TICK_NS
            self.tick(now_ns)

    def tick(self, now_ns: int) -> None:
        """Do the work that is due by the wall clock: links, heartbeats and timeouts.

        Args:
            now_ns: Monotonic time, ns.
        """
        for connection in self.connections:
            before = connection.state
            connection.keep_up(now_ns)
            if connection.state == "connecting":
                connection.connected(now_ns)
            if connection.state == "down" and before == "down" and connection.why:
                self._complain(connection)
            self._watch(connection, connection.link.fileno())
        self.setpoints.watch(self.flight, now_ns)
        self.sticks.watch(self.flight, now_ns)
        self.flight.failsafe.watch_link(self.flight, now_ns)
        self.missions.tick(now_ns)
        self.parameter_lists.tick(self.flight)
        self.beat_if_changed()
        if now_ns - self._beat_ns >= HEARTBEAT_NS:
            self._beat_ns = now_ns
            self.send_to_all("HEARTBEAT")
        if self.link.measurements.connected and not self._reported_silent and now_ns - self._received_ns > SILENT_NS:
            self._reported_silent = True
            self._show("the simulator is silent: paused, or waiting for another vehicle")

        if self.link.invalid and not self._reported_invalid:
            self._reported_invalid = True
            self.report(WARNING, "the simulator sends invalid positions, rotations or rates: ignored")

    def _complain(self, connection: Connection) -> None:
        if connection.openings == 0:
            self._show(f"{connection.name}: {connection.why}; trying on")

    def _watch(self, what: Any, number: int) -> None:
        """Update the selector to the present file descriptor of a link, -1 if it is closed."""
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

    # Simulator link

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
            return flight.commands  # the connection broke before the answer was sent
        commands = flight.step(time_us, position, attitude, velocity, rate)
        self.missions.tick(None)
        return commands

    def _publish(self, time_us: int) -> None:
        """Send the telemetry of a step while the simulator computes the next one."""
        flight = self.flight
        if flight.reached != self._reached:
            self._reached = flight.reached
            if flight.reached >= 0:
                self._send_all("MISSION_ITEM_REACHED", {"seq": flight.reached})
                self.send_to_all("MISSION_CURRENT")
        if any(map(self._is_heard, self.connections)):
            for name in self.streams.due(time_us):
                self.send_to_all(name)

    def _new_flight(self, settings: Settings | None = None) -> Flight:
        flight = Flight(self.parameters, self.dialect, self.report, settings, self.link.measurements)
        flight.settings.system = float(self.system)
        flight.changed = lambda: self._memory.keep(flight)
        return flight

    def _begin_anew(self) -> None:
        """Restart the flight after a reset of the world.

        Uploaded fences and rally points remain, and so does an uploaded mission, unless the vehicle has its own.
        """
        before = self.flight
        if not before.time_us:
            return
        self.link.measurements.failed_cells = frozenset()
        self._restart(self._new_flight())

    def reboot(self) -> None:
        """Restart the flight with the present parameters. Uploads remain as in `_begin_anew`."""
        now = self.flight
        flight = self._new_flight(now.settings)
        self._restart(flight)
        self.streams = Streams(self.dialect.name)
        self.report(WARNING, "rebooted")

    def _restart(self, flight: Flight) -> None:
        before, self.flight = self.flight, flight
        self.missions.flight = flight
        if self.parameters.mission is None:
            flight.replace_mission(before.mission.items)
        flight.fence, flight.rally = Fence(before.fence.items, flight.places), before.rally
        self.setpoints, self._reached = Setpoints(), -1
        flight.changed()

    def enter(self, mode: Mode) -> None:
        """Change the mode on request.

        Raises:
            OrderRefused: The mode is unavailable now, or needs setpoints that are not received.
        """
        flight = self.flight
        if mode is not Mode.GUIDED or not flight.dialect.streams_first:
            flight.set_mode(mode)
            return
        if not self.setpoints.is_streaming(flight, time.monotonic_ns()):
            name = flight.dialect.modes[mode].name
            raise OrderRefused(flight.dialect.texts.mode_refused.format(mode=name, reason="no setpoints are received"))
        flight.set_mode(mode)
        self.setpoints.begin(flight)

    # Ground links

    def _listen(self, connection: Connection, now_ns: int) -> None:
        for message, address in connection.receive(now_ns):
            fields = message.fields
            to_system = getattr(fields, "target_system", getattr(fields, "target", 0))
            to_component = getattr(fields, "target_component", 0)
            if to_system in (0, self.system) and to_component in (0, 1) and message.system != self.system:
                try:
                    self._handle(self, GroundMessage(message, connection, address, now_ns))
                except (ArithmeticError, ValueError, LookupError) as error:
                    # An unexpected value must not end the flight.
                    self.report(WARNING, f"{message.name} ignored: {error}")

    def _order(self, message: MavlinkMessage) -> None:
        """Execute a message from a ground station in the simulation, at its place in simulation time."""
        name, flight = message.name, self.flight
        if name == "HEARTBEAT":
            flight.failsafe.ground_station(flight, None)
            return
        # The answer is part of the lockstep, and no such command depends on the wall clock.
        if name in mission_protocol.NAMES:
            self.missions.receive(message, self.link, None, None)
        else:
            self._handle(self, GroundMessage(message, self.link, None, time.monotonic_ns()))


def _place(address: tuple[str, int]) -> str:
    return f"tcp {address[0]}:{address[1]}"


def _rehearse(parameters: VehicleParameters) -> None:
    """Fly briefly without a simulator, so that all kernels are compiled before they are needed."""
    flight = Flight(replace(parameters, mission=None))
    place, still, level = np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    flight.step(1, place, level, still, still)
    flight.arm()
    tasks: list[Task] = [flight.craft.hold(), flight.craft.go(np.array([1.0, 0.0, 0.0]))]
    if flight.craft.flies:
        flight.take_off(1.0)
        tasks += [flight.task, Tilt(level, (0.0, 0.0, 0.1), 0.5)]
    flight.set_mode(Mode.GUIDED)
    for task in tasks:
        flight.guide(task)
        flight.step(2, place, level, still, still)
    flight.places.ellipsoid(flight.position)
    flight.places.local(0, *parameters.origin)
