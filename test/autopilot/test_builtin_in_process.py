"""The built-in autopilot in the process of the run: the same bytes and the same flight as in a process of its own."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest
from claims import free_instance, free_port
from pymavlink import mavutil
from waiting import PATIENCE, until

from sim_node.autopilots.builtin.autopilot import BuiltinAutopilot
from sim_node.autopilots.lockstep.mavlink_builtin import InProcessBuiltin
from sim_node.autopilots.lockstep.px4 import Px4
from sim_node.autopilots.vehicle_co_simulator import VehicleCoSimulator, attach_autopilots
from sim_node.mavlink.links import Address
from sim_node.mavlink.links.udp import UdpOut
from sim_node.simulation import Simulation
from sim_node.world import WorldError, load, loads

WORLD = """\
origin: {{latitude: 47.397742, longitude: 8.545594, altitude: 488.0}}
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.002}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles:
  - name: v
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    autopilot: {{type: mavlink_builtin, instance: {instance}, {more}}}
    pilot: {{take_off: 3, wait: 0.5, waypoints: [[6, 0, 4], [6, 6, 4]], after: hold}}
"""
IN_PROCESS = "in_process: true"


class Run:
    """A simulation with its autopilot."""

    def __init__(self, folder: Path, instance: int, more: str) -> None:
        world = folder / f"w{instance}.yaml"
        world.write_text(WORLD.format(instance=instance, more=more), encoding="utf-8")
        self.instance = instance
        self.simulation = Simulation(load(world), seed=5)
        peer: VehicleCoSimulator
        (peer,) = attach_autopilots(self.simulation)
        self.peer = peer
        self._row = self.simulation.frames.names.index("v/base_link")

    def path(self, seconds: float) -> np.ndarray:
        """The poses after each step."""
        poses = []
        for _ in range(round(seconds * 250)):
            self.simulation.step()
            poses.append(self.simulation.snapshot().poses[self._row].copy())
        return np.array(poses)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    with ExitStack() as opened:

        def make(more: str, instance: int | None = None) -> Run:
            made = Run(tmp_path, free_instance() if instance is None else instance, more)
            opened.callback(made.simulation.close)
            return made

        yield make


def test_the_bytes_and_the_flight_are_those_of_a_process(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same instance, one after the other: what the simulation reads, and every pose."""
    received = bytearray()
    take = Px4._take

    def recorded(self: Px4, data: bytes) -> None:
        received.extend(data)
        take(self, data)

    monkeypatch.setattr(Px4, "_take", recorded)
    instance = free_instance()
    found = []
    for more in (IN_PROCESS, "start: true"):
        received.clear()
        flown = run(more, instance)
        path = flown.path(6.0)
        flown.simulation.close()
        found.append((bytes(received), path))
    (bytes_here, path_here), (bytes_there, path_there) = found
    assert len(bytes_here) > 6 * 250 * 50, "an answer to each sample"
    assert bytes_here == bytes_there
    assert np.array_equal(path_here, path_there)
    assert path_here[-1, 2] > 2.0, "it flies"


def test_a_reset_begins_the_same_flight_again(run: Callable[..., Run]) -> None:
    flown = run(IN_PROCESS)
    first = flown.path(3.0)
    flown.simulation.reset()
    assert np.array_equal(flown.path(3.0), first)


def test_a_ground_station_hears_it_while_the_run_stands_still(run: Callable[..., Run]) -> None:
    port = free_port()
    station = mavutil.mavlink_connection(f"udpin:127.0.0.1:{port}")
    try:
        flown = run(f"{IN_PROCESS}, links: ['udpout:127.0.0.1:{port}']")
        flown.path(0.1)
        for _ in range(2):
            heartbeat = station.recv_match(type="HEARTBEAT", blocking=True, timeout=PATIENCE)
            assert heartbeat is not None
            assert heartbeat.get_srcSystem() == 1 + flown.instance
    finally:
        station.close()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a socket that nobody listens")
def test_telemetry_waits_for_somebody_who_listens_and_says_nothing(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then, heartbeats alone are sent, which a listener that comes late hears first."""
    port, sent, write = free_port(), [0], UdpOut.write

    def counted(self: UdpOut, data: bytes, to: Address) -> None:
        sent[0] += self.address[1] == port
        write(self, data, to)

    monkeypatch.setattr(UdpOut, "write", counted)
    flown = run(f"{IN_PROCESS}, links: ['udpout:127.0.0.1:{port}']")
    until(lambda: bool(len(flown.path(0.1))) and sent[0] > 3)
    with closing(mavutil.mavlink_connection(f"udpin:127.0.0.1:{port}")) as station:
        heard: list[str] = []

        def hear() -> bool:
            flown.path(0.1)
            while (message := station.recv_msg()) is not None:
                heard.append(message.get_type())
            return "ATTITUDE_QUATERNION" in heard

        until(hear)
    assert heard[0] == "HEARTBEAT"


def test_one_that_is_killed_goes_on_in_the_air(run: Callable[..., Run]) -> None:
    flown = run(IN_PROCESS)
    before = flown.path(5.0)[-1]
    assert before[2] > 2.0
    assert isinstance(flown.peer.autopilot, InProcessBuiltin)
    flown.peer.autopilot.kill()
    after = flown.path(6.0)
    assert after[:, 2].min() > 2.0
    assert np.linalg.norm(after[-1, :2] - before[:2]) > 1.0, "the mission goes on"


def test_its_thread_ends_with_the_run(run: Callable[..., Run]) -> None:
    before = set(threading.enumerate())
    flown = run(IN_PROCESS)
    flown.path(0.1)
    assert set(threading.enumerate()) - before
    flown.simulation.close()
    assert not set(threading.enumerate()) - before


def test_an_error_while_it_serves_the_ground_ends_the_run(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a vehicle that flies on and answers nobody."""
    failed = threading.Event()

    def tick(self: BuiltinAutopilot, now_ns: int) -> None:
        failed.set()
        raise ZeroDivisionError("of a test")

    monkeypatch.setattr(BuiltinAutopilot, "tick", tick)
    flown = run(IN_PROCESS)

    def fly_on() -> None:
        flown.path(0.1)
        assert failed.wait(PATIENCE)
        for thread in threading.enumerate():
            if thread.name == f"autopilot {flown.instance}":
                thread.join(PATIENCE)
        flown.path(0.1)

    with pytest.raises(ZeroDivisionError, match="of a test"):
        fly_on()


@pytest.mark.parametrize(
    ("autopilot", "message"),
    [
        ("{type: px4, in_process: true}", "px4 has a process of its own; only mavlink_builtin"),
        ("{type: mavlink_builtin, in_process: true, start: false}", "with start: false, you start it"),
    ],
)
def test_what_cannot_be_in_one_process_is_refused(autopilot: str, message: str) -> None:
    text = WORLD.format(instance=0, more="")
    text = re.sub(r"autopilot: \{.*\}", f"autopilot: {autopilot}", text).replace("    pilot:", "    # pilot:")
    with pytest.raises(WorldError, match=re.escape(message)) as refused:
        loads(text)
    assert "vehicles[0].autopilot.in_process" in str(refused.value)
