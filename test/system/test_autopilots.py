"""A simulation node whose vehicle an autopilot flies: what it says on the console and on /diagnostics."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import rclpy.qos as ros_qos
from claims import free_instance
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from forked_programs import program
from listening import listener
from processes import sim_node

WORLD = """\
time: {{step: 0.002}}
physics: {{integrator: euler, timestep: 0.001}}
bodies: [{{name: ground, geometry: [{{plane: true}}]}}]
vehicles:
  - name: v
    model: iris
    pose: {{position: [0, 0, 0.13]}}
    sensors: false
    autopilot: {{type: ardupilot, instance: {instance}}}
"""


@contextmanager
def answering(port: int) -> Iterator[threading.Event]:
    """Sends ArduPilot's servo packets, one for each answer, until the event that it gives is set."""
    silent = threading.Event()

    def run() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.connect(("127.0.0.1", port))
            sock.settimeout(1.0)
            frame = 0
            while not silent.is_set():
                sock.send(struct.pack("<HHI16H", 18458, 500, frame, *[1000] * 16))
                try:
                    json.loads(sock.recv(4096))
                    frame += 1
                except OSError:
                    continue  # nobody there yet, or not yet answered

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield silent
    finally:
        silent.set()
        thread.join()


@pytest.mark.usefixtures("ros_domain")
def test_how_an_autopilot_stands_is_reported(tmp_path: Path) -> None:
    instance = free_instance()
    world = tmp_path / "w.yaml"
    world.write_text(WORLD.format(instance=instance))
    port = 9002 + 10 * instance
    with listener() as ears, program(sim_node("run", world)) as node:
        received = ears.subscribe(DiagnosticArray, "/diagnostics", ros_qos.QoSProfile(depth=10))

        def status() -> DiagnosticStatus:
            of = [each for _, array in received[-1:] for each in array.status if each.name.endswith("autopilot of v")]
            return of[0] if of else DiagnosticStatus()

        ears.spin_until(lambda: status().message.startswith("nobody there yet"))
        assert received[-1][1].header.stamp.sec < 1_000_000, "simulation time, which begins at 0, not the wall clock"
        assert status().level == DiagnosticStatus.WARN
        with answering(port) as silent:
            node.wait_for("in lockstep")
            ears.spin_until(lambda: "in lockstep" in status().message)
            assert status().level == DiagnosticStatus.OK
            silent.set()
            node.wait_for(f"waiting for ArduPilot {instance}")
            ears.spin_until(lambda: status().message.endswith("is gone"))
        assert status().level == DiagnosticStatus.ERROR
        code = node.stop()
        assert code == 0


@pytest.mark.usefixtures("ros_domain")
def test_a_taken_port_starts_nothing(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        instance = free_instance()
        taken.bind(("127.0.0.1", 9002 + 10 * instance))
        world = tmp_path / "w.yaml"
        world.write_text(WORLD.format(instance=instance))
        for options in ([], ["--no-ros"]):
            with program(sim_node("run", world, *options)) as node:
                assert node.wait() == 1
                assert "w.yaml:5:5: vehicles[0].autopilot: cannot wait for ArduPilot" in node.output
                assert "Traceback" not in node.output
