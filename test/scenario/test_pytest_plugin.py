"""The pytest plug-in, in a stranger's project outside the repository: run by a pytest of its own, with workers."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from fetching import environment_of_pip
from nightly import rows

WORLD = """\
world: ball
physics: {gravity: [0, 0, -10], timestep: 0.01}
time: {step: 0.01}
bodies:
  - {name: floor, geometry: [{plane: true}], pose: {position: [0, 0, -1]}}
  - {name: ball, joint: {type: free, qd: [3, 0, 5, 0, 0, 0]}, geometry: [{sphere: 0.1, mass: 1.0}]}
"""
EXPECT = """\
expect:
  duration: 1
  every: 0.01
  must: [always altitude(ball) < %s m]
"""
TESTS = """\
import subprocess
import sys

import pytest


def test_rises(sim):
    run = sim.run("ball.yaml")
    assert run.until("altitude(ball) > 1.201 m", 60) == pytest.approx(0.41)  # 5 t - 5 t^2
    assert run.value("climb_rate(ball)") == pytest.approx(0.9)
    run.run(0.59)
    assert run.value("x(ball)") == pytest.approx(3.0)


@pytest.mark.parametrize("speed", [4.0, 6.0])
def test_height_follows_from_speed(sim, speed):
    run = sim.run("ball.yaml", values={"bodies[ball].joint.qd[2]": speed})
    run.until("climb_rate(ball) < 0", 2)
    assert run.value("altitude(ball)") == pytest.approx(speed**2 / 20, abs=0.01)


def test_verdicts(sim):
    sim.passes("ball.yaml", "always altitude(ball) < 1.3 m", duration=1)
    assert sim.judge("ball.yaml", "no_collision(ball)", duration=2).verdict == "fail"


@pytest.mark.sim(seed=5)
def test_marker(sim):
    assert sim.run("ball.yaml").seed == 5


def test_fails(sim):
    sim.run("ball.yaml").until("altitude(ball) > 2 m", 1)


def test_imports_nothing_but_pytest():
    code = "import sys, sim_node.extensions.scenario.pytest_plugin; print({'numpy', 'rclpy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
"""


PLUGIN = "sim_node.extensions.scenario.pytest_plugin"


@pytest.mark.parametrize("workers", rows(["0", "2"], ["0"]))
def test_a_strangers_project(workers: str, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    judged(tmp_path, environment, "-n", workers)


@pytest.mark.wheel
@pytest.mark.parametrize(
    "packages", [["pytest==6.2.5", "pluggy==0.13.1"], ["pytest==7.4.4", "pluggy==1.4.0"]], ids=["humble", "jazzy"]
)
def test_with_the_pytest_of_a_ros_distribution(packages: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *packages]
    subprocess.run(pip, env=environment_of_pip(), check=True)
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    judged(tmp_path, environment, "-p", PLUGIN)


def judged(folder: Path, environment: dict[str, str], *arguments: str) -> None:
    """Run the stranger's tests, two of which fail."""
    (folder / "test_flights.py").write_text(TESTS)
    (folder / "ball.yaml").write_text(WORLD)
    (folder / "test_low.yaml").write_text(WORLD + EXPECT % 1.3)
    (folder / "test_high.yaml").write_text(WORLD + EXPECT % 1.2)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *arguments, "--junit-xml", "junit.xml", "-p", "no:cacheprovider"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    cases = {case.attrib["name"]: case for case in ET.parse(folder / "junit.xml").getroot().iter("testcase")}
    failed = {name for name, case in cases.items() if len(case)}
    assert failed == {"test_fails", "test_high"}, done.stdout
    assert len(cases) == 9
    assert "altitude(ball) > 2 m: did not hold by 1 s: altitude(ball) = " in done.stdout
    assert "ball.yaml: seed 0, 1 s simulated" in done.stdout
    assert "always altitude(ball) < 1.2 m: violated at 0.4 s by 0.05: altitude(ball) = 1.2" in done.stdout
    again = next(line for line in done.stdout.splitlines() if "again: " in line).partition("again: ")[2].split()
    program = [sys.executable, "-m", "sim_node.cli.main", *again[1:]]
    assert subprocess.run(program, cwd=folder, env=environment, check=False, capture_output=True).returncode == 0
