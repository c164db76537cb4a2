"""A simulated ground station's link to a real autopilot."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sim_node.autopilots.installed import PX4
from sim_node.mavlink.codec import MavlinkMessage, frame_bytes, kind_named
from sim_node.mavlink.mission.items import item_fields, numbered
from sim_node.mavlink.mission.transfer import Upload
from sim_node.mavlink.modes import ARMED, PREARM_CHECK
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.ports import ARDUPILOT_APART, ARDUPILOT_SERIAL_PORT, FIRST_STATION_PORT, HOST
from sim_node.mavlink.status_texts import StatusTexts
from sim_node.mavlink.transaction import Outgoing, Result

# Ids of the ground station. ArduPilot monitors the heartbeats of this system only (MAV_GCS_SYSID).
SYSTEM, COMPONENT = 255, 190
# Maximum time to wait for the echo that shows that PX4 has read all messages, s.
_PATIENCE_S = 2.0
_READ_SIZE, MAX_REPLIES = 65536, 200
_POSITION_KNOWN = 16  # EKF_POS_HORIZ_ABS
_ALL_STREAMS, _STREAM_RATE = 0, 10
_WAYPOINT, _GLOBAL = 16, 0  # MAV_CMD, MAV_FRAME
_SET_INTERVAL, _INTERVAL_US = 511, 20_000.0  # MAV_CMD_SET_MESSAGE_INTERVAL, and the interval of requested messages
_KEPT = frozenset(("COMMAND_ACK", "STATUSTEXT", "PARAM_VALUE", "MISSION_REQUEST", "MISSION_REQUEST_INT", "MISSION_ACK"))


class GroundLink:
    """A MAVLink connection to PX4 or ArduPilot, in addition to the one in lockstep.

    ArduPilot reads and writes it between two exchanges of its simulator link, so it is in lockstep, too. PX4 uses
    separate threads: after each message to PX4, an echo shows that it has been read before simulation time continues.

    Args:
        kind: PX4 or ARDUPILOT.
        instance: Instance number, from 0.

    Attributes:
        replies: Answers and texts of the autopilot, the newest last.
        telemetry: Newest message of each requested kind.
        armed: Whether the autopilot is armed.
        texts: All texts of the autopilot.
    """

    def __init__(self, kind: str, instance: int) -> None:
        self._is_px4, self._system = kind == PX4, instance + 1
        port = FIRST_STATION_PORT + instance if self._is_px4 else ARDUPILOT_SERIAL_PORT + ARDUPILOT_APART * instance
        self._address = HOST, port
        self._socket: socket.socket | None = None
        self._parser = Parser(datagrams=self._is_px4)
        self._sequence = self._echoes = 0
        self._echoed = 0
        self._joined = StatusTexts()
        self.replies: list[MavlinkMessage] = []
        self.telemetry: dict[str, MavlinkMessage] = {}
        self._requested: set[str] = set()
        self.texts: list[str] = []
        self.armed = self._checked = False
        self._knows_position = self._is_px4
        self._upload: Upload | None = None
        self._now_ns = 0

    @property
    def ready(self) -> bool:
        """Whether the autopilot reports that it can be armed, and has a position estimate."""
        return self._checked and self._knows_position

    def open(self) -> bool:
        """Connect, and return whether that succeeded."""
        if self._socket is not None:
            return True
        kind = socket.SOCK_DGRAM if self._is_px4 else socket.SOCK_STREAM
        made = socket.socket(socket.AF_INET, kind)
        try:
            made.connect(self._address)
        except OSError:
            made.close()
            return False
        made.setblocking(False)
        if not self._is_px4:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = made
        return True

    def close(self) -> None:
        """Close the connection, and discard all received messages."""
        if self._socket is not None:
            self._socket.close()
        self._socket = self._upload = None
        for kept in (self.replies, self.telemetry, self._requested, self.texts):
            kept.clear()
        self.armed = self._checked = False
        self._knows_position = self._is_px4

    def ask_for_streams(self) -> None:
        """Request telemetry from ArduPilot. PX4 sends it without a request."""
        if not self._is_px4:
            fields = {"req_stream_id": _ALL_STREAMS, "req_message_rate": _STREAM_RATE, "start_stop": 1}
            self.send("REQUEST_DATA_STREAM", {"target_system": 0, "target_component": 1, **fields})

    def send(self, name: str, fields: Mapping[str, Any]) -> None:
        """Send a message. When this returns, the autopilot has read it, or has it in its receive buffer.

        Args:
            name: Name of the message.
            fields: Its fields. A target_system of 0 is replaced by the autopilot's id.
        """
        if "target_system" in fields:
            fields = {**fields, "target_system": self._system}
        self._write(name, fields)
        self.wait_until_read()

    def request(self, name: str) -> None:
        """Request a message at 50 Hz from now on. Its newest value is in `telemetry`."""
        if name not in self._requested and self._socket is not None:
            self._requested.add(name)
            fields = {"command": _SET_INTERVAL, "param1": kind_named(name).number, "param2": _INTERVAL_US}
            self.send("COMMAND_LONG", {"target_system": 0, "target_component": 1, **fields})

    @property
    def uploaded(self) -> Result | None:
        """Result of the upload of a mission; None if it has not ended."""
        return None if self._upload is None else self._upload.result

    def upload(self, items: Sequence[Mapping[str, Any]], now_ns: int) -> None:
        """Begin to upload a mission. The upload continues with each `poll`.

        Args:
            items: Fields of its MISSION_ITEM_INTs.
            now_ns: Time on the clock of retries, ns.
        """
        if not self._is_px4:  # its first item is home
            items = numbered((item_fields(_WAYPOINT, _GLOBAL), *items))
        self._upload, self._now_ns = Upload(items), now_ns
        self._write_all(self._upload.start(now_ns))
        self.wait_until_read()

    def wait_until_read(self) -> bool:
        """Wait until PX4 has read all messages sent to it, and return whether it has."""
        if not self._is_px4 or self._socket is None:
            return True
        self._echoes += 1
        self._write("TIMESYNC", {"tc1": 0, "ts1": self._echoes})
        deadline = time.monotonic() + _PATIENCE_S
        while self._echoed < self._echoes:
            left = deadline - time.monotonic()
            if left <= 0.0 or not self._read(left):
                return False
        return True

    def poll(self, now_ns: int) -> None:
        """Receive messages, and continue the upload.

        Args:
            now_ns: Time on the clock of `upload`, ns.
        """
        self._now_ns = now_ns
        if self._socket is not None:
            self._read(0.0)
        if self._upload is not None and self._upload.result is None:
            self._write_all(self._upload.tick(now_ns))

    def _write_all(self, messages: Iterable[Outgoing]) -> None:
        for name, fields in messages:
            self._write(name, {"target_system": self._system, "target_component": 1, **fields})

    def _write(self, name: str, fields: Mapping[str, Any]) -> None:
        if self._socket is None:
            return
        self._sequence = (self._sequence + 1) & 0xFF
        with suppress(OSError):  # the autopilot is gone
            self._socket.send(frame_bytes(name, fields, SYSTEM, COMPONENT, self._sequence))

    def _read(self, seconds: float) -> bool:
        """Receive messages, waiting at most some seconds for the first. Return whether any were received."""
        assert self._socket is not None
        if seconds and not select.select([self._socket], [], [], seconds)[0]:
            return False
        while True:
            try:
                data = self._socket.recv(_READ_SIZE)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not data:
                return False
            for message in self._parser.feed(data):
                if message.system == self._system and message.component == 1:
                    self._hear(message)

    def _hear(self, message: MavlinkMessage) -> None:
        name, fields = message.name, message.fields
        if name in self._requested:
            self.telemetry[name] = message
        if name == "HEARTBEAT":
            self.armed = bool(fields.base_mode & ARMED)
        elif name == "SYS_STATUS":
            self._checked = bool(fields.onboard_control_sensors_health & PREARM_CHECK)
        elif name == "EKF_STATUS_REPORT":
            self._knows_position = bool(fields.flags & _POSITION_KNOWN)
        elif name == "TIMESYNC" and fields.tc1:
            self._echoed = max(self._echoed, fields.ts1)
        elif name.startswith("MISSION_") and self._upload is not None and self._upload.result is None:
            self._write_all(self._upload.receive(message, self._now_ns))
        elif name in _KEPT and (name != "COMMAND_ACK" or fields.command != _SET_INTERVAL):
            if name == "STATUSTEXT":
                self.texts += [each.text for each in self._joined.add(fields, 0)]
            self.replies.append(message)
            del self.replies[:-MAX_REPLIES]
