"""All links and vehicles in one thread: reads, translates, answers, keeps everything up."""

from __future__ import annotations

import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from sim_node.autopilot.codec import EncodeError, Message
from sim_node.autopilot.connection import Connection, Identity
from sim_node.autopilot.links import Address
from sim_node.autopilot.ports import PortTaken
from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.tlog import Playback
from sim_node.autopilot.topics import FrameNames, Topic
from sim_node.autopilot.vehicle import Route, Vehicle

TICK_NS = 10_000_000
HEARTBEAT_NS = 1_000_000_000
TIMESYNC_NS = 100_000_000
COMPLAIN_NS = 10_000_000_000
# Poses are told a moment after they came in; a recording's last ones too.
LINGER_NS = 2_000_000_000
# The graph's clock has been set back when it shows so much less than before.
WENT_BACK_NS = 500_000_000
# So many reboots within COMPLAIN_NS are two autopilots in turns.
REBOOTS_OF_TWO = 3
AUTOPILOT_COMPONENT, NO_AUTOPILOT = 1, 8  # MAV_COMP_ID_AUTOPILOT1, MAV_AUTOPILOT_INVALID
# MAV_TYPE_GCS: PX4 sends its texts, and so why it refuses, to ground stations only. MAV_STATE_ACTIVE.
_GROUND_STATION, _ACTIVE = 6, 4


@dataclass(frozen=True)
class Settings:
    """What a bridge does of itself.

    frames: the names for a vehicle, by its system id. setpoint_rate: of the stream that keeps a setpoint alive (Hz).
    stream_rate: what ArduPilot is asked for (Hz), 0 for nothing. timesync: whether autopilots are asked for the time.
    heartbeat_timeout: a vehicle that sends nothing for so long (s) is not connected. max_vehicles: further system ids
    are complained of and left aside.
    """

    frames: Callable[[int], FrameNames] = field(default=lambda system: FrameNames())
    setpoint_rate: float = 20.0
    stream_rate: float = 50.0
    timesync: bool = True
    heartbeat_timeout: float = 3.0
    max_vehicles: int = 32


class BridgeListener(Protocol):
    """Whoever hears what the bridge has to tell; called in the bridge's thread."""

    def vehicle_found(self, vehicle: Vehicle) -> None:
        """A system id that was not heard before."""

    def publish(self, system: int, topic: Topic, data: bytes) -> None:
        """A message of a vehicle's telemetry, as CDR."""

    def complain(self, text: str) -> None:
        """Something that a person has to mend."""

    def inform(self, text: str) -> None:
        """Something that a person may want to know."""


