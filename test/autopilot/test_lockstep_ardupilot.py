"""The physics side of ArduPilot's JSON interface against what a real ArduCopter sent and took, over a real socket."""

from __future__ import annotations

import base64
import itertools
import json
import re
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from claims import free_instance
from exchanging import take_turns
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from waiting import PATIENCE, until

from sim_node.autopilots.lockstep import ArduPilot, Sample
from sim_node.autopilots.lockstep.ardupilot import FIRST_PORT, PORTS_PER_INSTANCE, read_servos, reply
from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.session import Session
from sim_node.simulation import Simulation
from sim_node.world import WorldError, loads
from sim_node.world.autopilots import autopiloted
from sim_node.world.processes import Process

EXCHANGE = Path(__file__).parents[1] / "data" / "ardupilot_json_exchange.jsonl"
NORTH = np.array([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])


def recorded() -> list[tuple[bytes, dict[str, Any]]]:
    """Servo packets, and the answers that the autopilot took."""
    lines = [json.loads(line) for line in EXCHANGE.read_text().splitlines()]
    return [(base64.b64decode(line["servo_b64"]), json.loads(line["reply"])) for line in lines if "servo_b64" in line]


def at_rest(time: float, **changed: Any) -> Sample:
    """Level and looking north, on the ground."""
    values: dict[str, Any] = {
        "time_ns": round(time * 1e9),
        "pose": np.concatenate([np.zeros(3), NORTH]),
        "velocity": np.zeros(3),
        "rate": np.zeros(3),
        "force": np.array([0.0, 0.0, 9.80665]),
    }
    return Sample(**{**values, **changed})


@pytest.fixture
def ardupilot() -> Iterator[ArduPilot]:
    simulator = ArduPilot(free_instance(), 4)
    simulator.open()
    yield simulator
    simulator.close()


@pytest.fixture
def peer(ardupilot: ArduPilot) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(ardupilot.address)
        sock.settimeout(PATIENCE)
        yield sock


def servos(frame: int, pwm: list[int], *, wide: bool = False) -> bytes:
    """A servo packet, laid out by hand from SIM_JSON.h."""
    channels = (pwm + [0] * 32)[: 32 if wide else 16]
    return struct.pack(f"<HHI{len(channels)}H", 29569 if wide else 18458, 1200, frame, *channels)


def test_a_recorded_exchange_goes_the_same_way_again(ardupilot: ArduPilot, peer: socket.socket) -> None:
    """Every recorded packet gets the answer that the real ArduCopter took, at the step after."""
    transaction = recorded()
    start = 12.5  # the world may have run for a while; the autopilot's clock begins at zero all the same
    peer.send(transaction[0][0])
    assert take_turns(ardupilot, at_rest(start)) == (0.0,) * 4
    for (_, answer), (following, _) in itertools.pairwise(transaction):
        peer.send(following)
        assert take_turns(ardupilot, at_rest(start + answer["timestamp"])) == (0.0,) * 4
        told = json.loads(peer.recv(4096))
        assert told["timestamp"] == pytest.approx(answer["timestamp"], abs=1e-9)
        assert told["imu"]["accel_body"] == pytest.approx(answer["imu"]["accel_body"])
        for key in ("position", "velocity", "quaternion"):
            sign = np.sign(told[key][0]) if key == "quaternion" else 1.0
            assert sign * np.array(told[key]) == pytest.approx(np.array(answer[key]), abs=1e-12)


def test_it_frames_answers_as_the_parser_reads_them() -> None:
    """A newline at both ends, none within, no blank after a colon; booleans would be zero."""
    text = reply(at_rest(1.0, ranges=(2.5,), airspeed=3.0, wind=np.array([1.0, 2.0, 0.0])), 10**9).decode()
    assert text.startswith("\n{")
    assert text.endswith("}\n")
    assert "\n" not in text[1:-1]
    assert not re.search(r":\s", text)
    # Texts are searched for: the first match of a key must be the key.
    for key in (
        "timestamp",
        "gyro",
        "accel_body",
        "position",
        "quaternion",
        "velocity",
        "no_time_sync",
        "rng_1",
        "airspeed",
        "speed",
    ):
        assert text.index(key) == text.index(f'"{key}":') + 1 or key == "speed"


@given(st.floats(-np.pi, np.pi), st.floats(-1.5, 1.5), st.floats(-np.pi, np.pi))
def test_attitude_and_vectors_are_ned_and_frd(yaw: float, pitch: float, roll: float) -> None:
    """Against rotation matrices: NED and ENU differ by a swap, FRD and FLU by two signs."""
    ned_from_frd = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    enu_from_ned = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    flu_from_frd = np.diag([1, -1, -1])
    attitude = Rotation.from_matrix(enu_from_ned @ ned_from_frd @ flu_from_frd.T).as_quat()
    sample = at_rest(
        0.0,
        pose=np.concatenate([[1.0, 2.0, 3.0], attitude]),
        velocity=np.array([4.0, 5.0, 6.0]),
        rate=np.array([0.1, 0.2, 0.3]),
        force=np.array([1.0, 2.0, 9.0]),
    )
    told = json.loads(reply(sample, 0))
    w, x, y, z = told["quaternion"]
    assert Rotation.from_quat([x, y, z, w]).as_matrix() == pytest.approx(ned_from_frd, abs=1e-12)
    assert told["position"] == [2.0, 1.0, -3.0]
    assert told["velocity"] == [5.0, 4.0, -6.0]
    assert told["imu"] == {"gyro": [0.1, -0.2, -0.3], "accel_body": [1.0, -2.0, -9.0]}


