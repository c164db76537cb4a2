"""Vehicles of a run flown over real sockets: what their autopilots are told, and what their motors do for it."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from claims import free_instance
from waiting import PATIENCE

from sim_node.autopilots.lockstep.ardupilot import FIRST_PORT as ARDUPILOT_PORT
from sim_node.autopilots.lockstep.px4 import FIRST_PORT as PX4_PORT
from sim_node.autopilots.vehicle_co_simulator import VehicleCoSimulator, attach_autopilots
from sim_node.mavlink.codec import frame_bytes
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.ports import PortInUse
from sim_node.simulation import Loop, Simulation
from sim_node.world import WorldError, load
from sim_node.world.model import StaticFrame

# Over the ground, which is not there: looking north, at 100 m.
WORLD = """\
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: {step}}}
physics: {{integrator: euler, timestep: 0.001}}
vehicles:
  - name: v
    model: iris
    pose: {{position: [3, 5, 100], rpy_deg: [0, 0, 90]}}
    autopilot: {{type: {type}, instance: {instance}}}
    sensors: {sensors}
"""
# Four propellers of 5.84e-6 N s^2/rad^2 that carry 1.5 kg, of 1100 rad/s at most.
HOVER = (1.5 * 9.81 / 4 / 5.84e-6) ** 0.5 / 1100
Attached = tuple[Simulation, VehicleCoSimulator, int]


@pytest.fixture
def attach(tmp_path: Path) -> Iterator[Callable[..., Attached]]:
    """Attaches the autopilot of WORLD, of a free instance, and gives its port."""
    with ExitStack() as opened:

        def attached(kind: str, more: str = "", step: float = 0.004, sensors: str = "true") -> Attached:
            instance, path = free_instance(), tmp_path / "w.yaml"
            path.write_text(WORLD.format(type=kind, instance=instance, step=step, sensors=sensors) + more)
            simulation = Simulation(load(path), seed=1)
            (peer,) = attach_autopilots(simulation)
            opened.callback(simulation.close)
            return simulation, peer, PX4_PORT + instance if kind == "px4" else ARDUPILOT_PORT + 10 * instance

        yield attached


class Px4Peer:
    """Connects as PX4 does, answers every HIL_SENSOR with the same four commands, and keeps what it heard."""

    def __init__(self, port: int, command: float) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._command = command
        self.heard: list[Any] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        parser = Parser(datagrams=False)
        with suppress(OSError):  # the other end closes it when its vehicle is removed
            while data := self._socket.recv(65536):
                for message in parser.feed(data):
                    self.heard.append(message)
                    if message.name == "HIL_SENSOR":
                        controls = [self._command] * 4 + [0.0] * 12
                        fields = {"time_usec": message.fields.time_usec, "controls": controls, "mode": 129, "flags": 1}
                        self._socket.sendall(frame_bytes("HIL_ACTUATOR_CONTROLS", fields, 1, 1, 0))

    def fields(self, name: str) -> list[Any]:
        return [message.fields for message in self.heard if message.name == name]

    def readings_since(self, time_ns: int) -> list[Any]:
        """What it heard of the sensors after an instant of the run, whose clock is told as 1 s ahead."""
        return [each for each in self.fields("HIL_SENSOR") if each.time_usec > 1_000_000 + time_ns // 1000]

    def close(self) -> None:
        with suppress(OSError):  # the other end may have closed it
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()


def until_lockstep(simulation: Simulation, peer: VehicleCoSimulator) -> None:
    for _ in range(1000):
        simulation.step()
        if peer.wait.lockstep:
            return
    raise AssertionError("no lockstep")


def test_px4_is_told_what_the_sensors_read_and_holds_the_vehicle_up(attach: Callable[..., Attached]) -> None:
    """Hovering for two seconds: one answer a reading, and what a level vehicle that looks north feels at Zurich.

    The field there is 0.21 gauss to the north and 0.43 down (NOAA, World Magnetic Model, 2025); sea level is 47.2 m
    above the ellipsoid (EGM96).
    """
    simulation, peer, port = attach("px4")
    px4 = Px4Peer(port, HOVER)
    until_lockstep(simulation, peer)
    simulation.run(0.5)
    # It fell for as long as there was no answer, and air that streams past would push it.
    body = simulation.bodies["v/base_link"]
    body.twist = np.zeros(6)
    before, began_ns = simulation.snapshot(), simulation.time_ns
    speed = simulation.vehicles["v"].speeds[0]
    assert speed == pytest.approx(HOVER * 1100, rel=1e-3)
    simulation.run(2.0)
    simulation.close()
    px4.close()
    sensors, fixes = px4.readings_since(began_ns), px4.fields("HIL_GPS")
    assert len(sensors) == 500  # a reading every 4 ms
    force = np.mean([[each.xacc, each.yacc, each.zacc] for each in sensors], axis=0)
    assert force == pytest.approx([0.0, 0.0, -9.81], abs=0.1)  # its turn-on bias is 0.02 m/s² of deviation
    fields = [[s.xmag, s.ymag, s.zmag] for s in sensors if s.fields_updated & 0x1C0 == 0x1C0]
    assert len(fields) == pytest.approx(100, abs=1)
    assert np.mean(fields, axis=0) == pytest.approx([0.21, 0.01, 0.43], abs=0.03)
    pressures = [(s.abs_pressure, s.pressure_alt) for s in sensors if s.fields_updated & 0x1A00 == 0x1A00]
    height = 488.0 - 47.2 + float(before.poses[simulation.frames.index("v/base_link"), 2])
    assert pressures[0][0] == pytest.approx(1013.25 * (1 - 2.25577e-5 * height) ** 5.25588, abs=0.2)  # ICAO Doc 7488
    assert pressures[0][1] == pytest.approx(height, abs=2.0)
    assert fixes[-1].lat / 1e7 == pytest.approx(47.397742, abs=2e-4)
    assert fixes[-1].alt / 1e3 == pytest.approx(height, abs=15.0)
    # Of the calibrated gps: 0.1 m and 0.15 m together, and 0.15 m and 0.2 m; PX4 reads centimetres.
    assert (fixes[-1].eph, fixes[-1].epv) == (18, 25)


TURNED = """\
sensors:
  - {name: v/IMU, type: imu, rate: 250, pose: {position: [0, 0, %s], rpy_deg: [0, 180, 0]}}
  - {name: v/MAG, type: magnetometer, pose: {rpy_deg: [180, 0, 0]}}
  - {name: v/BARO, type: barometer}
  - {name: v/GPS, type: gps}
