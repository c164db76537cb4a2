"""The ground link cut and restored in flight: built-in autopilot, a relay that loses its datagrams, the bridge node."""

from __future__ import annotations

import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
from claims import free_instance, free_port
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from forked_programs import program
from geometry_msgs.msg import PoseStamped
from listening import Listener, listener
from processes import Program, sim_node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from waiting import PATIENCE

from sim_node.autopilots.vehicle_co_simulator import attach_autopilots
from sim_node.simulation import Loop, Simulation
from sim_node.world import load

SENSOR = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = QoSProfile(depth=100)
WORLD = """\
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.001}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles:
  - name: drone
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    autopilot: {{type: mavlink_builtin, instance: {instance}, start: false}}
    pilot: {{take_off: 3, wait: 0.5, speed: 4, waypoints: [[8, 0, 4], [8, 8, 4], [0, 8, 4]], after: loop}}
"""
# A vehicle is silent after so long, s; its telemetry comes every 20 ms.
TIMEOUT = 0.25
# Memory that comes and goes, bytes.
FLAT = 8 << 20
STANDS = 0.13


class UdpRelay:
    """Datagrams from a port of its own to another, and back to whoever sent last.

    It is cut in two ways: `cut` forgets what comes, as a radio out of reach does; `unplug` closes its sockets, so that
    senders are told that nobody listens, and after `restore` it sends from another port.
    """

    def __init__(self, port: int) -> None:
        self.port = free_port()
        self.forgotten = self.passed = 0
        self._to = ("127.0.0.1", port)
        self._lock = threading.Lock()
        self._through, self._stopping = False, False
        self._near: socket.socket | None = None
        self._far: socket.socket | None = None
        self._back: tuple[str, int] | None = None
        self.restore()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        with self._lock:
            self._through = False

    def unplug(self) -> None:
        with self._lock:
            self._through = False
            self._let_go()

    def restore(self) -> None:
        with self._lock:
            if self._near is None:
                self._near, self._far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
                self._near.bind(("127.0.0.1", self.port))
                self._far.bind(("127.0.0.1", 0))
                for end in (self._near, self._far):
                    end.setblocking(False)
            self._through = True

    def close(self) -> None:
        self._stopping = True
        self._thread.join()
        self._let_go()

    def _let_go(self) -> None:
        for end in (self._near, self._far):
            if end is not None:
                end.close()
        self._near = self._far = None

    def _run(self) -> None:
        while not self._stopping:
            ends = [end for end in (self._near, self._far) if end is not None]
            with suppress(OSError, ValueError):  # closed meanwhile
                select.select(ends, [], [], 0.01)
            with self._lock:
                self._pass()

    def _pass(self) -> None:
        if self._near is None or self._far is None:
            return
        for one, other in ((self._near, self._far), (self._far, self._near)):
            with suppress(BlockingIOError, ConnectionRefusedError):
                while True:
                    data, sender = one.recvfrom(65536)
                    if one is self._near:
                        self._back = sender
                    to = self._to if one is self._near else self._back
                    self.passed += self._through
                    self.forgotten += not self._through
                    if self._through and to is not None:
                        other.sendto(data, to)


class Flown:
    """A simulation in this process, and what the graph hears of its vehicle."""

    def __init__(self, world: Path, ears: Listener, system: int) -> None:
        self.simulation = Simulation(load(world), seed=5)
        attach_autopilots(self.simulation)
        self.loop = Loop(self.simulation, (), real_time_factor=1.0)
        self.ears, self.name = ears, f"vehicle{system}"
        self._row = self.simulation.frames.names.index("drone/base_link")
        self.poses = ears.subscribe(PoseStamped, f"/{self.name}/local_position/pose", SENSOR)
        self.states = ears.subscribe(DiagnosticStatus, f"/{self.name}/state", LATCHED)
        self.diagnostics = ears.subscribe(DiagnosticArray, "/diagnostics", RELIABLE)

    @property
    def place(self) -> np.ndarray:
        """The truth."""
        return np.array(self.simulation.snapshot().poses[self._row, :3])

    def connected(self) -> bool:
        values = {pair.key: pair.value for pair in self.states[-1][1].values} if self.states else {}
        return values.get("connected") == "true"

    def diagnosed(self) -> str:
        """What /diagnostics says of the vehicle."""
        vehicle = self.name.replace("vehicle", "vehicle ")
        reported = [status for _, array in self.diagnostics[-1:] for status in array.status]
        return "".join(status.message for status in reported if status.name.endswith(f": {vehicle}"))

    def until(self, done: Callable[[], object], what: str) -> None:
        self.ears.spin_until(done, what)


