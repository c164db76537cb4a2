"""All links and vehicles in one thread: read, translate, answer, and reconnect."""

from __future__ import annotations

import selectors
import socket
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from sim_node.mavlink.axes import Quaternion
from sim_node.mavlink.codec import EncodeError, MavlinkMessage
from sim_node.mavlink.connection import Connection, Identity
from sim_node.mavlink.discovery import NO_AUTOPILOT, Discovery, description, standing
from sim_node.mavlink.links import Address
from sim_node.mavlink.ports import PortInUse
from sim_node.mavlink.prepare import prepare
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.tlog import TlogPlayback
from sim_node.mavlink.topics import VehicleTopic
from sim_node.mavlink.vehicle import BridgeSettings, Vehicle, VehicleRoute
from sim_node.rate_limit import PERIOD_NS, RateLimit
from sim_node.text import MAX_LINE, shown

TICK_NS = 10_000_000
HEARTBEAT_NS = 1_000_000_000
TIMESYNC_NS = 100_000_000
# Poses are published a moment after they are received. This also applies to the last ones of a recording.
LINGER_NS = 2_000_000_000
# The graph's clock was set back if it is earlier than before by this much.
WENT_BACK_NS = 500_000_000
# This many reboots within ten seconds mean that two autopilots send alternately.
REBOOTS_OF_TWO = 3
# MAV_TYPE_GCS: PX4 sends texts, and thus the reasons for refusals, only to ground stations. MAV_STATE_ACTIVE.
_GROUND_STATION, _ACTIVE = 6, 4


class BridgeListener(Protocol):
    """Receives what the bridge publishes and reports; called in the bridge's thread."""

    def vehicle_found(self, vehicle: Vehicle) -> None:
        """Handle a new system id.

        Args:
            vehicle: The vehicle with this system id.
        """

    def publish(self, system: int, topic: VehicleTopic, data: bytes) -> None:
        """Publish a message of a vehicle's telemetry.

        Args:
            system: The vehicle's system id.
            topic: The topic.
            data: The message as CDR.
        """

    def static_frame(self, system: int, child: str, rotation: Quaternion) -> None:
        """Publish a frame that is fixed to a vehicle's.

        Args:
            system: The vehicle's system id.
            child: The name of the frame.
            rotation: Its orientation in the vehicle's frame (FLU), [x, y, z, w].
        """

    def warn(self, text: str) -> None:
        """Show a warning.

        Args:
            text: A problem that the user has to solve.
        """

    def report(self, text: str) -> None:
        """Show information.

        Args:
            text: Something that the user may want to know.
        """