"""


def test_readings_of_turned_sensors_are_along_base_link(attach: Callable[..., Attached]) -> None:
    simulation, peer, port = attach("px4", TURNED % 0, sensors="false")
    px4 = Px4Peer(port, HOVER)
    until_lockstep(simulation, peer)
    simulation.run(1.0)
    simulation.close()
    px4.close()
    last = px4.fields("HIL_SENSOR")[-1]
    assert last.zacc == pytest.approx(-9.81, abs=0.8)
    magnetic = [s for s in px4.fields("HIL_SENSOR") if s.fields_updated & 0x1C0][-1]
    assert (magnetic.xmag, magnetic.zmag) == pytest.approx((0.21, 0.43), abs=0.03)


def test_an_imu_away_from_the_origin_is_an_error(attach: Callable[..., Attached]) -> None:
    with pytest.raises(WorldError, match=r"autopilots expect it at the origin"):
        attach("px4", TURNED % 0.1, sensors="false")


class ArduPilotPeer:
    """Sends servo packets as SITL does, one for each answer; and keeps the answers."""

    def __init__(self, port: int, pwm: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(("127.0.0.1", port))
        self._socket.settimeout(0.2)
        self._pwm, self._done = pwm, threading.Event()
        self.answers: list[dict[str, Any]] = []
        self._send()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _send(self) -> None:
        self._socket.send(struct.pack("<HHI16H", 18458, 1000, len(self.answers), *[self._pwm] * 4, *[0] * 12))

    def _run(self) -> None:
        while not self._done.is_set():
            try:
                self.answers.append(json.loads(self._socket.recv(4096)))
            except TimeoutError:
                continue
            self._send()

    def close(self) -> None:
        self._done.set()
        self._thread.join()
        self._socket.close()


def test_ardupilot_is_told_the_truth_at_every_step(attach: Callable[..., Attached]) -> None:
    """It falls with its motors off for half a second; the air's drag takes next to nothing of that."""
    simulation, peer, port = attach("ardupilot", step=0.001, sensors="false")
    ardupilot = ArduPilotPeer(port, 1000)
    until_lockstep(simulation, peer)
    began_ns = simulation.time_ns
    began = simulation.snapshot().poses[simulation.frames.index("v/base_link"), :3]
    simulation.run(0.5)
    ended = simulation.snapshot().poses[simulation.frames.index("v/base_link"), :3]
    simulation.close()
    ardupilot.close()
    assert simulation.time_ns - began_ns == 500_000_000
    last = ardupilot.answers[-1]
    assert 498 <= len(ardupilot.answers) <= 500  # the last may be under way
    assert last["timestamp"] == pytest.approx(len(ardupilot.answers) * 1e-3)
    east, north, up = ended
    assert last["position"] == pytest.approx([north, east, -up], abs=0.02)
    fallen = np.sqrt(2 * 9.81 * (100.0 - up))
    assert last["velocity"] == pytest.approx([0.0, 0.0, fallen], abs=0.1)
    assert began[2] > up
    assert last["imu"]["accel_body"] == pytest.approx([0.0, 0.0, 0.0], abs=1.0)  # next to weightless: drag only
    # Looks north: yaw 0 in NED.
    assert np.abs(last["quaternion"]) == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-3)


