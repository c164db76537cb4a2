"""The built-in autopilot as a process on real sockets: flown by pymavlink, cut off, killed, and the same each time."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from claims import can_be_bound, free_instance, free_port
from pymavlink.dialects.v20 import common as mavlink
from waiting import PATIENCE, until, until_ended

from sim_node.autopilots.vehicle_co_simulator import VehicleCoSimulator, attach_autopilots
from sim_node.mavlink.codec import EncodeError
from sim_node.mavlink.ports import PortInUse
from sim_node.simulation import Loop, Simulation
from sim_node.world import load
from stress.mavlink import FROM_GROUND, anything

WORLD = """\
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.002}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles:
  - name: v
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    autopilot: {{type: mavlink_builtin, instance: {instance}, links: [{links}], {lives}}}
    pilot: {pilot}
"""
# For tests of what ground stations hear and send: these links are the same, without a process to start.
HERE = "in_process: true"
MISSION = "{take_off: 3, wait: 0.5, waypoints: [[6, 0, 4], [6, 6, 4]], after: hold}"
SIMULATOR_PORT, GROUND_PORT = 4560, 14540


class Run:
    """A simulation with its autopilot. instance: which one; said: what was told of it."""

    def __init__(self, folder: Path, pilot: str, lives: str, links: str) -> None:
        self.instance = free_instance()
        self.world = folder / f"w{self.instance}.yaml"
        values = {"instance": self.instance, "pilot": pilot, "lives": lives, "links": links}
        self.world.write_text(WORLD.format(**values))
        self.said: list[str] = []
        self.simulation = Simulation(load(self.world), seed=5)
        (self.peer,) = attach_autopilots(self.simulation, self.said.append)
        self._row = self.simulation.frames.names.index("v/base_link")

    @property
    def place(self) -> np.ndarray:
        return self.simulation.snapshot().poses[self._row, :3]

    def path(self, seconds: float, meanwhile: Callable[[int], None] = lambda step: None) -> np.ndarray:
        """The poses after each step."""
        poses = []
        for step in range(round(seconds * 250)):
            self.simulation.step()
            poses.append(self.simulation.snapshot().poses[self._row])
            meanwhile(step)
        return np.array(poses)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    with ExitStack() as opened:

        def make(pilot: str = MISSION, lives: str = "start: true", links: str = "") -> Run:
            made = Run(tmp_path, pilot, lives, links)
            opened.callback(made.simulation.close)
            return made

        yield make


def autopilots() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "autopilot" in child.cmdline()]


def only_autopilot() -> psutil.Process:
    """Once it is what was started, which for a moment is a copy of this process."""
    until(lambda: len(autopilots()) == 1, "the autopilot's process")
    return autopilots()[0]


class Ground:
    """A ground station of pymavlink on the autopilot's port; the simulation runs in a loop meanwhile."""

    def __init__(self, run: Run, loop: Loop | None, port: int = 0) -> None:
        self.system, self.loop = run.instance + 1, loop
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", port or GROUND_PORT + run.instance))
        self._socket.settimeout(0.2)
        self._mav = mavlink.MAVLink(None, 255, 190)
        self._to: Any = None
        self.heard: list[Any] = []

    def close(self) -> None:
        self._socket.close()

    def send(self, message: Any) -> None:
        data = message.pack(self._mav)
        self._mav.seq = (self._mav.seq + 1) % 256
        self._socket.sendto(data, self._to)

    def synchronise(self, number: int) -> None:
        """Ask for the time until an answer comes: either may be lost in a socket that a flood fills."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.send(self._mav.timesync_encode(0, number))
            with suppress(AssertionError):
                self.wait("TIMESYNC", lambda message: message.ts1 == number, patience=1.0)
                return
        raise AssertionError(f"no answer to TIMESYNC {number} within {PATIENCE:g} s")

    def wait(self, kind: str, fits: Callable[[Any], Any] = lambda message: True, patience: float = PATIENCE) -> Any:
        """The next message of a kind that fits; the last heartbeat is as good as the next."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            with suppress(TimeoutError):
                data, self._to = self._socket.recvfrom(2048)
                found = None
                for message in self._mav.parse_buffer(data) or []:
                    self.heard.append(message)
                    if message.get_type() == kind and fits(message):
                        found = message
                if found is not None:
                    return found
        texts = [message.text for message in self.heard if message.get_type() == "STATUSTEXT"]
        raise AssertionError(f"no {kind} within {patience:g} s; texts {texts}")

    def take_in(self) -> None:
        """Hear what has come until now: what came while the socket is full would be lost."""
        self._socket.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                data, self._to = self._socket.recvfrom(2048)
                self.heard += self._mav.parse_buffer(data) or []
        self._socket.settimeout(0.2)

    def take_off(self, height: float) -> int:
        """The result. A command's altitude is above mean sea level, a world's above the ellipsoid, 47 m apart here."""
        nan = float("nan")
        altitude = 1e-3 * self.wait("GLOBAL_POSITION_INT").alt + height
        return self.command(22, nan, nan, nan, nan, nan, nan, altitude)[0]

    def command(self, command: int, *params: float) -> tuple[int, str]:
        """The result and the words that came before it."""
        self.take_in()
        before = len(self.heard)
        values = [*params, *[0.0] * (7 - len(params))]
        self.send(self._mav.command_long_encode(self.system, 1, command, 0, *values))
        ack = self.wait("COMMAND_ACK", lambda message: message.command == command)
        words = [m.text for m in self.heard[before:] if m.get_type() == "STATUSTEXT" and m.severity <= 4]
        return ack.result, "; ".join(words)


