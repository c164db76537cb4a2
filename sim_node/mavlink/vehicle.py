"""A vehicle: its address, transactions with it, streams to it, and the other components of its system."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from sim_node.mavlink.codec import MavlinkMessage, kind_named
from sim_node.mavlink.commands import request_message, set_message_interval
from sim_node.mavlink.links import Address
from sim_node.mavlink.setpoints import Setpoint
from sim_node.mavlink.telemetry import ARDUPILOT, Telemetry
from sim_node.mavlink.topics import Deviations, FrameNames
from sim_node.mavlink.transaction import Conversations, Ended, Fault, Outgoing, Transaction, TransactionRefused
from sim_node.mavlink.translation import TRANSLATIONS
from sim_node.mavlink.translation.state import publish_overdue_texts, publish_state

# Messages that components send to their autopilot, and that are published all the same. MAVROS reads all messages of a
# system.
OF_ANY_COMPONENT = (
    *("BATTERY_STATUS", "DISTANCE_SENSOR", "LANDING_TARGET", "MOUNT_ORIENTATION", "MOUNT_STATUS", "ODOMETRY"),
    *("OPTICAL_FLOW", "OPTICAL_FLOW_RAD"),
)


@dataclass
class _Component:
    """A component: its telemetry, link and address, and the time of its last message (ns)."""

    telemetry: Telemetry
    sender: tuple[object, Address]
    received_ns: int


class OtherComponents:
    """Lists the components of a system, and translates their messages, each with its own clock.

    Args:
        telemetry: Telemetry of the autopilot.
        silent_ns: Silence (ns) after which a component may be received from elsewhere.

    Attributes:
        listed: Descriptions of the components by their ids.
    """

    def __init__(self, telemetry: Telemetry, silent_ns: int) -> None:
        self.listed: dict[int, str] = {}
        self._autopilot, self._silent_ns = telemetry, silent_ns
        self._components: dict[int, _Component] = {}

    def receive(self, message: MavlinkMessage, route: object, address: Address, now_ns: int, graph_ns: int) -> None:
        """Handle a message of a component.

        Args:
            message: The message.
            route: The link on which it was received.
            address: The address of its sender.
            now_ns: Monotonic time (ns).
            graph_ns: Time of the graph's clock (ns).
        """
        number, sender = message.component, (route, address)
        if message.name == "HEARTBEAT":
            return  # the component is listed
        if message.name not in OF_ANY_COMPONENT:
            self._autopilot.count_dropped(f"component {number}", "not read")
            return
        found = self._components.get(number)
        if found is None or (found.sender != sender and now_ns - found.received_ns > self._silent_ns):
            found = self._components[number] = _Component(self._autopilot.of_component(number), sender, now_ns)
        elif found.sender != sender:
            self._autopilot.count_dropped(f"component {number}", "a second one with this id")
            return
        found.received_ns, found.telemetry.arrival_ns = now_ns, graph_ns
        if not found.telemetry.is_late(message.fields):
            TRANSLATIONS[message.name](message.fields, found.telemetry)

    def forget_clocks(self) -> None:
        """Estimate the offsets of their clocks again."""
        for component in self._components.values():
            component.telemetry.clock.forget()


@dataclass(frozen=True)
class BridgeSettings:
    """Settings of a bridge.

    Attributes:
        frames: Returns the names of a vehicle's frames for its system id.
        setpoint_rate: Rate of the stream that keeps a setpoint active (Hz).
        setpoint_timeout: How long a setpoint is repeated without a new message (s).
        stream_rate: Rate of the messages to request from ArduPilot (Hz); 0 for none.
        timesync: Whether to request the time of autopilots.
        heartbeat_timeout: Silence (s) after which a vehicle counts as disconnected.
        deviations: Standard deviations of measurements of the autopilots' sensors.
        max_vehicles: Maximum number of system ids. Further ones are ignored with a warning.
    """

    frames: Callable[[int], FrameNames] = field(default=lambda system: FrameNames())
    setpoint_rate: float = 20.0
    setpoint_timeout: float = 0.5
    stream_rate: float = 50.0
    timesync: bool = True
    heartbeat_timeout: float = 3.0
    max_vehicles: int = 32
    deviations: Deviations = field(default_factory=Deviations)


SECOND = 1_000_000_000
REQUEST_PERIOD_NS = 2 * SECOND
_HOME_POSITION, _GPS_GLOBAL_ORIGIN = 242, 49
# Messages to request from ArduPilot, which streams few of its own accord, and their fraction of the rate.
STREAMS = {
    name: part
    for part, names in (
        (1.0, "ATTITUDE_QUATERNION LOCAL_POSITION_NED RAW_IMU"),
        (0.5, "GLOBAL_POSITION_INT"),
        (0.2, "SCALED_PRESSURE SERVO_OUTPUT_RAW"),
        (0.1, "GPS_RAW_INT RC_CHANNELS BATTERY_STATUS SYS_STATUS EXTENDED_SYS_STATE MISSION_CURRENT VFR_HUD WIND"),
        (0.1, "RANGEFINDER OPTICAL_FLOW POSITION_TARGET_GLOBAL_INT"),
        (0.04, "SYSTEM_TIME"),
        (0.02, "MEMINFO HWSTATUS"),
    )
    for name in names.split()
}


class Names(Protocol):
    """Names of other software under which a vehicle is published, beside those of `translation`."""

    def reads(self, name: str) -> bool:
        """Return whether messages of a name are read."""

    def receive(self, name: str, fields: Any) -> None:
        """Publish a message, after the vehicle's telemetry has been updated."""

    def disconnected(self) -> None:
        """Publish that the vehicle is no longer received."""