@contextmanager
def flown(tmp_path: Path) -> Iterator[tuple[Flown, UdpRelay, Program, psutil.Process]]:
    instance, port = free_instance(), free_port()
    world = tmp_path / "w.yaml"
    world.write_text(WORLD.format(instance=instance))
    relay = UdpRelay(port)
    bridge = sim_node("bridge", "--url", f"udpin:127.0.0.1:{port}", "--ros-args", "-p", f"heartbeat_timeout:={TIMEOUT}")
    command = [sys.executable, "-m", "sim_node.cli.main", "autopilot", "--world", str(world)]
    command += ["--instance", str(instance), "--mavlink", f"udpout:127.0.0.1:{relay.port}"]
    with listener() as ears, program(bridge) as node:
        autopilot = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        made = Flown(world, ears, instance + 1)
        made.loop.start()
        try:
            made.until(lambda: made.connected() and bool(made.poses), "telemetry")
            yield made, relay, node, psutil.Process(autopilot.pid)
        finally:
            autopilot.terminate()
            made.loop.stop()
            made.simulation.close()
            relay.close()
            autopilot.wait(PATIENCE)


def held(process: psutil.Process) -> tuple[int, int, int]:
    """File descriptors, threads, bytes of memory."""
    return process.num_fds(), process.num_threads(), process.memory_info().rss


# make test cuts a link fifty times in test/autopilot/test_bridge.py, and that to the simulator in flight in
# test/autopilot/test_builtin_links.py.
@pytest.mark.nightly
@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("cuts", [8, 50])
def test_a_ground_link_is_cut_and_restored_in_flight(cuts: int, tmp_path: Path) -> None:
    """Each silence is told and each return; the flight goes on meanwhile, nothing is left behind, commands arrive."""
    with flown(tmp_path) as (vehicle, relay, node, autopilot):
        vehicle.until(lambda: bool(vehicle.place[2] > 3.5), "the mission's height")
        processes = [psutil.Process(node.process.pid), autopilot]
        before: list[tuple[int, int, int]] = []
        flown_alone = 0.0
        for cut in range(cuts):
            if cut == 5:
                before = [held(process) for process in processes]
            there = vehicle.place
            if cut % 2:
                relay.cut()
            else:
                relay.unplug()
            vehicle.until(lambda: not vehicle.connected(), f"silence {cut}")
            if cut in (0, cuts - 1):
                vehicle.until(lambda: vehicle.diagnosed() == "silent", "silence on /diagnostics")
            flown_alone += float(np.linalg.norm(vehicle.place - there))
            assert vehicle.place[2] > 2.5
            received = len(vehicle.poses)
            relay.restore()
            vehicle.until(vehicle.connected, f"return {cut}")
            vehicle.until(lambda received=received: len(vehicle.poses) > received, f"telemetry {cut}")  # type: ignore[misc]
            if cut in (0, cuts - 1):
                vehicle.until(lambda: vehicle.diagnosed() == "AUTO.MISSION", "return on /diagnostics")
        assert flown_alone > cuts * 0.2, "4 m/s, but for the corners"
        assert relay.forgotten > cuts // 2
        for process, (files, threads, memory) in zip(processes, before, strict=True):
            files_now, threads_now, memory_now = held(process)
            assert (files_now, threads_now) == (files, threads)
            assert memory_now < memory + FLAT

        def off() -> float:
            reported = vehicle.poses[-1][1].pose.position
            return float(np.linalg.norm(vehicle.place - [reported.x, reported.y, reported.z]))

        vehicle.until(lambda: off() < 1.0, "telemetry that is true")
        results = vehicle.ears.subscribe(DiagnosticStatus, f"/{vehicle.name}/command_result", RELIABLE)
        goal = PoseStamped()
        goal.header.frame_id = "map"
        goal.pose.position.x, goal.pose.position.y, goal.pose.position.z = -3.0, 4.0, 5.0
        goal.pose.orientation.w = 1.0
        goto = vehicle.ears.node.create_publisher(PoseStamped, f"/{vehicle.name}/goto", RELIABLE)
        vehicle.until(lambda: goto.get_subscription_count() > 0, "goto's subscriber")
        sent = 0

        def reached() -> bool:
            """The bridge ends it where a loaded machine keeps the vehicle silent for TIMEOUT: it is sent again."""
            nonlocal sent
            ended = [status.message for _, status in results if status.values[0].value == "true"]
            if any(message.startswith("reached") for message in ended):
                return True
            if len(ended) >= sent:
                sent = len(ended) + 1
                goto.publish(goal)
            return False

        vehicle.until(reached, "goto's end")
        vehicle.until(
            lambda: bool(np.linalg.norm(vehicle.place - [-3.0, 4.0, STANDS + 5.0]) < 0.2), "where it was sent"
        )
    assert "Traceback" not in node.output