PERCEIVING = """\
sensors:
  - {name: v/DOWN, type: rangefinder, rate: 100, range_max: 200, field_of_view: 0, pose: {rpy_deg: [0, 90, 0]}}
  - {name: v/UP, type: rangefinder, rate: 100, pose: {rpy_deg: [0, -90, 0]}}
  - {name: v/PITOT, type: airspeed}
bodies:
  - {name: ground, geometry: [{plane: true}]}
forces:
  - {type: wind, velocity: [0, -5, 0]}
"""


def test_ardupilot_is_told_ranges_and_wind(attach: Callable[..., Attached]) -> None:
    """A hundred metres over ground, with nothing above, and 5 m/s from the north, where it looks."""
    simulation, peer, port = attach("ardupilot", PERCEIVING, step=0.001, sensors="false")
    ardupilot = ArduPilotPeer(port, 1000)
    until_lockstep(simulation, peer)
    simulation.run(0.05)
    simulation.close()
    ardupilot.close()
    last = ardupilot.answers[-1]
    assert last["rng_1"] == pytest.approx(-last["position"][2], abs=0.2)  # its noise is 0.03 m
    assert last["rng_2"] > 1000.0
    assert last["airspeed"] == pytest.approx(5.0, abs=0.05)
    assert (last["windvane"]["direction"], last["windvane"]["speed"]) == pytest.approx((0.0, 5.0), abs=0.05)


def test_a_run_goes_on_without_an_autopilot_that_hangs_up(attach: Callable[..., Attached]) -> None:
    simulation, peer, port = attach("px4")
    for _ in range(2):
        px4 = Px4Peer(port, 0.5)
        until_lockstep(simulation, peer)
        simulation.run(0.2)
        assert np.all(simulation.vehicles["v"].command == 0.5)
        px4.close()
        simulation.run(0.2)
        assert np.all(simulation.vehicles["v"].command == 0.0)
        assert "is gone" in peer.wait.describe()


def test_stopping_a_run_ends_waiting_for_its_autopilot(attach: Callable[..., Attached]) -> None:
    simulation, peer, port = attach("ardupilot", step=0.001)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.connect(("127.0.0.1", port))
        silent.send(struct.pack("<HHI16H", 18458, 1000, 0, *[1000] * 16))
        loop = Loop(simulation, (), real_time_factor=0.0)
        waiting, stopped = threading.Event(), threading.Event()
        peer.wait.report = lambda line: waiting.set()
        loop.start()
        assert waiting.wait(PATIENCE)

        def stop() -> None:
            loop.stop()
            stopped.set()

        stopper = threading.Thread(target=stop)
        stopper.start()
        assert stopped.wait(PATIENCE)
        stopper.join()


def test_a_taken_port_is_an_error_at_the_vehicle(attach: Callable[..., Attached]) -> None:
    simulation, peer, _ = attach("px4")
    world = simulation.world
    with pytest.raises(PortInUse, match=r"5:5: vehicles\[0\].autopilot: cannot wait for PX4 \d+ .*in use"):
        attach_autopilots(Simulation(world))
    assert "nobody there yet" in peer.wait.describe()


def test_links_outlast_changes_close_with_their_vehicle_and_open_for_new_ones(attach: Callable[..., Attached]) -> None:
    simulation, peer, port = attach("px4")
    px4 = Px4Peer(port, HOVER)
    until_lockstep(simulation, peer)
    began_ns = simulation.time_ns
    for name in ("one", "two"):
        simulation.step(25)
        simulation.add(StaticFrame(name, "v/base_link", np.eye(7)[6]))
    simulation.step(50)
    world = simulation.world
    simulation.remove("v")
    px4._thread.join(PATIENCE)  # the link is closed
    assert not px4._thread.is_alive()
    # None is missing or doubled.
    assert len(px4.readings_since(began_ns)) == 100
    assert set(np.diff([each.time_usec for each in px4.fields("HIL_SENSOR")])) == {4000}
    simulation.step(5)
    with socket.create_server(("127.0.0.1", port)):
        with pytest.raises(PortInUse):
            simulation.change(world)
        assert "v" not in simulation.vehicles
        assert simulation.generation == 3
    simulation.change(world)
    again = Px4Peer(port, HOVER)
    for _ in range(1000):
        simulation.step()
        if simulation.vehicles["v"].command.any():  # it commands: the link is in lockstep
            break
    assert simulation.vehicles["v"].command.tolist() == pytest.approx([HOVER] * 4)
    simulation.close()
    again.close()
    px4._socket.close()