class VehicleRoute(Protocol):
    """Route to a vehicle: a connection, or a recording, which accepts no commands."""

    accepts_commands: bool

    @property
    def name(self) -> str:
        """Name for users."""

    def lost(self, system: int) -> int:
        """Return how many messages of a system were lost on the way."""

    def send(self, name: str, fields: Mapping[str, Any], to: Address, now_ns: int) -> None:
        """Send a message to a peer."""


class ClockReading(NamedTuple):
    """A time on the monotonic clock and on the graph's (ns). They differ in pace if time is simulated."""

    steady_ns: int
    graph_ns: int

    def age_ns(self, now_ns: int, graph_ns: int) -> int:
        """Return the age by the clock on which it is older. A graph clock that was set back makes it old."""
        return max(now_ns - self.steady_ns, abs(graph_ns - self.graph_ns))


class SetpointStream:
    """A setpoint that is sent repeatedly, until it is stopped, or its message is too old.

    MAVROS forwards each message once. Autopilots rely on that: their failsafe acts when setpoints stop arriving (PX4's
    COM_OF_LOSS_T). A repeated setpoint hides that its publisher is gone, so its lifetime is short.

    Args:
        rate: Rate of the stream (Hz).
        lifetime: Age of the message at which the stream ends (s).
    """

    def __init__(self, rate: float, lifetime: float) -> None:
        self.setpoint: Setpoint | None = None
        self.owner = ""
        self._period_ns, self._lifetime_ns = round(SECOND / rate), round(lifetime * SECOND)
        self._due_ns = 0
        self._received: ClockReading | None = None
        self._expired: Callable[[], object] = lambda: None

    def set(
        self,
        setpoint: Setpoint,
        owner: str,
        received: ClockReading | None = None,
        expired: Callable[[], object] = lambda: None,
    ) -> None:
        """Send this setpoint from now on, the first time at once.

        Args:
            setpoint: The setpoint.
            owner: Owner of the setpoint.
            received: Time of reception of its message; None to send it until it is stopped.
            expired: Called when it becomes too old.
        """
        self.setpoint, self.owner, self._due_ns = setpoint, owner, 0
        self._received, self._expired = received, expired

    def stop(self, owner: str | None = None) -> bool:
        """Stop the setpoint if it belongs to this owner, and return whether it did."""
        if self.setpoint is None or owner not in (None, self.owner):
            return False
        self.setpoint, self.owner = None, ""
        return True

    def due(self, now_ns: int, graph_ns: int) -> Setpoint | None:
        """Return the setpoint if it must be sent now."""
        if self.setpoint is None:
            return None
        if self._received is not None and self._received.age_ns(now_ns, graph_ns) >= self._lifetime_ns:
            self.stop()
            self._expired()
            return None
        if now_ns < self._due_ns:
            return None
        late = now_ns - self._due_ns
        self._due_ns = self._due_ns + self._period_ns if late < self._period_ns else now_ns + self._period_ns
        return self.setpoint


