"""An autopilot on a real socket, made of pymavlink: it flies as a point, answers, refuses, and remembers it all."""

from __future__ import annotations

import math
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pymavlink.dialects.v20 import ardupilotmega as mavlink
from waiting import PATIENCE

ARDUPILOT, PX4 = 3, 12
COPTER_MODES = {"STABILIZE": 0, "AUTO": 3, "GUIDED": 4, "LOITER": 5, "RTL": 6, "LAND": 9}
MISSION_START = 300
HOME = (47.397742, 8.545594, 488.0)


class CoSimulator:
    """Sends to 127.0.0.1:port from a port of its own, `rate` times a second, in a thread.

    mode is ArduPilot's custom mode; position and velocity are NED. refuse: result and words by command.
    drop_commands: how many of each go unheard. received: (time, message) of all that came in. home_ned: where home lies
    in the local frame.
    """

    def __init__(self, port: int, *, system: int = 1, autopilot: int = ARDUPILOT, rate: float = 50.0) -> None:
        self.system, self.autopilot, self.period = system, autopilot, 1.0 / rate
        self.armed, self.mode = False, 0
        self.position, self.velocity, self.yaw = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 0.0
        self.home_ned = (0.0, 0.0, 0.0)
        self.refuse: dict[int, tuple[int, str]] = {}
        self.drop_commands: Counter[int] = Counter()
        self.received: list[tuple[float, Any]] = []
        self.mission: list[Any] = []
        self.drop_requests = 0
        self.speed = 5.0
        self.boot_offset_ms = 1000
        self.sent = 0
        self.address = ("127.0.0.1", port)
        self._wish: list[float] | None = None
        self._uploading = self._type = self._text = 0
        self._uploaded: dict[int, Any] = {}
        self._changed = threading.Condition()
        self._stopping = False
        self._started = time.monotonic()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.mav = mavlink.MAVLink(None, system, 1)
        self.mav.robust_parsing = True
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        self._thread.join()
        self._socket.close()

    def of(self, kind: str, since: float = 0.0) -> list[Any]:
        with self._changed:
            return [message for at, message in self.received if at >= since and message.get_type() == kind]

    def wait_for(self, done: Callable[[], Any], what: str = "") -> Any:
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while not (found := done()):
                left = deadline - time.monotonic()
                assert left > 0.0, f"not within {PATIENCE:g} s: {what}"
                self._changed.wait(min(left, 0.1))
        return found

    def send(self, message: Any) -> None:
        data = message.pack(self.mav)
        self.mav.seq = (self.mav.seq + 1) % 256
        self.sent += 1
        with suppress(OSError):
            self._socket.sendto(data, self.address)

    def boot_ms(self) -> int:
        return int((time.monotonic() - self._started) * 1000) + self.boot_offset_ms

    def _run(self) -> None:
        due, beat = time.monotonic(), 0.0
        while not self._stopping:
            now = time.monotonic()
            self._socket.settimeout(max(0.0005, due - now))
            with suppress(OSError):
                data, _ = self._socket.recvfrom(4096)
                for message in self.mav.parse_buffer(data) or []:
                    with self._changed:
                        self.received.append((time.monotonic(), message))
                        self._answer(message)
                        self._changed.notify_all()
            now = time.monotonic()
            if now >= due:
                due = max(due + self.period, now)
                self._fly()
                if now - beat > 0.2:
                    beat = now
                    self._tell_slow()
                self._tell()

    def _fly(self) -> None:
        if self._wish is not None and self.mode in (COPTER_MODES["GUIDED"], COPTER_MODES["AUTO"]):
            way = [b - a for a, b in zip(self.position, self._wish, strict=True)]
            length = math.hypot(*way)
            step = min(length, self.speed * self.period)
            self.velocity = [part / length * self.speed if length > 1e-9 else 0.0 for part in way]
            if length > 1e-9:
                self.position = [a + part / length * step for a, part in zip(self.position, way, strict=True)]

    def _tell(self) -> None:
        boot = self.boot_ms()
        half = self.yaw / 2
        q = (math.cos(half), 0.0, 0.0, math.sin(half))
        self.send(self.mav.attitude_quaternion_encode(boot, *q, 0.0, 0.0, 0.0))
        self.send(self.mav.local_position_ned_encode(boot, *self.position, *self.velocity))

    def _tell_slow(self) -> None:
        base = 1 | (128 if self.armed else 0)
        self.send(self.mav.heartbeat_encode(2, self.autopilot, base, self.mode, 4))
        lat, lon, alt = round(HOME[0] * 1e7), round(HOME[1] * 1e7), round(HOME[2] * 1e3)
        self.send(self.mav.home_position_encode(lat, lon, alt, *self.home_ned, [math.nan] * 4, 0, 0, 0))
        self.send(self.mav.gps_global_origin_encode(lat, lon, alt))

    def _answer(self, message: Any) -> None:
        kind = message.get_type()
        if getattr(message, "target_system", self.system) != self.system:
            return
        if kind == "COMMAND_LONG":
            self._command(message)
        elif kind == "TIMESYNC" and message.tc1 == 0:
            self.send(self.mav.timesync_encode(self.boot_ms() * 1_000_000, message.ts1))
        elif kind == "SET_POSITION_TARGET_LOCAL_NED" and not message.type_mask & 7:
            self._wish = [message.x, message.y, message.z]
            self.yaw = message.yaw
        elif kind == "MISSION_COUNT":
            self._uploading, self._uploaded, self._type = message.count, {}, message.mission_type
            self._ask_for(0)
        elif kind == "MISSION_ITEM_INT" and message.seq == len(self._uploaded):
            self._uploaded[message.seq] = message
            if len(self._uploaded) < self._uploading:
                self._ask_for(len(self._uploaded))
            else:
                self.mission = [self._uploaded[seq] for seq in sorted(self._uploaded)]
                self.send(self.mav.mission_ack_encode(255, 191, 0, self._type))
        elif kind == "MISSION_REQUEST_LIST":
            self.send(self.mav.mission_count_encode(255, 191, len(self.mission)))
        elif kind == "MISSION_REQUEST_INT" and message.seq < len(self.mission):
            if self.drop_requests:
                self.drop_requests -= 1
                return
            item = self.mission[message.seq]
            fields = (item.frame, item.command, item.current, item.autocontinue, item.param1, item.param2)
            places = (item.param3, item.param4, item.x, item.y, item.z)
            self.send(self.mav.mission_item_int_encode(255, 191, item.seq, *fields, *places))
        elif kind == "MISSION_CLEAR_ALL":
            self.mission = []
            self.send(self.mav.mission_ack_encode(255, 191, 0))

    def _ask_for(self, seq: int) -> None:
        if self.drop_requests:
            self.drop_requests -= 1
            return
        self.send(self.mav.mission_request_int_encode(255, 191, seq, self._type))

    def _say(self, words: str) -> None:
        """In chunks of 50 bytes, if it does not fit in one."""
        data = words.encode()
        if len(data) <= 50:
            if data:
                self.send(self.mav.statustext_encode(4, data))
            return
        self._text = self._text % 65535 + 1
        for chunk, start in enumerate(range(0, len(data) + 1, 50)):
            self.send(self.mav.statustext_encode(4, data[start : start + 50], self._text, chunk))

    def _command(self, message: Any) -> None:
        command = message.command
        if self.drop_commands[command]:
            self.drop_commands[command] -= 1
            return
        result, words = self.refuse.get(command, (0, ""))
        if command == MISSION_START and not (self.armed and self.mission):
            result = 4  # MAV_RESULT_FAILED, without a word: GCS_MAVLINK_Copter::handle_MAV_CMD_MISSION_START
        self._say(words)
        if result == 0 and command == 400:
            self.armed = message.param1 == 1.0
        elif result == 0 and command == 176:
            main, sub = int(message.param2), int(message.param3)
            self.mode = main << 16 | sub << 24 if self.autopilot == PX4 else main
        elif result == 0 and command == MISSION_START:
            # In mode AUTO alone ArduCopter waits on the ground: nothing has set its auto_armed.
            self.mode = COPTER_MODES["AUTO"]
            self._wish = [self.position[0], self.position[1], -self.mission[1].z]
        elif result == 0 and command == 22:
            self._wish = [self.position[0], self.position[1], -message.param7]
        self.send(self.mav.command_ack_encode(command, result))
        if result == 0 and command in (176, 400):
            self._tell_slow()


@contextmanager
def peer(port: int, **what: Any) -> Iterator[CoSimulator]:
    """A running peer."""
    made = CoSimulator(port, **what)
    made.start()
    try:
        yield made
    finally:
        made.stop()