class Bridge:
    """Runs connections, or plays a log, until `stop`.

    Only `post` and `stop` may be called from other threads.

    Args:
        connections: The links.
        listener: Receives what the bridge publishes and reports.
        settings: Settings; None for the defaults.
        identity: MAVLink system and component id of the bridge.
        playback: A telemetry log to play instead of links.
        graph_ns: Returns the time of the graph's clock (ns).

    Attributes:
        vehicles: The vehicles by system id.
    """

    def __init__(
        self,
        connections: Sequence[Connection],
        listener: BridgeListener,
        settings: BridgeSettings | None = None,
        identity: Identity | None = None,
        *,
        playback: TlogPlayback | None = None,
        graph_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.connections = list(connections)
        self._failures_told = dict.fromkeys(self.connections, 0)
        self._drops_told = dict.fromkeys(self.connections, 0)
        self.playback = playback
        self.vehicles: dict[int, Vehicle] = {}
        self._discovery = Discovery()
        # Senders (system and component id) that look like autopilots but are none, and were reported.
        self._strangers: set[tuple[int, int]] = set()
        self._listener, self._settings = listener, settings or BridgeSettings()
        self._identity = identity or Identity()
        self._graph_ns = graph_ns
        self._selector = selectors.DefaultSelector()
        self._registered: dict[Connection, int] = {}
        # Sockets instead of a pipe: a closed socket raises, whereas the number of a closed pipe may be another file's.
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_read.setblocking(False)
        self._wake_write.setblocking(False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._posted: deque[Callable[[int], object]] = deque()
        self._stopping = False
        self._heartbeat_ns = self._timesync_ns = self._tick_ns = self._ended_ns = 0
        self._last_graph_ns = 0
        self._limit = RateLimit()
        # Origins of exceptions whose tracebacks have been shown.
        self._faults: set[str] = set()
        self._reboots: dict[int, deque[int]] = {}
        # Periodic actions: period, next time (ns, monotonic), and action.
        self._periodic: list[list[Any]] = []

    def every(self, period_s: float, action: Callable[[int], None]) -> None:
        """Call a function periodically. Call this before `run`, or in its thread.

        Args:
            period_s: The period (s).
            action: Called with the monotonic time (ns).
        """
        self._periodic.append([round(period_s * 1e9), time.monotonic_ns(), action])

    def post(self, action: Callable[[int], object]) -> None:
        """Call a function once in the bridge's thread. Call this from any thread.

        Args:
            action: Called with the monotonic time (ns).
        """
        self._posted.append(action)
        with suppress(OSError):
            self._wake_write.send(b"\0")

    def failed(self, what: str, error: Exception) -> None:
        """Report an unexpected exception. Call this from any thread.

        Args:
            what: What failed.
            error: The exception.
        """
        self.post(lambda now_ns: self._failed(what, error, now_ns))

    def stop(self) -> None:
        """Stop `run`. Call this from any thread."""
        self._stopping = True
        self.post(lambda now_ns: None)

    def run(self) -> None:
        """Run until `stop`, or until the end of a log.

        Raises:
            PortInUse: The port of a link is in use.
        """
        prepare()
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
        """Open all links.

        A port that is in use now is an error: a second bridge does not wait for the first one to end.
        """
        now_ns = time.monotonic_ns()
        for connection in self.connections:
            if connection.keep_up(now_ns):
                self._watch(connection)
            elif connection.is_in_use:
                raise PortInUse(
                    f"{connection.name}: the port is in use, perhaps by another bridge or ground station; stop it, or "
                    "listen on another port (--url, parameter urls; parameter bridge of a simulation: false)"
                )

    def _played_out(self) -> bool:
        if self.playback is None or not self.playback.ended:
            return False
        now_ns = time.monotonic_ns()
        self._ended_ns = self._ended_ns or now_ns
        return now_ns - self._ended_ns > LINGER_NS

    def turn(self) -> None:
        """Run one iteration: wait for the next event, and do everything that is due."""
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
                self._read_from(key.data, now_ns)
        now_ns = time.monotonic_ns()
        for _ in range(len(self._posted)):
            if self._stopping:
                return
            self._do(self._posted.popleft(), now_ns)
        if self.playback is not None:
            for message in self.playback.receive(now_ns):
                self._process(message, self.playback, None, now_ns, self._graph_ns())
        for periodic in self._periodic:
            if now_ns >= periodic[1]:
                # Keep the phase, and skip missed periods.
                periodic[1] += periodic[0] * max(1, -(-(now_ns - periodic[1]) // periodic[0]))
                periodic[2](now_ns)
        if now_ns >= self._tick_ns:
            self._tick_ns = now_ns + TICK_NS
            self._tick(now_ns)

    def _do(self, action: Callable[[int], object], now_ns: int) -> None:
        try:
            action(now_ns)
        except EncodeError as error:
            self._warn("encoding", f"not sent: {error}", now_ns)
        except Exception as error:
            self._failed("a request", error, now_ns)

    def _read_from(self, connection: Connection, now_ns: int) -> None:
        graph_ns = self._graph_ns()
        for message, address in connection.receive(now_ns):
            # Check between any two messages: the stream may never end.
            if self._stopping:
                return
            self._process(message, connection, address, now_ns, graph_ns)

    def _process(
        self, message: MavlinkMessage, route: VehicleRoute, address: Address, now_ns: int, graph_ns: int
    ) -> None:
        vehicle = self.vehicles.get(message.system)
        if message.name == "HEARTBEAT" and (vehicle is None or message.component != vehicle.component):
            vehicle = self._discovered(vehicle, message, route, address, now_ns)
        if vehicle is None:
            return
        is_autopilot = message.component == vehicle.component
        elsewhere = vehicle.address != address or vehicle.route is not route
        if is_autopilot and elsewhere and not self._moved(vehicle, message, route, address, now_ns):
            return
        reboots = vehicle.telemetry.clock.events.reboots
        try:
            if is_autopilot:
                vehicle.receive(message, now_ns, graph_ns)
            else:
                vehicle.others.receive(message, route, address, now_ns, graph_ns)
        except (ArithmeticError, ValueError, LookupError) as error:
            # An unexpected value of one vehicle must not end the bridge of all others.
            vehicle.telemetry.drop(message.fields, "is invalid")
            text = f"system {vehicle.system}: ignoring {message.name}: {error}"
            self._warn(f"{vehicle.system} {message.name}", text, now_ns)
        except Exception as error:
            self._failed(f"system {vehicle.system}: ignoring {message.name}", error, now_ns)
        if vehicle.telemetry.clock.events.reboots != reboots:
            self._rebooted(vehicle, now_ns)

    def _discovered(
        self, vehicle: Vehicle | None, message: MavlinkMessage, route: VehicleRoute, address: Address, now_ns: int
    ) -> Vehicle | None:
        """Return the vehicle of a heartbeat that is not its autopilot's: a new one, or one with a better autopilot.

        Other components are listed. Return None for ground stations, the bridge itself, and a first heartbeat.
        """
        system, component = message.system, message.component
        if not system or system == self._identity.system:
            return None
        rank, what = standing(component, message.fields), description(component, message.fields)
        above = vehicle.standing if vehicle is not None else 0
        # Nobody can inject packets into a log.
        if self._discovery.elects(message, route, address, now_ns, above=above, heard=route is self.playback):
            if vehicle is None:
                return self._found(message, route, address)
            text = f"system {system}: {what} is its autopilot, and component {vehicle.component} is not"
            self._report(f"autopilot {system}", text, now_ns)
            vehicle.take_autopilot(component, rank, route, address)
        elif vehicle is not None:
            if vehicle.others.listed.get(component) != what:
                vehicle.others.listed[component] = what
                self._report(f"component {system} {component}", f"system {system} also has {what}", now_ns)
        elif not rank and message.fields.autopilot != NO_AUTOPILOT and (system, component) not in self._strangers:
            self._strangers.add((system, component))
            text = f"system {system}: {what} is no vehicle; waiting for an autopilot of this system"
            self._report(f"component {system} {component}", text, now_ns)
        return vehicle

    def _found(self, message: MavlinkMessage, route: VehicleRoute, address: Address) -> Vehicle | None:
        """Return a new vehicle for the heartbeat of its autopilot; None if there are too many."""
        system = message.system
        if len(self.vehicles) >= self._settings.max_vehicles:
            self._warn(
                "too many",
                f"ignoring system {system} at {_place(route, address)}: {len(self.vehicles)} vehicles are the limit "
                "(parameter max_vehicles)",
                time.monotonic_ns(),
            )
            return None
        telemetry = Telemetry(
            system,
            self._settings.frames(system),
            lambda topic, data: self._listener.publish(system, topic, data),
            lambda child, rotation: self._listener.static_frame(system, child, rotation),
            self._settings.deviations,
        )
        vehicle = self.vehicles[system] = Vehicle(
            *(telemetry, message.component, route, address, self._settings),
            fault=lambda what, error, now_ns: self._failed(f"system {system}: {what}", error, now_ns),
        )
        vehicle.standing = standing(message.component, message.fields)
        self._listener.vehicle_found(vehicle)
        return vehicle

    def _moved(
        self, vehicle: Vehicle, message: MavlinkMessage, route: VehicleRoute, address: Address, now_ns: int
    ) -> bool:
        """Return whether a vehicle that is received from elsewhere has moved: only if its old address is silent."""
        if vehicle.silent(now_ns):
            text = f"system {vehicle.system} is now at {_place(route, address)}"
            self._report(f"moved {vehicle.system}", text, now_ns)
            vehicle.route, vehicle.address = route, address
            return True
        if route is vehicle.route and message.name == "HEARTBEAT":
            here, there = _place(route, vehicle.address), _place(route, address)
            self._warn(
                f"two {vehicle.system}",
                f"two autopilots have system id {vehicle.system}: {here} and {there}; ignoring the second. Give "
                "each its own id (PX4: instance number or MAV_SYS_ID, ArduPilot: SYSID_THISMAV or MAV_SYSID)",
                now_ns,
            )
        return False

    def _rebooted(self, vehicle: Vehicle, now_ns: int) -> None:
        times = self._reboots.setdefault(vehicle.system, deque(maxlen=REBOOTS_OF_TWO))
        times.append(now_ns)
        if len(times) == REBOOTS_OF_TWO and now_ns - times[0] < PERIOD_NS:
            self._warn(
                f"two {vehicle.system}",
                f"two autopilots have system id {vehicle.system} behind {_place(vehicle.route, vehicle.address)}: its "
                "boot time jumps back and forth. Give each its own system id",
                now_ns,
            )
        else:
            text = f"system {vehicle.system} has rebooted: its boot time went back"
            self._report(f"reboot {vehicle.system}", text, now_ns)

    def _warn(self, about: str, text: str, now_ns: int) -> None:
        """Warn at most every ten seconds about the same thing."""
        if line := self._limit.admit(about, text, now_ns):
            self._listener.warn(line)

    def _report(self, about: str, text: str, now_ns: int) -> None:
        """Report at most every ten seconds on the same thing."""
        if line := self._limit.admit(about, text, now_ns):
            self._listener.report(line)

    def _failed(self, what: str, error: Exception, now_ns: int) -> None:
        """Report an unexpected exception: once with its traceback, then briefly."""
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        line = f"{what}: internal error: {type(error).__name__} at {where}: {shown(str(error), MAX_LINE)}"
        if where in self._faults:
            self._warn(f"{what} {where}", line, now_ns)
        else:
            self._faults.add(where)
            trace = "".join(traceback.format_exception(error))
            self._listener.warn(f"{line}; the bridge goes on, please report this\n{trace}")

    def _tick(self, now_ns: int) -> None:
        graph_ns = self._graph_ns()
        if graph_ns < self._last_graph_ns - WENT_BACK_NS:
            self._report("clock", "the graph's clock went back: estimating clock offsets again", now_ns)
            self._reset_clocks()
        elif self._last_graph_ns <= 0 < graph_ns:
            self._reset_clocks()  # simulated time has begun
        self._last_graph_ns = graph_ns
        # Unregister closed links first: a new socket may get the number of an old one.
        for connection in self.connections:
            self._watch(connection)
        for connection in self.connections:
            if connection.keep_up(now_ns):
                self._watch(connection)
            for _ in range(connection.failures - self._failures_told[connection]):
                self._warn(connection.name, f"{connection.name}: {connection.why}; retrying", now_ns)
            self._failures_told[connection] = connection.failures
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
                self._tell_drops(connection, now_ns)
        request_time = self._settings.timesync and graph_ns > 0 and now_ns - self._timesync_ns >= TIMESYNC_NS
        if request_time:
            self._timesync_ns = now_ns
        for vehicle in self.vehicles.values():
            try:
                vehicle.tick(now_ns, graph_ns)
            except Exception as error:
                self._failed(f"system {vehicle.system}", error, now_ns)
            if request_time and vehicle.connected:
                vehicle.request_time(now_ns, graph_ns)

    def _tell_drops(self, connection: Connection, now_ns: int) -> None:
        """Warn about datagrams that the system dropped. The number counts from the start, so none is missing."""
        dropped = connection.dropped
        if dropped > self._drops_told[connection]:
            self._drops_told[connection] = dropped
            text = f"{connection.name}: {dropped} datagrams were dropped because this process did not read them in time"
            cure = "lower the rates of the streams, or raise the limit of the receive buffer (sysctl net.core.rmem_max)"
            self._warn(f"drops of {connection.name}", f"{text}; {cure}", now_ns)

    def _reset_clocks(self) -> None:
        for vehicle in self.vehicles.values():
            vehicle.forget_clocks()

    def _watch(self, connection: Connection) -> None:
        """Register a link with the selector while it is open."""
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


def _place(route: VehicleRoute, address: Address) -> str:
    return f"{route.name} ({address[0]}:{address[1]})" if address else route.name