def _raise(what: str, error: Exception, now_ns: int) -> None:
    raise error


class Vehicle:
    """A system id with an autopilot.

    Times are monotonic nanoseconds, except for those of telemetry, which are the graph's.

    Args:
        telemetry: State of the vehicle.
        component: Component id of the autopilot.
        route: Link on which it was received.
        address: Address of the autopilot.
        settings: Settings of the bridge.
        fault: Reports unexpected exceptions in transactions; by default, raises them.
    """

    def __init__(
        self,
        telemetry: Telemetry,
        component: int,
        route: VehicleRoute,
        address: Address,
        settings: BridgeSettings,
        fault: Fault = _raise,
    ) -> None:
        self.telemetry, self.component = telemetry, component
        self.route, self.address = route, address
        self.connected = False
        self.received_ns = 0
        # Number of messages of the autopilot.
        self.received = 0
        self.stream = SetpointStream(settings.setpoint_rate, settings.setpoint_timeout)
        self._stream_rate = settings.stream_rate
        self._silent_ns = round(settings.heartbeat_timeout * SECOND)
        self.others = OtherComponents(telemetry, self._silent_ns)
        # Further names under which it is published.
        self.names: list[Names] = []
        # How likely its component is an autopilot; see `discovery.standing`.
        self.standing = 0
        self._started_ns: int | None = None
        self._conversations = Conversations(self._send_all, fault)
        self._requested_ns = 0
        self._timesyncs: deque[int] = deque(maxlen=20)

    @property
    def system(self) -> int:
        """MAVLink system id."""
        return self.telemetry.system

    def silent(self, now_ns: int) -> bool:
        """Return whether nothing was received for the timeout. Another peer may then use the system id."""
        return now_ns - self.received_ns > self._silent_ns

    def take_autopilot(self, component: int, standing: int, route: VehicleRoute, address: Address) -> None:
        """Change to another component as the autopilot."""
        self.others.listed.pop(component, None)
        self.forget_clocks()
        self.component, self.standing, self.route, self.address = component, standing, route, address

    def forget_clocks(self) -> None:
        """Estimate the offsets of the clocks again."""
        self.telemetry.clock.forget()
        self.others.forget_clocks()

    def receive(self, message: MavlinkMessage, now_ns: int, graph_ns: int) -> None:
        """Handle a message of its autopilot."""
        self.received_ns = now_ns
        self.received += 1
        telemetry = self.telemetry
        telemetry.arrival_ns = graph_ns
        name = message.name
        translate = TRANSLATIONS.table().get(name)
        others = [names for names in self.names if names.reads(name)] if self.names else ()
        if (translate is not None or others) and not telemetry.is_late(message.fields):
            if translate is not None:
                translate(message.fields, telemetry)
            for names in others:
                names.receive(name, message.fields)
        if message.name == "HEARTBEAT":
            self.connected = True
        elif message.name == "TIMESYNC":
            self._timesync(message.fields, now_ns, graph_ns)
        if not self.connected and telemetry.heartbeat is not None:
            # Any message ends a silence; the next heartbeat may take a second.
            self.connected = True
            publish_state(telemetry, connected=True)
        self._conversations.receive(message, now_ns)

    def tick(self, now_ns: int, graph_ns: int) -> None:
        """Do what is due: transactions, the setpoint stream, requests, timeouts."""
        if self.connected and self.silent(now_ns):
            self.connected = False
            self.telemetry.arrival_ns = graph_ns
            publish_state(self.telemetry, connected=False)
            for names in self.names:
                names.disconnected()
        publish_overdue_texts(self.telemetry, graph_ns)
        self._conversations.tick(now_ns)
        setpoint = self.stream.due(now_ns, graph_ns)
        if setpoint is not None:
            self.send(setpoint.name, setpoint.fields, now_ns)
        if self.connected and now_ns - self._requested_ns > REQUEST_PERIOD_NS:
            self._request_missing(now_ns)

    def begin(self, transaction: Transaction, ended: Ended, now_ns: int) -> None:
        """Start a transaction, or queue it behind the active one with the same key."""
        if not self.route.accepts_commands and transaction.result is None:
            transaction = TransactionRefused(transaction.name, "a recording accepts no commands")
        self._conversations.begin(transaction, ended, now_ns)

    def cancel(self, key: str, why: str, now_ns: int) -> None:
        """End the active transaction with a key, if any."""
        self._conversations.cancel(key, why, now_ns)

    def send(self, name: str, fields: Mapping[str, Any], now_ns: int) -> None:
        """Send a message, with the fields that every message to a vehicle has."""
        if self._started_ns is None:
            self._started_ns = now_ns
        uptime_ms = (now_ns - self._started_ns) // 1_000_000 & 0xFFFFFFFF
        own = {"target_system": self.system, "target_component": self.component, "time_boot_ms": uptime_ms}
        wire = kind_named(name).fields._fields
        self.route.send(name, {**{k: v for k, v in own.items() if k in wire}, **fields}, self.address, now_ns)

    def request_time(self, now_ns: int, graph_ns: int) -> None:
        """Request the autopilot's time."""
        self._timesyncs.append(graph_ns)
        self.route.send("TIMESYNC", {"tc1": 0, "ts1": graph_ns}, self.address, now_ns)

    def _timesync(self, fields: Any, now_ns: int, graph_ns: int) -> None:
        if fields.tc1 == 0:
            if graph_ns <= 0:
                return  # simulated time has not begun, and zero would be a request
            self.route.send("TIMESYNC", {"tc1": graph_ns, "ts1": fields.ts1}, self.address, now_ns)
        elif fields.ts1 in self._timesyncs:  # otherwise the answer is to another system
            self._timesyncs.remove(fields.ts1)
            self.telemetry.clock.round_trip(fields.ts1, fields.tc1, graph_ns)

    def _request_missing(self, now_ns: int) -> None:
        first = self._requested_ns == 0
        self._requested_ns = now_ns
        if not self.route.accepts_commands:
            return
        requests: list[Outgoing] = []
        if self.telemetry.home is None:
            requests.append(request_message(_HOME_POSITION))
        if self.telemetry.origin is None:
            requests.append(request_message(_GPS_GLOBAL_ORIGIN))
        # Repeat the request if no positions arrive: the autopilot was restarted, or the first request was lost.
        starved = (
            self.telemetry.poses.newest_ns() is None
            or self.telemetry.arrival_ns - (self.telemetry.poses.newest_ns() or 0) > 2 * SECOND
        )
        if self._stream_rate > 0.0 and self.telemetry.autopilot == ARDUPILOT and (first or starved):
            requests += [
                set_message_interval(kind_named(name).number, part * self._stream_rate)
                for name, part in STREAMS.items()
            ]
        self._send_all(requests, now_ns)

    def _send_all(self, outgoing: list[Outgoing], now_ns: int) -> None:
        for name, fields in outgoing:
            self.send(name, fields, now_ns)