def test_the_wind_vane_turns_with_the_vehicle() -> None:
    """Wind from the east, 5 m/s: from the right of one who looks north, from behind one who looks west."""
    wind = np.array([-5.0, 0.0, 0.0])
    north = json.loads(reply(at_rest(0.0, wind=wind), 0))["windvane"]
    assert (north["direction"], north["speed"]) == pytest.approx((np.pi / 2, 5.0))
    west = at_rest(0.0, wind=wind, pose=np.array([0.0, 0, 0, 0, 0, 1, 0]))
    assert abs(json.loads(reply(west, 0))["windvane"]["direction"]) == pytest.approx(np.pi)


def test_pulse_widths_are_commands(ardupilot: ArduPilot, peer: socket.socket) -> None:
    peer.send(servos(1, [1000, 1500, 2000, 0]))
    assert take_turns(ardupilot, at_rest(0.0)) == (0.0, 0.5, 1.0, 0.0)
    peer.send(servos(2, [900, 2100, 1250, 1750], wide=True))
    assert take_turns(ardupilot, at_rest(0.001)) == (0.0, 1.0, 0.25, 0.75)


def test_a_lost_answer_is_given_again_without_a_step(ardupilot: ArduPilot, peer: socket.socket) -> None:
    """ArduPilot repeats a packet that nobody answered."""
    peer.send(servos(1, [1000] * 4))
    take_turns(ardupilot, at_rest(0.0))
    peer.send(servos(1, [1000] * 4))
    peer.send(servos(2, [1500] * 4))
    assert take_turns(ardupilot, at_rest(0.001)) == (0.5,) * 4
    assert peer.recv(4096) == peer.recv(4096)


def test_a_restart_begins_its_clock_at_zero(ardupilot: ArduPilot, peer: socket.socket) -> None:
    peer.send(servos(7, [1000] * 4))
    take_turns(ardupilot, at_rest(5.0))
    peer.send(servos(0, [1000] * 4))
    take_turns(ardupilot, at_rest(5.5))
    assert json.loads(peer.recv(4096))["timestamp"] == pytest.approx(0.5)
    peer.send(servos(1, [1000] * 4))
    take_turns(ardupilot, at_rest(5.501))
    assert json.loads(peer.recv(4096))["timestamp"] == pytest.approx(0.001)


def test_its_clock_does_not_go_back_with_the_world(ardupilot: ArduPilot, peer: socket.socket) -> None:
    times = []
    peer.send(servos(0, [1000] * 4))
    take_turns(ardupilot, at_rest(9.0))
    for frame, time in enumerate((9.1, 0.0, 0.1), 1):
        peer.send(servos(frame, [1000] * 4))
        take_turns(ardupilot, at_rest(time))
        times.append(json.loads(peer.recv(4096))["timestamp"])
    assert times == pytest.approx([0.1, 0.1, 0.2])


