"""Following a real graph from the command line: what is shown, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from claims import free_domain
from in_process import exit_code
from waiting import PATIENCE

pytest.importorskip("tf2_msgs.msg", reason="needs rclpy and tf2_msgs")

from builtin_interfaces.msg import Time
from rosgraph_msgs.msg import Clock

from sim_node.ros.participant import participant

PUBLISHER = Path(__file__).parents[1] / "nodes" / "tf_publisher.py"


@pytest.fixture(scope="module")
def graph_of_cars() -> Iterator[int]:
    """The domain of a graph on which car0 and car1 drive at 20 transforms a second."""
    domain = free_domain()
    process = subprocess.Popen(
        [sys.executable, str(PUBLISHER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
    )
    stdin = process.stdin
    assert stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    done = threading.Event()

    def drive() -> None:
        stdin.write("static 2\n")
        while not done.wait(0.05):
            stdin.write(f"dynamic {time.time():.9f} 1.5 2\n")
            stdin.flush()

    thread = threading.Thread(target=drive, daemon=True)
    thread.start()
    yield domain
    done.set()
    thread.join(PATIENCE)
    stdin.close()
    process.wait(PATIENCE)


@pytest.fixture
def cars(graph_of_cars: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """This test and the processes that it starts are on that graph."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(graph_of_cars))


def start(call: str, **options: Any) -> subprocess.Popen[str]:
    program = f"import sys\nfrom sim_node.cli.live import *\nsys.exit({call})"
    return subprocess.Popen([sys.executable, "-c", program], **options)


def end(process: subprocess.Popen[str]) -> None:
    """Ctrl-C: exit code 0."""
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0


def lines_until(stream: IO[str] | None, words: str) -> list[str]:
    assert stream is not None
    lines = []
    for line in stream:
        lines.append(line.rstrip("\n"))
        if words in line:
            return lines
    raise AssertionError(f"ended without {words!r}: {lines}")


# make test prints lookups as lines of JSON, below or above, and the tree in plain lines.
@pytest.mark.nightly
def test_lookup_in_plain_lines(cars: None) -> None:
    process = start("live_lookup('map', 'roof', period=0.2)", stdout=subprocess.PIPE, text=True)
    lines = lines_until(process.stdout, "Hz  delay")
    assert "  translation [3.500000, 0.000000, 0.000000] m" in lines
    assert "  rpy         [0.000, 0.000, 0.000] degrees" in lines
    assert lines[-1].startswith("  car0  ")
    end(process)
    assert process.stdout is not None
    assert "\x1b" not in "".join(lines) + process.stdout.read()


def test_tree_in_plain_lines(cars: None) -> None:
    """In what the output can write: here, in ASCII."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    process = start("live_tree(period=0.2)", stdout=subprocess.PIPE, text=True, env=environment)
    # The transform of roof, which is latched, may come after those of the cars.
    lines = lines_until(process.stdout, "roof  FLU  static") + lines_until(process.stdout, "car1  FLU  dynamic")
    assert "|  `- roof  FLU  static" in lines
    assert any(line.startswith("|- car0  FLU  dynamic") and " Hz  delay " in line for line in lines)
    end(process)


# Takes seconds: make test has plain lines and lines of JSON.
@pytest.mark.nightly
def test_stamps_of_the_wall_clock_on_a_graph_with_simulation_time(cars: None) -> None:
    """As of a driver without use_sim_time beside a simulation."""
    process = start("live_tree(period=0.2)", stdout=subprocess.PIPE, text=True)
    done = threading.Event()
    with participant("clock") as (node, _):
        clock = node.create_publisher(Clock, "/clock", 10)

        def tick() -> None:
            while not done.wait(0.05):
                clock.publish(Clock(clock=Time(sec=12)))

        ticking = threading.Thread(target=tick, daemon=True)
        ticking.start()
        said = lines_until(process.stdout, "stamped by the wall clock, not by the graph's /clock")[-1]
        done.set()
        ticking.join(PATIENCE)
    assert "car" in said
    end(process)


def test_json_lines(cars: None) -> None:
    process = start("live_lookup('car0', 'car1', period=0.2, as_json=True)", stdout=subprocess.PIPE, text=True)
    answers = [json.loads(line) for line in lines_until(process.stdout, "translation")]
    assert answers[-1]["translation"] == [1.0, 0.0, 0.0]
    assert all(answer["error"] == "UnknownFrame" for answer in answers[:-1])
    end(process)


# Takes seconds: make test has plain lines and lines of JSON.
@pytest.mark.nightly
def test_a_terminal_is_redrawn_in_place(cars: None) -> None:
    terminal, line = pty.openpty()
    process = start("live_tree(period=0.1)", stdout=line)
    os.close(line)
    seen = b""
    while b"car1" not in seen or b"\x1b[4A" not in seen:
        seen += os.read(terminal, 4096)
    end(process)
    os.close(terminal)
    assert b"\x1b[J" in seen


# Takes seconds: make test has plain lines and lines of JSON.
@pytest.mark.nightly
def test_nothing_on_the_graph_is_said_and_an_early_ctrl_c_is_a_good_end(ros_domain: int) -> None:
    process = start("live_tree(period=0.1)", stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "no transforms yet on /tf and /tf_static\n"
    end(process)


@pytest.mark.parametrize(
    "words", ["tree --live", "lookup a b --live", "view --live --port 0", "topics", "run cart_pole"]
)
def test_a_domain_that_is_no_number_is_one_line(
    words: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", "abc")
    assert exit_code(words.split()) == 2
    assert capfd.readouterr().err.splitlines()[-1] == (
        "sim_node: ROS 2 does not start: failed to initialize rcl: ROS_DOMAIN_ID is not an integral number"
    )