class Bridge:
    """Runs connections, or a recording, until `stop`.

    graph_ns: the graph's clock. `post` hands it work from other threads; everything else belongs to its own.
    """

    def __init__(
        self,
        connections: Sequence[Connection],
        listener: BridgeListener,
        settings: Settings | None = None,
        identity: Identity | None = None,
        *,
        playback: Playback | None = None,
        graph_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.connections = list(connections)
        self.playback = playback
        self.vehicles: dict[int, Vehicle] = {}
        # System ids that were heard once, and where from: one packet of somebody is not worth a vehicle's topics.
        self._candidates: dict[int, tuple[int, Route, Address]] = {}
        self._audience, self._settings = listener, settings or Settings()
        self._identity = identity or Identity()
        self._graph_ns = graph_ns
        self._selector = selectors.DefaultSelector()
        self._registered: dict[Connection, int] = {}
        # Sockets and not a pipe: one that is closed refuses, where the number of a pipe may be another file's by then.
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_read.setblocking(False)
        self._wake_write.setblocking(False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._posted: deque[Callable[[int], object]] = deque()
        self._stopping = False
        self._heartbeat_ns = self._timesync_ns = self._tick_ns = self._ended_ns = 0
        self._last_graph_ns = 0
        self._complained: dict[str, int] = {}
        self._reboots: dict[int, deque[int]] = {}
        # What is done again and again: its period, when it is due (ns, monotonic), and what.
        self._periodic: list[list[Any]] = []

    def every(self, period_s: float, action: Callable[[int], None]) -> None:
        """Has an action done again and again, with the monotonic time (ns); before `run`, or in its thread."""
        self._periodic.append([round(period_s * 1e9), time.monotonic_ns(), action])

    def post(self, action: Callable[[int], object]) -> None:
        """Has an action done in the bridge's thread, with the monotonic time (ns); from any thread."""
        self._posted.append(action)
        with suppress(OSError):
            self._wake_write.send(b"\0")

    def stop(self) -> None:
        """Ends `run`, from any thread."""
        self._stopping = True
        self.post(lambda now_ns: None)

    def run(self) -> None:
        """Until `stop`, or until a recording is played out. Raises PortTaken where a link's own port is."""
        try:
            self._open_own()
            while not self._stopping and not self._played_out():
                self.turn()
        finally:
            for connection in self.connections:
                connection.close()
            self._selector.close()
            self._wake_read.close()
            self._wake_write.close()

    def _open_own(self) -> None:
        """What others have now they will have on: a second bridge does not wait for the first to end."""
        now_ns = time.monotonic_ns()
        for connection in self.connections:
            if connection.keep_up(now_ns):
                self._watch(connection)
            elif connection.is_taken:
                raise PortTaken(
                    f"{connection.name}: the port is in use, perhaps by another bridge or a ground station; end it, or "
                    "listen on another port (--url, parameter urls; parameter bridge of a simulation: false)"
                )

    def _played_out(self) -> bool:
        if self.playback is None or not self.playback.ended:
            return False
        now_ns = time.monotonic_ns()
        self._ended_ns = self._ended_ns or now_ns
        return now_ns - self._ended_ns > LINGER_NS

    def turn(self) -> None:
        """One round: waits for the next thing, and does all that is due."""
        now_ns = time.monotonic_ns()
        wait_ns = max(0, min([self._tick_ns, *(due_ns for _, due_ns, _ in self._periodic)]) - now_ns)
        if self.playback is not None:
            due_ns = self.playback.due_in_ns(now_ns)
            wait_ns = wait_ns if due_ns is None else min(wait_ns, due_ns)
        for key, events in self._selector.select(wait_ns / 1e9):
            now_ns = time.monotonic_ns()
            if key.data is None:
                with suppress(BlockingIOError):
                    self._wake_read.recv(4096)
            elif events & selectors.EVENT_WRITE and key.data.state == "connecting":
                key.data.connected(now_ns)
                self._watch(key.data)
            else:
                self._take(key.data, now_ns)
        now_ns = time.monotonic_ns()
        for _ in range(len(self._posted)):
            if self._stopping:
                return
            self._do(self._posted.popleft(), now_ns)
        if self.playback is not None:
            for message in self.playback.receive(now_ns):
                self._heard(message, self.playback, None, now_ns, self._graph_ns())
        for periodic in self._periodic:
            if now_ns >= periodic[1]:
                # On its grid, without catching up on what was missed.
                periodic[1] += periodic[0] * max(1, -(-(now_ns - periodic[1]) // periodic[0]))
                periodic[2](now_ns)
        if now_ns >= self._tick_ns:
            self._tick_ns = now_ns + TICK_NS
            self._tick(now_ns)

    def _do(self, action: Callable[[int], object], now_ns: int) -> None:
        try:
            action(now_ns)
        except EncodeError as error:
            self._complain("encoding", f"not sent: {error}", now_ns)

    def _take(self, connection: Connection, now_ns: int) -> None:
        graph_ns = self._graph_ns()
        for message, address in connection.receive(now_ns):
            # Between any two: what comes in may never come to an end.
            if self._stopping:
                return
            self._heard(message, connection, address, now_ns, graph_ns)

    def _heard(self, message: Message, way: Route, address: Address, now_ns: int, graph_ns: int) -> None:
        vehicle = self.vehicles.get(message.system) or self._found(message, way, address)
        if vehicle is None or message.component != vehicle.component:
            return
        elsewhere = vehicle.address != address or vehicle.way is not way
        if elsewhere and not self._moved(vehicle, message, way, address, now_ns):
            return
        reboots = vehicle.telemetry.clock.events.reboots
        try:
            vehicle.receive(message, now_ns, graph_ns)
        except (ArithmeticError, ValueError, LookupError) as error:
            # A value that nobody thought of must not end the flight of all the others.
            text = f"system {vehicle.system}: {message.name} left aside: {error}"
            self._complain(f"{vehicle.system} {message.name}", text, now_ns)
        if vehicle.telemetry.clock.events.reboots != reboots:
            self._rebooted(vehicle, now_ns)

    def _found(self, message: Message, way: Route, address: Address) -> Vehicle | None:
        """A new vehicle, where an autopilot speaks: not a ground station, and not we ourselves."""
        if message.name != "HEARTBEAT" or message.fields.autopilot == NO_AUTOPILOT or not message.system:
            return None
        system = message.system
        if system == self._identity.system:
            return None
        candidate = message.component, way, address
        # What a recording says is not anybody's to make up.
        if way is not self.playback and self._candidates.get(system) != candidate:
            self._candidates[system] = candidate
            return None
        if len(self.vehicles) >= self._settings.max_vehicles:
            self._complain(
                "too many",
                f"system {system} at {_place(way, address)} is left aside: there are {len(self.vehicles)} vehicles "
                "already (parameter max_vehicles)",
                time.monotonic_ns(),
            )
            return None
        telemetry = Telemetry(
            system, self._settings.frames(system), lambda topic, data: self._audience.publish(system, topic, data)
        )
        vehicle = self.vehicles[system] = Vehicle(
            telemetry,
            message.component,
            way,
            address,
            setpoint_rate=self._settings.setpoint_rate,
            stream_rate=self._settings.stream_rate,
            heartbeat_timeout=self._settings.heartbeat_timeout,
        )
        self._audience.vehicle_found(vehicle)
        return vehicle

    def _moved(self, vehicle: Vehicle, message: Message, way: Route, address: Address, now_ns: int) -> bool:
        """Whether a vehicle that is heard from elsewhere has moved there: only when its old place is silent."""
        if vehicle.silent(now_ns):
            self._audience.inform(f"system {vehicle.system} is now at {_place(way, address)}")
            vehicle.way, vehicle.address = way, address
            return True
        if way is vehicle.way and message.name == "HEARTBEAT":
            here, there = _place(way, vehicle.address), _place(way, address)
            self._complain(
                f"two {vehicle.system}",
                f"two autopilots have system id {vehicle.system}: {here} and {there}; the second is left aside. Give "
                "each its own (PX4: instance number or MAV_SYS_ID, ArduPilot: SYSID_THISMAV or MAV_SYSID)",
                now_ns,
            )
        return False

    def _rebooted(self, vehicle: Vehicle, now_ns: int) -> None:
        times = self._reboots.setdefault(vehicle.system, deque(maxlen=REBOOTS_OF_TWO))
        times.append(now_ns)
        if len(times) == REBOOTS_OF_TWO and now_ns - times[0] < COMPLAIN_NS:
            self._complain(
                f"two {vehicle.system}",
                f"two autopilots have system id {vehicle.system} behind {_place(vehicle.way, vehicle.address)}: its "
                "boot time jumps to and fro. Give each its own system id",
                now_ns,
            )
        else:
            self._audience.inform(f"system {vehicle.system} has rebooted: its boot time went back")

    def _complain(self, about: str, text: str, now_ns: int) -> None:
        """At most every ten seconds about the same."""
        if now_ns - self._complained.get(about, -COMPLAIN_NS) >= COMPLAIN_NS:
            self._complained[about] = now_ns
            self._audience.complain(text)

    def _tick(self, now_ns: int) -> None:
        graph_ns = self._graph_ns()
        if graph_ns < self._last_graph_ns - WENT_BACK_NS:
            self._audience.inform("the graph's clock went back: stamps are learnt anew")
            self._learn_stamps_anew()
        elif self._last_graph_ns <= 0 < graph_ns:
            self._learn_stamps_anew()  # simulated time has begun
        self._last_graph_ns = graph_ns
        # All that went down first: a new socket may get the number of an old one.
        for connection in self.connections:
            self._watch(connection)
        for connection in self.connections:
            before = connection.state
            if connection.keep_up(now_ns):
                self._watch(connection)
            elif before == "down" and connection.why:
                self._complain(connection.name, f"{connection.name}: {connection.why}; trying on", now_ns)
        if now_ns - self._heartbeat_ns >= HEARTBEAT_NS:
            self._heartbeat_ns = now_ns
            beat = {
                "type": _GROUND_STATION,
                "autopilot": NO_AUTOPILOT,
                "system_status": _ACTIVE,
                "mavlink_version": 3,
            }
            for connection in self.connections:
                connection.send_to_all("HEARTBEAT", beat, now_ns)
        ask_time = self._settings.timesync and graph_ns > 0 and now_ns - self._timesync_ns >= TIMESYNC_NS
        if ask_time:
            self._timesync_ns = now_ns
        for vehicle in self.vehicles.values():
            vehicle.tick(now_ns, graph_ns)
            if ask_time and vehicle.connected:
                vehicle.ask_time(now_ns, graph_ns)

    def _learn_stamps_anew(self) -> None:
        for vehicle in self.vehicles.values():
            vehicle.telemetry.clock.forget()

    def _watch(self, connection: Connection) -> None:
        """Keeps the selector at what is open."""
        number = connection.link.fileno()
        registered = self._registered.get(connection)
        if registered is not None and (registered != number or connection.state == "down"):
            del self._registered[connection]
            with suppress(KeyError, ValueError, OSError):
                self._selector.unregister(registered)
            registered = None
        if number < 0:
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.state == "connecting" else 0)
        if registered is None:
            self._selector.register(number, events, connection)
            self._registered[connection] = number
        else:
            self._selector.modify(number, events, connection)


def _place(way: Route, address: Address) -> str:
    return f"{way.name} ({address[0]}:{address[1]})" if address else way.name