def test_an_autopilot_that_goes_on_after_a_jump_is_told_of(ardupilot: ArduPilot, peer: socket.socket) -> None:
    """It counts frames from 0, and keeps its clock and its filter whatever the physics do (SIM_JSON.cpp)."""
    lines: list[str] = []
    ardupilot.wait.report = lines.append

    def exchange(frame: int, time: float) -> list[str]:
        lines.clear()
        peer.send(servos(frame, [1000] * 4))
        take_turns(ardupilot, at_rest(time))
        return list(lines)

    assert exchange(0, 1.0) == exchange(1, 1.001) == []
    [line] = exchange(2, 0.0)
    assert "the run was reset" in line
    assert "MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN" in line
    assert exchange(3, 0.001) == exchange(0, 0.002) == []  # restarted, as it was told
    again = ArduPilot((ardupilot.address[1] - FIRST_PORT) // PORTS_PER_INSTANCE, 4)
    ardupilot.close()
    again.open()
    again.wait.report = lines.append
    peer.send(servos(36_000, [1000] * 4))
    take_turns(again, at_rest(0.0))
    assert [("36000 frames" in line, "restart it" in line) for line in lines] == [(True, True)]
    again.close()


def test_nobody_there_holds_nothing_up(ardupilot: ArduPilot) -> None:
    assert take_turns(ardupilot, at_rest(0.0)) is None
    assert "nobody there yet" in ardupilot.wait.describe()


def test_waiting_is_named_and_can_be_stopped(ardupilot: ArduPilot, peer: socket.socket) -> None:
    peer.send(servos(0, [1000] * 4))
    take_turns(ardupilot, at_rest(0.0))
    thread = threading.Thread(target=lambda: take_turns(ardupilot, at_rest(0.001)))
    thread.start()
    peer.recv(4096)
    while ardupilot.wait.since is None:
        thread.join(0.01)
        assert thread.is_alive()
    assert "waiting for ArduPilot" in ardupilot.wait.describe()
    ardupilot.wait.stop.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()


@given(st.binary(max_size=80))
def test_what_is_no_servo_packet_is_none(packet: bytes) -> None:
    told = read_servos(packet)
    assert told is None or len(packet) in (40, 72)


def test_a_taken_port_is_an_error(ardupilot: ArduPilot) -> None:
    other = ArduPilot((ardupilot.address[1] - FIRST_PORT) // PORTS_PER_INSTANCE, 4)
    with pytest.raises(OSError, match="in use"):
        other.open()


COPTER = """
origin: {{latitude: -35.363262, longitude: 149.165238, altitude: 603.4}}
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.001}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles: [{{name: v, model: iris, pose: {{position: [1, 2, 0.13]}}, autopilot: {{{}}}}}]
"""
ROVER = """
origin: {{latitude: -35.363262, longitude: 149.165238, altitude: 603.4}}
time: {{step: 0.004}}
physics: {{integrator: implicitfast, timestep: 0.002}}
ground: {{friction: 0.9}}
bases: [{{name: v, model: differential, pose: {{position: [1, 2, 0]}}, sensors: false, autopilot: {{{}}}}}]
"""


@pytest.mark.parametrize("text", [COPTER, ROVER], ids=["copter", "rover"])
@pytest.mark.parametrize("resets", [True, False])
def test_a_vehicle_goes_back_to_its_start_when_its_autopilot_starts_again(text: str, resets: bool) -> None:
    """ArduPilot's examples of simulators reset the vehicle when the frame count goes back (SITL_connector.m)."""
    lines: list[str] = []
    keys = f"type: ardupilot, instance: {free_instance()}, reset_vehicle: {str(resets).lower()}"
    simulation = Simulation(loads(text.format(keys)), sensors=False)
    (vehicle, _), *_ = autopiloted(simulation.world)
    body = simulation.bodies[vehicle.body]
    attach_autopilots(simulation, lines.append)
    start = body.pose.copy()
    with closing(simulation), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        instance = vehicle.autopilot.instance if vehicle.autopilot else 0
        peer.connect(("127.0.0.1", FIRST_PORT + PORTS_PER_INSTANCE * instance))

        def exchange(frames: range) -> np.ndarray:
            for frame in frames:
                peer.send(servos(frame, [1900] * 4))
                simulation.step()
            return np.array(body.pose)

        away = exchange(range(200))
        assert np.linalg.norm((away - start)[:3]) > 0.1
        back = exchange(range(1))
        assert simulation.steps == 201
        if resets:
            assert back == pytest.approx(start, abs=1e-9)
            assert body.twist == pytest.approx(np.zeros(6), abs=1e-9)
            assert [line for line in lines if "v is back at its start" in line]
            assert exchange(range(1, 200)) == pytest.approx(away, abs=0.01)  # the same flight once more
        else:
            assert np.linalg.norm((back - away)[:3]) < 0.1
            assert not [line for line in lines if "back at its start" in line]


def test_other_autopilots_do_not_tell_of_restarts() -> None:
    with pytest.raises(WorldError, match=r"reset_vehicle: px4 does not report .* allowed for: ardupilot"):
        loads(COPTER.format("type: px4, reset_vehicle: true"))


# As SITL's main loop (HAL_SITL_Class.cpp): after a SIGTERM it ends between two of its loops, of three steps each.
LEAVES = """
import pathlib, signal, socket, struct, sys
asked = []
signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.connect(("127.0.0.1", int(sys.argv[1])))
frame = 0
while not asked or frame % 3:
    peer.send(struct.pack("<HHI16H", 18458, 1200, frame, *[1000] * 16))
    peer.recv(4096)
    frame += 1
pathlib.Path(sys.argv[2]).write_text("left by itself")
"""


def test_an_autopilot_that_is_to_end_gets_its_last_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them it waits for one until it is killed, 2 s later, and its logs are not whole."""
    monkeypatch.setattr("sim_node.session.session._LAST_ANSWERS_S", PATIENCE)
    instance, left = free_instance(), tmp_path / "left"
    world = loads(COPTER.format(f"type: ardupilot, instance: {instance}"))
    port = str(FIRST_PORT + PORTS_PER_INSTANCE * instance)
    process = Process("peer", (sys.executable, "-c", LEAVES, port, str(left)))
    with Session(replace(world, processes=(process,)), processes=True) as session:
        session.start()
        until(lambda: session.autopilots[0].wait.lockstep, "in lockstep")
    assert left.read_text() == "left by itself"
