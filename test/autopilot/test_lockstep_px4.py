"""The simulator side of PX4's lockstep against what a real PX4 sent and was sent, over a real socket."""

from __future__ import annotations

import itertools
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from claims import free_instance
from exchanging import take_turns
from waiting import PATIENCE

from sim_node.autopilots.lockstep import Fix, Px4, Sample
from sim_node.autopilots.lockstep.px4 import FIRST_PORT
from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.parser import Parser

EXCHANGE = Path(__file__).parents[1] / "data" / "px4_simulator_exchange.bin"
EPOCH_US = 1_000_000
STEP_US = 4_000
# PX4 first answers this step, and from then on every one.
FIRST_ANSWER = 35


def records() -> Iterator[tuple[bytes, int, bytes]]:
    data, at = EXCHANGE.read_bytes(), 0
    while at < len(data):
        direction, step, length = struct.unpack_from("<cIH", data, at)
        at += 7
        yield direction, step, data[at : at + length]
        at += length


@pytest.fixture(scope="module")
def recorded() -> tuple[dict[int, list[MavlinkMessage]], dict[int, bytes]]:
    """What the simulator said by step, and PX4's bytes by the step whose time they carry."""
    parser, px4_parser = Parser(datagrams=False), Parser(datagrams=False)
    said: dict[int, list[MavlinkMessage]] = {}
    answers: dict[int, bytes] = {}
    for direction, step, data in records():
        if direction == b"S":
            said[step] = parser.feed(data)
            continue
        for message in px4_parser.feed(data):
            if message.name == "HIL_ACTUATOR_CONTROLS":
                step = (message.fields.time_usec - EPOCH_US) // STEP_US
            answers[step] = answers.get(step, b"") + message.raw
    return said, answers


@pytest.fixture
def px4() -> Iterator[Px4]:
    simulator = Px4(free_instance(), 4)
    simulator.open()
    yield simulator
    simulator.close()


def sample_of(messages: list[MavlinkMessage]) -> Sample:
    """The house's sample of recorded fields: FRD to FLU, gauss to tesla, hPa to Pa, by hand."""
    sensor = next(m.fields for m in messages if m.name == "HIL_SENSOR")
    gps = next((m.fields for m in messages if m.name == "HIL_GPS"), None)
    updated = sensor.fields_updated
    return Sample(
        time_ns=(sensor.time_usec - EPOCH_US) * 1000,
        pose=np.array([0.0, 0.0, 0.0, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]),  # level, looking north
        velocity=np.zeros(3),
        rate=np.array([sensor.xgyro, -sensor.ygyro, -sensor.zgyro]),
        force=np.array([sensor.xacc, -sensor.yacc, -sensor.zacc]),
        field=np.array([sensor.xmag, -sensor.ymag, -sensor.zmag]) * 1e-4 if updated & 0x1C0 == 0x1C0 else None,
        pressure=sensor.abs_pressure * 100.0 if updated & 0x1A00 == 0x1A00 else None,
        altitude=sensor.pressure_alt,
        temperature=sensor.temperature,
        differential_pressure=sensor.diff_pressure * 100.0 if updated & 0x400 else None,
        fix=None
        if gps is None
        else Fix(gps.lat * 1e-7, gps.lon * 1e-7, gps.alt * 1e-3, np.zeros(3), gps.eph * 1e-2, gps.epv * 1e-2, 0.0),
    )


class ReplayedPx4:
    """Answers every HIL_SENSOR with the bytes that the real one answered that step with."""

    def __init__(self, address: tuple[str, int], answers: dict[int, bytes]) -> None:
        self.heard: list[MavlinkMessage] = []
        self._socket = socket.create_connection(address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = answers
        self._answered = threading.Condition()
        self._steps = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        parser = Parser(datagrams=False)
        while data := self._read():
            messages = parser.feed(data)
            with self._answered:
                self.heard += messages
                for message in messages:
                    if message.name == "HIL_SENSOR":
                        at = (message.fields.time_usec - EPOCH_US) // STEP_US
                        self._socket.sendall(self._answers.get(at, b""))
                        self._steps += 1
                self._answered.notify_all()

    def has_answered(self, steps: int) -> None:
        """Waits until it has, as a simulator that runs free does not."""
        with self._answered:
            assert self._answered.wait_for(lambda: self._steps >= steps, PATIENCE)

    def _read(self) -> bytes:
        try:
            return self._socket.recv(65536)
        except OSError:
            return b""

    def close(self) -> None:
        with suppress(OSError):  # the other end may have closed it
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()


def close(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=1e-6, atol=1e-9))