@contextmanager
def flying(run: Run, speed: float = 4.0) -> Iterator[Ground]:
    loop = Loop(run.simulation, (), real_time_factor=speed)
    loop.start()
    ground = Ground(run, loop)
    try:
        ground.wait("HEARTBEAT")
        ground.wait("LOCAL_POSITION_NED")
        yield ground
    finally:
        ground.close()
        loop.stop()


def test_it_is_what_it_says(run: Callable[..., Run]) -> None:
    flown = run("none", HERE)
    with flying(flown) as ground:
        beat = ground.wait("HEARTBEAT")
        assert (beat.get_srcSystem(), beat.get_srcComponent()) == (flown.instance + 1, 1)
        # A quadrotor, MAV_AUTOPILOT_PX4, in a custom mode and disarmed; AUTO.LOITER by px4_custom_mode.h.
        assert (beat.type, beat.autopilot, beat.base_mode & 129, beat.custom_mode) == (2, 12, 1, 0x03040000)
        local = ground.wait("LOCAL_POSITION_NED")
        assert (local.x, local.y, local.z) == pytest.approx((0.0, 0.0, -0.13), abs=0.02)
        earth = ground.wait("GLOBAL_POSITION_INT")
        assert (earth.lat, earth.lon) == pytest.approx((473977420, 85455940), abs=5)
        angles = ground.wait("ATTITUDE")
        assert (angles.roll, angles.pitch, angles.yaw) == pytest.approx((0.0, 0.0, np.pi / 2), abs=0.01)  # looks east
        imu = ground.wait("HIGHRES_IMU")
        assert imu.zacc == pytest.approx(-9.81, abs=0.3)
        for kind in ("GPS_RAW_INT", "SYS_STATUS", "EXTENDED_SYS_STATE", "SERVO_OUTPUT_RAW", "HOME_POSITION"):
            ground.wait(kind)
        sent = ground._mav.timesync_encode(0, 12345)
        ground.send(sent)
        answer = ground.wait("TIMESYNC")
        assert answer.ts1 == 12345
        assert answer.tc1 > 0


