"""What the built-in autopilot says to ground stations, over real sockets: as PX4 does, and as ArduCopter does."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from pymavlink import mavutil
from pymavlink.dialects.v20 import all as mavlink

from sim_node.autopilots.builtin.ardupilot import ARDUPILOT
from sim_node.autopilots.builtin.dialect import Dialect, Mode
from sim_node.autopilots.builtin.px4 import PX4
from stress.doors.builtin import Running

NAN = math.nan
# MAV_RESULT
ACCEPTED, REJECTED, DENIED, UNSUPPORTED = 0, 1, 2, 3
STANDS = 0.13


class Station(Running):
    """A ground station that asks one thing after the other."""

    def __init__(self, dialect: Dialect, *, quiet: bool = False) -> None:
        super().__init__(dialect, quiet=quiet)
        self.mav = mavlink.MAVLink(None, 255, 190)
        self.mav.robust_parsing = True
        self.received: list[Any] = []
        self.flown(STANDS, 30)

    def send(self, message: Any) -> None:
        self.say(message.pack(self.mav))

    def wait(self, kind: str, fits: Callable[[Any], Any] = lambda message: True) -> Any:
        while True:
            data, _ = self._ground.recvfrom(4096)
            for message in self.mav.parse_buffer(data) or []:
                self.received.append(message)
                if message.get_type() == kind and fits(message):
                    return message

    def _receives(self, name: str, fits: Callable[[Any], bool]) -> bool:
        self.wait(name, fits)
        return True

    def ask(self, command: int, *params: float) -> int:
        values = [*params, *[0.0] * (7 - len(params))]
        self.send(self.mav.command_long_encode(1, 1, command, 0, *values))
        return int(self.wait("COMMAND_ACK", lambda ack: ack.command == command).result)

    def ask_int(self, command: int, frame: int, params: list[float], x: int, y: int, z: float) -> int:
        self.send(self.mav.command_int_encode(1, 1, frame, command, 0, 0, *params, x, y, z))
        return int(self.wait("COMMAND_ACK", lambda ack: ack.command == command).result)


@pytest.fixture(params=[PX4, ARDUPILOT], ids=["px4", "ardupilot"])
def station(request: pytest.FixtureRequest) -> Iterator[Station]:
    made = Station(request.param)
    yield made
    made.stop()


@pytest.fixture
def px4() -> Iterator[Station]:
    made = Station(PX4)
    yield made
    made.stop()


@pytest.fixture
def ardupilot() -> Iterator[Station]:
    made = Station(ARDUPILOT)
    yield made
    made.stop()


@pytest.mark.parametrize("dialect", [PX4, ARDUPILOT], ids=["px4", "ardupilot"])
def test_modes_have_the_numbers_that_pymavlink_knows(dialect: Dialect) -> None:
    for mode in dialect.modes.values():
        if dialect is PX4:
            _, main, sub = mavutil.px4_map[{"AUTO.LOITER": "LOITER"}.get(mode.name, mode.name.removeprefix("AUTO."))]
            assert mode.custom == main << 16 | sub << 24
        else:
            assert mavutil.mode_mapping_acm[mode.custom] == mode.name


def test_what_is_not_understood_is_refused(station: Station) -> None:
    for params in ((0, 4, 3), (1, 99, 0), (1, 4, 99), (1, 0.5, 0), (1, -1, 0), (1, 6, 7)):
        assert station.ask(176, *params) in (REJECTED, DENIED), params
    assert station.ask(31010) == UNSUPPORTED
    assert station.ask(262, 77) == DENIED
    assert station.ask(178, 0, -5.0, 0) == DENIED
    assert station.ask(178, 2, 3.0, 0) == DENIED, "a climb speed"
    assert station.ask(178, 1, 3.0, 50) == DENIED, "a throttle"
    assert station.ask(246, 2) == UNSUPPORTED, "a shutdown"
    assert station.ask(22, 0, 0, 0, 0, 0, 0, math.inf) == DENIED


def test_standard_modes(station: Station) -> None:
    """All by the index 0, one by its own; set by DO_SET_STANDARD_MODE."""
    modes = station.autopilot.dialect.modes
    assert station.ask(512, 435, 0) == ACCEPTED
    shown = [m for m in station.received if m.get_type() == "AVAILABLE_MODES"]
    assert [(m.mode_index, m.number_modes, m.custom_mode) for m in shown] == [
        (index, len(modes), mode.custom) for index, mode in enumerate(modes.values(), start=1)
    ]
    assert station.ask(512, 435, 2) == ACCEPTED
    assert [m.mode_index for m in station.received if m.get_type() == "AVAILABLE_MODES"][-1] == 2
    assert station.ask(512, 435, 99) == DENIED
    assert station.ask(262, mavlink.MAV_STANDARD_MODE_SAFE_RECOVERY) == REJECTED, "on the ground"


def test_a_reboot_keeps_parameters_and_missions(station: Station) -> None:
    name = "RTL_RETURN_ALT" if station.autopilot.dialect is PX4 else "RTL_ALT"
    station.send(station.mav.param_set_encode(1, 1, name.encode(), 900.0, 9 if name == "RTL_RETURN_ALT" else 6))
    assert station.wait("PARAM_VALUE").param_value == 900.0
    assert station.ask(246, 1) == ACCEPTED
    station.send(station.mav.param_request_read_encode(1, 1, name.encode(), -1))
    assert station.wait("PARAM_VALUE").param_value == 900.0
    station.flown(STANDS, 10)
    assert station.ask(400, 1) == ACCEPTED
    assert station.ask(246, 1) == REJECTED, "armed"


def test_parameters_are_bytes_or_rounded_floats(px4: Station) -> None:
    px4.send(px4.mav.param_request_read_encode(1, 1, b"SYS_AUTOSTART", -1))
    value = px4.wait("PARAM_VALUE")
    assert struct.unpack("<i", struct.pack("<f", value.param_value))[0] == 10016
    assert value.param_type == 6
    as_float = struct.unpack("<f", struct.pack("<i", 33))[0]
    px4.send(px4.mav.param_set_encode(1, 1, b"COM_DL_LOSS_T", as_float, 6))
    px4.wait("PARAM_VALUE", lambda m: struct.unpack("<i", struct.pack("<f", m.param_value))[0] == 33)


def test_what_cannot_be_set_is_answered(station: Station) -> None:
    """Unknown, read-only, out of range: PARAM_ERROR with the reason, and the value that stays."""
    name = "BAT_LOW_THR" if station.autopilot.dialect is PX4 else "WPNAV_SPEED"
    fixed = "BAT1_CAPACITY" if station.autopilot.dialect is PX4 else "BATT_CAPACITY"
    kind = 9 if station.autopilot.dialect is PX4 else 6
    for parameter, value, of, error in (
        ("NO_SUCH", 1.0, 9, 1),
        (name, 1e9, 9, 2),
        (name, NAN, 9, 2),
        (fixed, 1.0, kind, 5),
    ):
        station.send(station.mav.param_set_encode(1, 1, parameter.encode(), value, of))
        found = station.wait("PARAM_ERROR")
        assert (found.param_id, found.error) == (parameter, error)
        if error != 1:
            station.wait("PARAM_VALUE", partial(_named, parameter))
    station.send(station.mav.param_request_read_encode(1, 1, b"", 999))
    assert station.wait("PARAM_ERROR").error == 1


def _named(name: str, message: Any) -> bool:
    return bool(message.param_id == name)


# What QGroundControl sends when it connects, and what it waits for.
START_UP: dict[str, tuple[Callable[[Any], Any], str, Callable[[Any], Any]]] = {
    "autopilot version": (lambda mav: _request(mav, 148), "AUTOPILOT_VERSION", lambda m: m.flight_sw_version),
    "its older request": (lambda mav: _command(mav, 520, 1), "AUTOPILOT_VERSION", lambda m: m.capabilities & 8192),
    "protocol version": (lambda mav: _request(mav, 300), "COMMAND_ACK", lambda m: m.result == DENIED),
    "available modes": (lambda mav: _request(mav, 435), "AVAILABLE_MODES", lambda m: m.mode_index == 1),
    "modes monitor": (lambda mav: _request(mav, 437), "AVAILABLE_MODES_MONITOR", lambda m: m.seq == 0),
    "component metadata": (lambda mav: _request(mav, 397), "COMMAND_ACK", lambda m: m.result == DENIED),
    "component information": (lambda mav: _request(mav, 395), "COMMAND_ACK", lambda m: m.result == DENIED),
    "gimbal": (lambda mav: _request(mav, 280), "COMMAND_ACK", lambda m: m.result == DENIED),
    "camera": (lambda mav: _request(mav, 259), "COMMAND_ACK", lambda m: m.result == DENIED),
    "camera, its older request": (lambda mav: _command(mav, 521, 1), "COMMAND_ACK", lambda m: m.result == UNSUPPORTED),
    "home": (lambda mav: _request(mav, 242), "HOME_POSITION", lambda m: m.latitude),
    "home, its older request": (lambda mav: _command(mav, 410), "HOME_POSITION", lambda m: m.latitude),
    "rate of a message": (lambda mav: _command(mav, 511, 242, 1e6), "COMMAND_ACK", lambda m: m.result == ACCEPTED),
    "all parameters": (
        lambda mav: mav.param_request_list_encode(1, 1),
        "PARAM_VALUE",
        lambda m: m.param_index == m.param_count - 1,
    ),
    "checksum of parameters": (
        lambda mav: mav.param_request_read_encode(1, 1, b"_HASH_CHECK", -1),
        "PARAM_VALUE",
        lambda m: m.param_id == "_HASH_CHECK",
    ),
    "mission": (lambda mav: mav.mission_request_list_encode(1, 1, 0), "MISSION_COUNT", lambda m: m.mission_type == 0),
    "geofence": (lambda mav: mav.mission_request_list_encode(1, 1, 1), "MISSION_COUNT", lambda m: m.mission_type == 1),
    "rally points": (
        lambda mav: mav.mission_request_list_encode(1, 1, 2),
        "MISSION_COUNT",
        lambda m: m.mission_type == 2,
    ),
    "another list": (lambda mav: mav.mission_request_list_encode(1, 1, 77), "MISSION_ACK", lambda m: m.type == 3),
    "file list": (
        lambda mav: _ftp(mav, 3, b"/"),
        "FILE_TRANSFER_PROTOCOL",
        lambda m: (m.payload[3], m.payload[12]) == (129, 10),
    ),
    "file": (lambda mav: _ftp(mav, 4, b"/general.json"), "FILE_TRANSFER_PROTOCOL", lambda m: m.payload[3] == 129),
    "file in a burst": (
        lambda mav: _ftp(mav, 15, b"0"),
        "FILE_TRANSFER_PROTOCOL",
        lambda m: (m.payload[3], m.payload[12]) == (129, 4),
    ),
    "reset of files": (lambda mav: _ftp(mav, 2, b""), "FILE_TRANSFER_PROTOCOL", lambda m: m.payload[3] == 128),
    "logs": (lambda mav: mav.log_request_list_encode(1, 1, 0, 9), "LOG_ENTRY", lambda m: m.num_logs == 0),
    "ping": (lambda mav: mav.ping_encode(5, 6, 0, 0), "PING", lambda m: m.seq == 6),
    "time": (lambda mav: mav.timesync_encode(0, 77), "TIMESYNC", lambda m: m.ts1 == 77),
}


def _command(mav: Any, command: int, *params: float) -> Any:
    return mav.command_long_encode(1, 1, command, 0, *params, *[0.0] * (7 - len(params)))


def _request(mav: Any, message: int) -> Any:
    return _command(mav, 512, message)


def _ftp(mav: Any, opcode: int, data: bytes) -> Any:
    header = struct.pack("<HBBBBBBI", 7, 0, opcode, len(data), 0, 0, 0, 0)
    return mav.file_transfer_protocol_encode(0, 1, 1, (header + data).ljust(251, b"\0"))


def test_every_request_of_qgroundcontrols_start_is_answered_or_refused(px4: Station) -> None:
    for name, (make, kind, fits) in START_UP.items():
        px4.send(make(px4.mav))
        assert px4.wait(kind, fits), name


def test_ardupilots_clients_get_the_streams_that_they_request(ardupilot: Station) -> None:
    ardupilot.send(ardupilot.mav.request_data_stream_encode(1, 1, 10, 25, 1))
    ardupilot.asked(1)
    ardupilot.flown(STANDS, 300)
    ardupilot.asked(2)
    times = [m.time_boot_ms for m in ardupilot.received if m.get_type() == "ATTITUDE"]
    assert {after - before for before, after in zip(times[-20:], times[-19:], strict=False)} == {40}
    flags = [m.flags for m in ardupilot.received if m.get_type() == "EKF_STATUS_REPORT"]
    assert flags[-1] & mavlink.EKF_PRED_POS_HORIZ_ABS


def test_offboard_needs_setpoints_first(px4: Station) -> None:
    assert px4.ask(176, 1, 6) == REJECTED
    px4.send(px4.mav.set_position_target_local_ned_encode(0, 1, 1, 1, 0x0DF8, 0, 0, -3, *[0] * 8))
    px4.asked(5)
    assert px4.ask(176, 1, 6) == ACCEPTED


@pytest.mark.parametrize(
    ("mask", "why"), [(0x0FC7, ""), (0x0FF8, ""), (0x0E07, "forces are not supported"), (0x0FFF, "leaves neither")]
)
def test_velocity_masks_as_arducopter_takes_them(ardupilot: Station, mask: int, why: str) -> None:
    """DroneKit and MAVProxy set the bit for forces beside ignored accelerations."""
    assert ardupilot.ask(176, 1, 4) == ACCEPTED
    ardupilot.send(ardupilot.mav.set_position_target_local_ned_encode(0, 1, 1, 1, mask, 0, 0, -3, 1, 0, 0, *[0] * 5))
    ardupilot.asked(6)
    texts = [m.text for m in ardupilot.received if m.get_type() == "STATUSTEXT" and "ignored" in m.text]
    assert [why in text for text in texts] == ([True] if why else [])


def test_a_setpoint_with_an_infinite_yaw_is_ignored_and_told(px4: Station) -> None:
    mask = 0x09F8  # position and yaw
    px4.send(px4.mav.set_position_target_local_ned_encode(0, 1, 1, 1, mask, 0, 0, -3, *[0] * 6, math.inf, 0))
    px4.asked(6)
    texts = [m.text for m in px4.received if m.get_type() == "STATUSTEXT" and "ignored" in m.text]
    assert ["yaw is not finite" in text for text in texts] == [True]


def test_take_off_is_flown_when_it_is_armed_or_refused(station: Station) -> None:
    """QGroundControl commands PX4's take-off first and arms then; ArduCopter takes off in GUIDED, armed."""
    flight = station.autopilot.flight
    if station.autopilot.dialect is PX4:
        assert station.ask(22, NAN, NAN, NAN, NAN, NAN, NAN, NAN) == ACCEPTED
        assert station.ask(400, 1) == ACCEPTED
    else:
        assert station.ask(22, 0, 0, 0, 0, 0, 0, 3.0) == REJECTED, "not armed"
        assert station.ask(400, 1) == ACCEPTED
        assert station.ask(22, 0, 0, 0, 0, 0, 0, 3.0) == REJECTED, "not GUIDED"
        assert station.ask(176, 1, 4) == ACCEPTED
        assert station.ask(22, 0, 0, 0, 0, 0, 0, 3.0) == ACCEPTED
    assert min(station.flown(STANDS, 5)[:4]) > 0.1
    assert flight.airborne
    assert flight.mode is station.autopilot.dialect.takeoff_mode is not Mode.HOLD


def test_a_port_where_nobody_answers_gets_heartbeats_alone() -> None:
    """As 14550 of this machine, on which a ground station may listen or not."""
    station = Station(PX4, quiet=True)
    try:
        station.flown(STANDS, 300)
        station.wait("HEARTBEAT")
        assert {message.get_type() for message in station.received} == {"HEARTBEAT"}
        station.send(station.mav.heartbeat_encode(6, 8, 0, 0, 0))
        station.asked(1)
        station.flown(STANDS, 300)
        station.wait("ATTITUDE")
    finally:
        station.stop()
