"""One vehicle: where it is reached, what is said to it, and what streams towards it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from sim_node.autopilot.codec import Message, kind_named
from sim_node.autopilot.commands import request_message, set_message_interval
from sim_node.autopilot.links import Address
from sim_node.autopilot.setpoints import Setpoint
from sim_node.autopilot.telemetry import ARDUPILOT, Telemetry
from sim_node.autopilot.transaction import Outgoing, Refusal, Result, Transaction
from sim_node.autopilot.translation import TRANSLATIONS
from sim_node.autopilot.translation.state import tell_state

SECOND = 1_000_000_000
REQUEST_PERIOD_NS = 2 * SECOND
MAX_WAITING = 32
_HOME_POSITION, _GPS_GLOBAL_ORIGIN = 242, 49
# What ArduPilot is asked for, which streams little by itself: message and its part of the rate.
STREAMS = {
    "ATTITUDE_QUATERNION": 1.0,
    "LOCAL_POSITION_NED": 1.0,
    "RAW_IMU": 1.0,
    "GLOBAL_POSITION_INT": 0.5,
    "GPS_RAW_INT": 0.1,
    "SCALED_PRESSURE": 0.2,
    "SERVO_OUTPUT_RAW": 0.2,
    "RC_CHANNELS": 0.1,
    "BATTERY_STATUS": 0.1,
    "SYS_STATUS": 0.1,
    "EXTENDED_SYS_STATE": 0.1,
    "MISSION_CURRENT": 0.1,
    "VFR_HUD": 0.1,
    "WIND": 0.1,
    "SYSTEM_TIME": 0.04,
}

Ended = Callable[[Transaction, Result], None]


class Route(Protocol):
    """What a vehicle is reached through: a connection, or a recording, which takes nothing."""

    takes_commands: bool

    @property
    def name(self) -> str:
        """For people."""

    def send(self, name: str, fields: Mapping[str, Any], to: Address, now_ns: int) -> None:
        """One message to one peer."""


class Stream:
    """The setpoint that is sent again and again until it is taken away."""

    def __init__(self, rate: float) -> None:
        self.setpoint: Setpoint | None = None
        self.owner = ""
        self._period_ns = round(SECOND / rate)
        self._due_ns = 0

    def set(self, setpoint: Setpoint, owner: str) -> None:
        """This one from now on, at once."""
        self.setpoint, self.owner, self._due_ns = setpoint, owner, 0

    def stop(self, owner: str | None = None) -> bool:
        """No more of it, if it is this owner's; whether there was one."""
        if self.setpoint is None or owner not in (None, self.owner):
            return False
        self.setpoint, self.owner = None, ""
        return True

    def due(self, now_ns: int) -> Setpoint | None:
        """What is to be sent now."""
        if self.setpoint is None or now_ns < self._due_ns:
            return None
        late = now_ns - self._due_ns
        self._due_ns = self._due_ns + self._period_ns if late < self._period_ns else now_ns + self._period_ns
        return self.setpoint