def test_it_answers_and_says_why_not(run: Callable[..., Run]) -> None:
    with flying(run("none", HERE)) as ground:
        words = "do set mode: Switching to AUTO.MISSION is currently not available: no mission"
        result, text = ground.command(176, 1, 4, 4)
        assert (result, text.replace("; ", "")) == (1, words)  # in chunks
        assert ground.command(176, 1, 77)[0] == 2
        assert ground.command(176, 1, 4, 77) == (2, "do set mode: no main mode 4 with sub mode 77")
        assert ground.command(31000)[0] == 3
        assert ground.command(512, 148) == (0, "")
        assert any(message.get_type() == "AUTOPILOT_VERSION" for message in ground.heard)
        assert ground.command(512, 99999)[0] == 2
        # ODOMETRY, which nobody gets unasked: 20 a simulated second, at four times real time.
        assert ground.command(511, 331, 50_000.0)[0] == 0
        ground.wait("ODOMETRY")  # one at once, then on a grid, at the first step of 4 ms after each of its points
        times = [ground.wait("ODOMETRY").time_usec for _ in range(3)]
        assert set(np.diff(times).tolist()) == {48_000, 52_000}
        assert ground.command(510, 331)[0] == 0
        ground.send(ground._mav.param_request_list_encode(ground.system, 1))
        assert ground.wait("PARAM_VALUE", lambda m: m.param_id == "MIS_TAKEOFF_ALT").param_value == 2.5
        ground.send(ground._mav.param_set_encode(ground.system, 1, b"MPC_XY_CRUISE", 2.0, 9))
        ground.wait("PARAM_VALUE", lambda m: (m.param_id, m.param_value) == ("MPC_XY_CRUISE", 2.0))


# Takes seconds: make test has setpoints that end in test_builtin_orders.py, a port that is taken below, and a cut
# link.
@pytest.mark.nightly
def test_a_second_ground_station_has_a_link_of_its_own(run: Callable[..., Run]) -> None:
    """By the world file, and on a port that QGroundControl might listen on."""
    port = free_port()
    flown = run("none", HERE, links=f"udpout:{port}")
    with flying(flown) as first:
        second = Ground(flown, None, port)
        try:
            second.wait("HEARTBEAT")
            assert second.command(400, 1.0)[0] == 0
            first.wait("HEARTBEAT", lambda beat: beat.base_mode & 128)
            assert first.command(400, 0.0)[0] == 0
            second.wait("HEARTBEAT", lambda beat: not beat.base_mode & 128)
        finally:
            second.close()


# Takes seconds: make test has setpoints that end in test_builtin_orders.py, a port that is taken below, and a cut
# link.
@pytest.mark.nightly
def test_it_holds_when_setpoints_stop(run: Callable[..., Run]) -> None:
    flown = run("none", HERE)
    with flying(flown) as ground:
        assert ground.command(400, 1.0)[0] == 0
        assert ground.take_off(4.0) == 0
        ground.wait("LOCAL_POSITION_NED", lambda m: m.z < -3.5)
        ground.wait("HEARTBEAT", lambda beat: beat.custom_mode == 0x03040000)
        velocity = ground._mav.set_position_target_local_ned_encode(
            0, ground.system, 1, 1, 0b010111000111, 0, 0, 0, 2.0, 0, 0, 0, 0, 0, 0, 0
        )
        ground.send(velocity)
        assert ground.command(176, 1, 6)[0] == 0
        assert ground.command(400, 0.0) == (1, "component arm disarm: in the air")
        for _ in range(10):
            ground.send(velocity)  # north
            ground.wait("LOCAL_POSITION_NED")
        ground.wait("STATUSTEXT", lambda m: m.text == "Offboard control lost: holding")
        moved = ground.wait("LOCAL_POSITION_NED")
        assert moved.x > 0.2
        ground.wait("LOCAL_POSITION_NED", lambda m: abs(m.vx) < 0.05)
        assert ground.command(21)[0] == 0
        ground.wait("HEARTBEAT", lambda m: not m.base_mode & 128)
        assert abs(flown.place[2] - 0.13) < 0.05