def test_a_recorded_exchange_goes_the_same_way_again(
    px4: Px4, recorded: tuple[dict[int, list[MavlinkMessage]], dict[int, bytes]]
) -> None:
    """Each step says what the recorded simulator said, and from PX4's first controls on takes one answer."""
    said, answers = recorded
    peer = ReplayedPx4(px4.address, answers)
    commands = []
    for step in sorted(said):
        commands.append(take_turns(px4, sample_of(said[step])))
        peer.has_answered(step + 1)
    assert px4.wait.lockstep
    assert all(command == (0.0,) * 4 for command in commands[FIRST_ANSWER + 2 :])  # disarmed
    px4.close()
    peer.close()

    ours = {"HIL_SENSOR": [], "HIL_GPS": []}  # type: dict[str, list[Any]]
    theirs: dict[str, list[Any]] = {"HIL_SENSOR": [], "HIL_GPS": []}
    for message in peer.heard:
        ours.get(message.name, []).append(message.fields)
    for step in sorted(said):
        for message in said[step]:
            theirs.get(message.name, []).append(message.fields)
    assert len(ours["HIL_SENSOR"]) == len(theirs["HIL_SENSOR"]) == len(said)
    assert len(ours["HIL_GPS"]) == len(theirs["HIL_GPS"]) > 5
    for mine, other in zip(ours["HIL_SENSOR"], theirs["HIL_SENSOR"], strict=True):
        groups = {
            0x7: ("xacc", "yacc", "zacc"),
            0x38: ("xgyro", "ygyro", "zgyro"),
            0x1C0: ("xmag", "ymag", "zmag"),
            0x1A00: ("abs_pressure", "pressure_alt", "temperature"),
        }
        assert mine.time_usec == other.time_usec
        for mask, fields in groups.items():
            assert (mine.fields_updated & mask == mask) == (other.fields_updated & mask == mask)
            if other.fields_updated & mask == mask:
                assert all(close(getattr(mine, f), getattr(other, f)) for f in fields)
    for mine, other in zip(ours["HIL_GPS"], theirs["HIL_GPS"], strict=True):
        assert (mine.time_usec, mine.lat, mine.lon, mine.alt) == (other.time_usec, other.lat, other.lon, other.alt)


def test_attitude_and_units_of_the_truth(
    px4: Px4, recorded: tuple[dict[int, list[MavlinkMessage]], dict[int, bytes]]
) -> None:
    """Level and looking north is the identity in NED/FRD, as the recorded simulator had it; PX4 divides by 1000."""
    said, answers = recorded
    peer = ReplayedPx4(px4.address, answers)
    take_turns(px4, sample_of(said[0]))
    peer.has_answered(1)
    px4.close()
    peer.close()
    truth = next(m.fields for m in peer.heard if m.name == "HIL_STATE_QUATERNION")
    recorded_truth = next(m.fields for m in said[0] if m.name == "HIL_STATE_QUATERNION")
    w, *vector = truth.attitude_quaternion
    assert abs(w) == pytest.approx(1.0, abs=1e-6)
    assert vector == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)
    assert (truth.lat, truth.lon, truth.alt) == (recorded_truth.lat, recorded_truth.lon, recorded_truth.alt)
    assert truth.zacc == pytest.approx(-9806, abs=40)


def test_a_restarted_px4_is_taken_back_while_time_goes_on(
    px4: Px4, recorded: tuple[dict[int, list[MavlinkMessage]], dict[int, bytes]]
) -> None:
    said, answers = recorded
    steps = iter(sorted(said))
    for _ in range(3):
        peer = ReplayedPx4(px4.address, answers)
        for count in range(FIRST_ANSWER + 10):
            take_turns(px4, sample_of(said[next(steps)]))
            peer.has_answered(count + 1)
        assert px4.wait.lockstep
        peer.close()
        assert take_turns(px4, sample_of(said[next(steps)])) == (0.0,) * 4  # nobody flies it any more
        assert take_turns(px4, sample_of(said[next(steps)])) is None
        assert not px4.wait.peer
        times = [m.fields.time_usec for m in peer.heard if m.name == "HIL_SENSOR"]
        assert all(a < b for a, b in itertools.pairwise(times))


def test_its_clock_goes_on_where_the_world_begins_anew(
    px4: Px4, recorded: tuple[dict[int, list[MavlinkMessage]], dict[int, bytes]]
) -> None:
    said, _ = recorded
    lines: list[str] = []
    px4.wait.report = lines.append
    peer = ReplayedPx4(px4.address, {})
    for count, step in enumerate((0, 1, 2, 0, 1, 2), 1):
        take_turns(px4, sample_of(said[step]))
        peer.has_answered(count)
    px4.close()
    peer.close()
    times = [m.fields.time_usec for m in peer.heard if m.name == "HIL_SENSOR"]
    assert len(times) == 6
    assert all(a < b for a, b in itertools.pairwise(times))
    assert ["the run was reset; it keeps its clock" in line for line in lines] == [True]


def test_a_silent_px4_is_named_and_waiting_for_it_can_be_stopped(
    px4: Px4, recorded: tuple[dict[int, list[MavlinkMessage]], dict[int, bytes]]
) -> None:
    said, answers = recorded
    peer = ReplayedPx4(px4.address, {step: answer for step, answer in answers.items() if step <= FIRST_ANSWER + 4})
    for step in range(FIRST_ANSWER + 5):
        take_turns(px4, sample_of(said[step]))
        peer.has_answered(step + 1)
    done = threading.Event()

    def wait_for_it() -> None:
        take_turns(px4, sample_of(said[FIRST_ANSWER + 5]))
        done.set()

    thread = threading.Thread(target=wait_for_it)
    thread.start()
    while px4.wait.since is None:
        assert not done.wait(0.01)
    assert "waiting for PX4" in px4.wait.describe()
    px4.wait.stop.set()
    assert done.wait(PATIENCE)
    thread.join()
    peer.close()


def test_a_taken_port_is_an_error(px4: Px4) -> None:
    other = Px4(px4.address[1] - FIRST_PORT, 4)
    with pytest.raises(OSError, match="in use"):
        other.open()