class Vehicle:
    """A system id with an autopilot.

    telemetry: what it tells. way, address: where it was heard. heartbeat_timeout: a vehicle that sends nothing for so
    long (s) is not connected. Times are monotonic nanoseconds, but for those of telemetry, which are the graph's.
    """

    def __init__(
        self,
        telemetry: Telemetry,
        component: int,
        way: Route,
        address: Address,
        *,
        setpoint_rate: float,
        stream_rate: float,
        heartbeat_timeout: float,
    ) -> None:
        self.telemetry, self.component = telemetry, component
        self.way, self.address = way, address
        self.connected = False
        self.heard_ns = 0
        self.received = 0
        self.stream = Stream(setpoint_rate)
        self._stream_rate = stream_rate
        self._silent_ns = round(heartbeat_timeout * SECOND)
        self._started_ns: int | None = None
        self._active: dict[str, tuple[Transaction, Ended]] = {}
        self._waiting: deque[tuple[Transaction, Ended]] = deque()
        self._asked_ns = 0
        self._timesyncs: deque[int] = deque(maxlen=20)

    @property
    def system(self) -> int:
        """MAVLink system id."""
        return self.telemetry.system

    def silent(self, now_ns: int) -> bool:
        """Whether nothing came for so long that it is not connected, and another peer may speak for its system id."""
        return now_ns - self.heard_ns > self._silent_ns

    def receive(self, message: Message, now_ns: int, graph_ns: int) -> None:
        """Takes a message of its autopilot."""
        self.heard_ns = now_ns
        self.received += 1
        telemetry = self.telemetry
        telemetry.arrival_ns = graph_ns
        translate = TRANSLATIONS.table().get(message.name)
        if translate is not None:
            translate(message.fields, telemetry)
        if message.name == "HEARTBEAT":
            self.connected = True
        elif message.name == "TIMESYNC":
            self._timesync(message.fields, now_ns, graph_ns)
        if not self.connected and telemetry.heartbeat is not None:
            # Back from a silence, which anything ends; its next heartbeat may be a second away.
            self.connected = True
            tell_state(telemetry, connected=True)
        for transaction, _ in list(self._active.values()):
            self._send_all(transaction.receive(message, now_ns), now_ns)
        if self._active:
            self._settle(now_ns)

    def tick(self, now_ns: int, graph_ns: int) -> None:
        """What is due: exchanges, the setpoint stream, questions, silence."""
        if self.connected and self.silent(now_ns):
            self.connected = False
            self.telemetry.arrival_ns = graph_ns
            tell_state(self.telemetry, connected=False)
        for transaction, _ in list(self._active.values()):
            self._send_all(transaction.tick(now_ns), now_ns)
        self._settle(now_ns)
        setpoint = self.stream.due(now_ns)
        if setpoint is not None:
            self.send(setpoint.name, setpoint.fields, now_ns)
        if self.connected and now_ns - self._asked_ns > REQUEST_PERIOD_NS:
            self._ask(now_ns)

    def begin(self, transaction: Transaction, ended: Ended, now_ns: int) -> None:
        """Starts an exchange, or lets it wait for the one of the same key that is under way."""
        if not self.way.takes_commands and transaction.result is None:
            transaction = Refusal(transaction.name, "a recording takes no commands")
        if transaction.result is not None:
            ended(transaction, transaction.result)
        elif transaction.key in self._active:
            if len(self._waiting) >= MAX_WAITING:
                ended(transaction, Result(False, f"{MAX_WAITING} requests are waiting already"))
            else:
                self._waiting.append((transaction, ended))
        else:
            self._active[transaction.key] = transaction, ended
            self._send_all(transaction.start(now_ns), now_ns)
            self._settle(now_ns)

    def cancel(self, key: str, why: str, now_ns: int) -> None:
        """Ends the exchange of a key, if one is under way."""
        found = self._active.get(key)
        if found is not None:
            found[0].end(False, why)
            self._settle(now_ns)

    def send(self, name: str, fields: Mapping[str, Any], now_ns: int) -> None:
        """One message, with what every message to a vehicle carries filled in."""
        if self._started_ns is None:
            self._started_ns = now_ns
        own: dict[str, Any] = {}
        wire = kind_named(name).fields._fields
        if "target_system" in wire:
            own["target_system"] = self.system
        if "target_component" in wire:
            own["target_component"] = self.component
        if "time_boot_ms" in wire:
            own["time_boot_ms"] = (now_ns - self._started_ns) // 1_000_000 & 0xFFFFFFFF
        self.way.send(name, own | dict(fields), self.address, now_ns)

    def ask_time(self, now_ns: int, graph_ns: int) -> None:
        """Asks what time the autopilot has."""
        self._timesyncs.append(graph_ns)
        self.way.send("TIMESYNC", {"tc1": 0, "ts1": graph_ns}, self.address, now_ns)

    def _timesync(self, fields: Any, now_ns: int, graph_ns: int) -> None:
        if fields.tc1 == 0:
            if graph_ns <= 0:
                return  # simulated time has not begun, and zero would be a question
            self.way.send("TIMESYNC", {"tc1": graph_ns, "ts1": fields.ts1}, self.address, now_ns)
        elif fields.ts1 in self._timesyncs:  # else it answers somebody else
            self._timesyncs.remove(fields.ts1)
            self.telemetry.clock.round_trip(fields.ts1, fields.tc1, graph_ns)

    def _ask(self, now_ns: int) -> None:
        first = self._asked_ns == 0
        self._asked_ns = now_ns
        if not self.way.takes_commands:
            return
        wanted: list[Outgoing] = []
        if self.telemetry.home is None:
            wanted.append(request_message(_HOME_POSITION))
        if self.telemetry.origin is None:
            wanted.append(request_message(_GPS_GLOBAL_ORIGIN))
        # Asked again where positions do not flow: the autopilot was restarted, or the first request was lost.
        starved = (
            self.telemetry.poses.newest_ns() is None
            or self.telemetry.arrival_ns - (self.telemetry.poses.newest_ns() or 0) > 2 * SECOND
        )
        if self._stream_rate > 0.0 and self.telemetry.autopilot == ARDUPILOT and (first or starved):
            wanted += [
                set_message_interval(kind_named(name).number, part * self._stream_rate)
                for name, part in STREAMS.items()
            ]
        self._send_all(wanted, now_ns)

    def _send_all(self, outgoing: list[Outgoing], now_ns: int) -> None:
        for name, fields in outgoing:
            self.send(name, fields, now_ns)

    def _settle(self, now_ns: int) -> None:
        """Tells of what has ended and starts what waited for it."""
        for key, (transaction, ended) in list(self._active.items()):
            if transaction.result is None:
                continue
            del self._active[key]
            ended(transaction, transaction.result)
            for waiting in self._waiting:
                if waiting[0].key == key:
                    self._waiting.remove(waiting)
                    self.begin(*waiting, now_ns)
                    break