# make test compares the bytes of two flights, and resets one, in test_builtin_in_process.py.
@pytest.mark.nightly
def test_a_flight_is_the_same_each_time_and_after_a_reset(run: Callable[..., Run]) -> None:
    """The world's seed is the only thing that it depends on."""
    first, second = run(), run()
    path = first.path(2.0)
    assert path[-1, 2] > 1.0
    np.testing.assert_array_equal(path, second.path(2.0))
    first.simulation.reset()
    np.testing.assert_array_equal(path, first.path(2.0))


class Relay:
    """TCP from a port of its own to another, cut on demand."""

    def __init__(self, port: int) -> None:
        self._to = ("127.0.0.1", port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.cuts = 0
        self._cut_next = False
        self._pair: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                try:
                    far = socket.create_connection(self._to)
                except OSError:
                    near.close()
                    continue
                self._pair = [near, far]
                for one, other in ((near, far), (far, near)):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                if self._cut_next:
                    self._cut_next = False
                    self.cut()
                    break
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        self.cuts += 1
        for end in self._pair:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut_under_way(self) -> None:
        """With the next data that comes, which are lost."""
        self._cut_next = True

    def close(self) -> None:
        self._server.close()
        self.cut()


def by_hand(run: Run, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sim_node.cli.main", "autopilot", "--world", str(run.world)]
    return subprocess.Popen(
        [*command, "--instance", str(run.instance), *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@pytest.mark.parametrize("cuts", [8, pytest.param(50, marks=pytest.mark.nightly)])
def test_a_link_that_is_cut_changes_nothing(cuts: int, run: Callable[..., Run]) -> None:
    """The flight is the very same as over a link that holds: the simulation waits, no step is missed or made twice."""
    seconds = 2.0 + 0.08 * cuts
    steady = run().path(seconds)
    broken = run(lives="start: false")
    relay = Relay(SIMULATOR_PORT + broken.instance)
    process = by_hand(broken, "--sim", f"tcp:127.0.0.1:{relay.port}")
    try:
        steps = np.arange(300, round(250 * seconds) - 100)
        cut_at = set(np.random.default_rng(1).choice(steps, cuts, replace=False).tolist())

        def cut(step: int) -> None:
            if step in cut_at:
                relay.cut() if step % 2 else relay.cut_under_way()

        flown = broken.path(seconds, cut)
        assert relay.cuts == cuts
        assert broken.peer.wait.lost == cuts
        np.testing.assert_array_equal(flown, steady)
    finally:
        process.terminate()
        relay.close()
        process.wait(PATIENCE)


# make test kills one that flies in test_builtin_in_process.py and in test/system/test_builtin_autopilot.py.
@pytest.mark.nightly
def test_it_is_started_again_in_flight_and_flies_on(run: Callable[..., Run]) -> None:
    flown = run("{take_off: 3, wait: 0.2, waypoints: [[3, 0, 4]], after: hold}")
    flown.path(3.5)
    assert flown.place[2] > 2.5
    for _ in range(2):
        process = only_autopilot()
        process.send_signal(signal.SIGKILL)
        heights = flown.path(1.2)[:, 2]
        assert heights.min() > 2.5
    flown.simulation.run(5.0)
    np.testing.assert_allclose(flown.place, [3.0, 0.0, 4.0], atol=0.3)
    assert flown.peer.wait.lost == 2


# Takes seconds: make test has setpoints that end in test_builtin_orders.py, a port that is taken below, and a cut
# link.
@pytest.mark.nightly
def test_a_second_autopilot_is_turned_away_and_told_why(run: Callable[..., Run]) -> None:
    flown = run()
    flown.path(1.0)
    second = by_hand(flown)
    try:
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(iter(second.stdout.readline, "")), daemon=True)  # type: ignore[union-attr]
        reader.start()
        # In steps that leave the processor to the second one, which takes a second to start.
        until(
            lambda: flown.path(0.02).size and any("is rejected" in line for line in flown.said),
            "a refusal",
            poll_s=0.1,
        )
        assert any("a second one" in line and "is rejected" in line for line in flown.said)
    finally:
        second.terminate()
        assert second.wait(PATIENCE) == 0
    reader.join(PATIENCE)
    assert any("hung up at once: another autopilot flies this vehicle" in line for line in lines), lines
    assert flown.peer.wait.lost == 0


def test_two_simulations_on_one_port_are_one_error(run: Callable[..., Run]) -> None:
    flown = run()
    own = only_autopilot()
    with pytest.raises(PortInUse, match=r"vehicles\[0\]\.autopilot: cannot wait for autopilot .* in use"):
        VehicleCoSimulator(Simulation(load(flown.world)), flown.simulation.world.vehicles[0])
    assert autopilots() == [own]


# Takes seconds: make test has processes that end with their simulation, below or above.
@pytest.mark.nightly
def test_nothing_is_left_behind(run: Callable[..., Run]) -> None:
    flown = run()
    flown.path(0.1)
    process = only_autopilot()
    flown.simulation.close()
    until_ended(process)
    assert can_be_bound(socket.SOCK_STREAM, SIMULATOR_PORT + flown.instance)


def test_a_process_without_its_simulation_ends() -> None:
    """Where that was killed, and could not stop it."""
    from sim_node.autopilots.builtin.vehicle_parameters import to_json
    from sim_node.autopilots.builtin.world import parameters_in

    world, instance = load("guided"), free_instance()
    process = subprocess.Popen(
        [sys.executable, "-m", "sim_node.cli.main", "autopilot", "--craft", "-", "--instance", str(instance)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(to_json(parameters_in(world, world.vehicles[0])) + "\n")
    process.stdin.flush()
    assert process.stdout.readline().startswith(f"drone: system {instance + 1}")
    process.stdin.close()
    assert process.wait(PATIENCE) == 0
    process.stdout.close()


# Three rounds of 48 s; test_builtin_flight flies missions in this process.
@pytest.mark.nightly
def test_the_default_world_flies_by_all_its_waypoints_and_on() -> None:
    """Within the radius that each waypoint gives, in the air until the end, and round again."""
    world = load("guided")
    text = Path(world.source).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "guided.yaml"
        path.write_text(text.replace("mavlink_builtin}", f"mavlink_builtin, instance: {free_instance()}}}"))
        simulation = Simulation(load(path), seed=1)
        attach_autopilots(simulation)
        row = simulation.frames.names.index("drone/base_link")
        places = []
        try:
            for _ in range(2400):
                simulation.step(5)
                places.append(simulation.snapshot().poses[row, :3])
        finally:
            simulation.close()
    flown = np.array(places)
    (vehicle,) = world.vehicles
    assert vehicle.pilot is not None
    for waypoint in vehicle.pilot.waypoints:
        assert np.linalg.norm(flown - waypoint.position, axis=1).min() < waypoint.radius
    assert flown[500:, 2].min() > 1.0
    first = np.linalg.norm(flown - vehicle.pilot.waypoints[0].position, axis=1) < 0.5
    assert np.count_nonzero(np.diff(first.astype(int)) == 1) == 2


# A soak: make test feeds a share of these frames in test/stress, and all payloads in test_hostile.py.
@pytest.mark.nightly
def test_it_flies_on_after_thousands_of_hostile_frames(run: Callable[..., Run]) -> None:
    """What they have made of the flight, a reset of the world mends."""
    flown, chance = run("none"), random.Random(3)
    with flying(flown) as ground:
        for number in range(2000):
            with suppress(EncodeError):
                data = anything(chance.choice(FROM_GROUND), chance, number, target=ground.system)
                ground._socket.sendto(data, ground._to)
            if number % 100 == 99:
                ground.synchronise(number)
        assert ground.loop is not None
        ground.loop.reset()
        assert ground.command(511, 32, 0.0)[0] == 0
        ground.wait("LOCAL_POSITION_NED", lambda message: message.z > -0.5)
        assert ground.command(400, 1.0)[0] == 0
        assert ground.take_off(4.0) == 0
        ground.wait("LOCAL_POSITION_NED", lambda message: message.z < -3.5)
    assert flown.peer.wait.lost == 0, "it has died on the way"
