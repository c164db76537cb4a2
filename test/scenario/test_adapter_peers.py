"""scenario-execution and Scenic drive runs, each from an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from strangers import ROOT, environment_of

BALL = """\
world: ball
physics: {gravity: [0, 0, -10], timestep: 0.01}
time: {step: 0.01}
bodies:
  - {name: ground, geometry: [{plane: true}]}
  - {name: ball, joint: {type: free, q: [0, 0, 2, 0, 0, 0, 1]}, geometry: [{sphere: 0.1, mass: 1.0}]}
expect: {duration: 5, must: [always altitude(ball) < 5 m]}
"""
DRONE = """\
world: drone
origin: {latitude: 47.4, longitude: 8.5, altitude: 400.0}
time: {step: 0.004}
physics: {integrator: euler, timestep: 0.001}
ground: {color: [0.42, 0.50, 0.36]}
vehicles:
  - {name: drone, model: iris, pose: {position: [0, 0, 0.13]}, pilot: {take_off: 3, waypoints: [{position: [4, 0, 3]}]}}
expect: {duration: 20, must: [always tilt(drone) < 60 deg]}
"""
OSC = """\
import osc.helpers
import osc.sim_node

scenario flight:
    timeout(30s)
    world: string = "drone.yaml"
    seed: int = 3
    do serial:
        sim_node_until("altitude(drone) > 2.5 m for at least 1 s")
        sim_node_do("gust", "velocity: [0, 4, 0], seconds: 2")
        wait elapsed(2s)
        sim_node_holds("altitude(drone) > FLOOR m")
        sim_node_verdict()
        emit end
"""
SCENIC = """\
param world = "ball.yaml"
model sim_node.extensions.scenario.adapters.model

behavior Kick():
    wait
    take Do("push", body="ball", force=[0, 0, 110], seconds=0.1)
    while True:
        wait

ego = new Entity at (Range(1, 2), 3, 1), facing 90 deg, with entity "ball", with behavior Kick()
record final ego.position.z as height
record value("x(ball)") as x
record initial ego.yaw as yaw
terminate after 0.5 seconds
"""


def environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a stranger's program, which finds sim_node and its entry points, and nothing else."""
    subprocess.run(
        [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", str(tmp_path)], cwd=ROOT, check=True
    )
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return own | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "SIM_NODE_PYTHON": sys.executable}


@pytest.mark.peers
@pytest.mark.parametrize(("floor", "passes"), [("2.5", True), ("9", False)])
def test_scenario_execution_flies_a_drone_through_a_gust(tmp_path: Path, floor: str, passes: bool) -> None:
    python = environment_of("scenario_execution")
    (tmp_path / "drone.yaml").write_text(DRONE)
    text = OSC.replace("FLOOR", floor)
    (tmp_path / "flight.osc").write_text(text)
    words = ["--simulation", "sim_node.extensions.scenario.adapters.scenario_execution:SimNode"]
    found = subprocess.run(
        [python.with_name("scenario_execution"), "flight.osc", *words],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = found.stdout + found.stderr
    assert "a gust of 4 m/s for 2 s" in said, said
    assert (found.returncode == 0) == passes, said


@pytest.mark.peers
def test_scenic_places_a_ball_and_a_behavior_kicks_it(tmp_path: Path) -> None:
    python = environment_of("scenic")
    (tmp_path / "ball.yaml").write_text(BALL)
    (tmp_path / "kick.scenic").write_text(SCENIC)
    script = Path(__file__).parent / "clients" / "scenic_runs.py"
    found = subprocess.run(
        [python, script, "kick.scenic", "3"],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    runs = json.loads(found.stdout.splitlines()[-1])
    assert len({run["x"] for run in runs}) == 3
    for run in runs:
        assert 1.0 <= run["x"] <= 2.0
        assert run["yaw"] == pytest.approx(1.5707963, abs=1e-6)
        assert run["verdict"] == ["pass", ""] or run["verdict"][0] == "error"
        # It falls for 0.1 s; the kick makes it 10 m/s faster upwards in 0.1 s; then it flies for 0.3 s.
        assert run["height"] == pytest.approx(1.0 - 0.05 - 0.1 + 0.5 + 9.0 * 0.3 - 5.0 * 0.09, abs=0.12)
