"""`sim_node test --engine ray`: the verdicts of one process, also after its driver was killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from strangers import environment_of
from sweeping import SIM_NODE, environment
from waiting import PATIENCE, until

BALL = """\
world: ball
physics: {gravity: [0, 0, -10], timestep: 0.01}
time: {step: 0.01}
bodies:
  - {name: ball, joint: {type: free, qd: [3, 0, 5, 0, 0, 0]}, geometry: [{sphere: 0.1, mass: 1.0}]}
expect: {duration: 4, must: [always altitude(ball) < 1.2 m]}
"""
RUNS = 400
WORDS = ("test", "ball.yaml", "--runs", str(RUNS), "--vary", "bodies[ball].joint.qd[2]=uniform(4,6)", "--keep", "0")


@pytest.mark.peers
def test_runs_on_ray_have_the_verdicts_of_one_process_also_after_a_kill(tmp_path: Path) -> None:
    python = environment_of("ray")
    (tmp_path / "ball.yaml").write_text(BALL)
    kept = tmp_path / "ray" / "ball" / "certificates.jsonl"
    on_ray = [str(python), *SIM_NODE[1:], *WORDS, "--engine", "ray", "-n", "2", "-o", "ray"]
    driver = subprocess.Popen(
        on_ray, cwd=tmp_path, env=environment(python), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    until(lambda: driver.poll() is not None or (kept.is_file() and kept.read_bytes().count(b"\n") > 20), "20 verdicts")
    os.kill(driver.pid, signal.SIGKILL)
    said, _ = driver.communicate(timeout=PATIENCE)
    before = kept.read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    assert 20 <= whole.count(b"\n") < RUNS, said
    done = subprocess.run(
        [*on_ray, "--resume"], cwd=tmp_path, env=environment(python), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr  # some fail
    after = kept.read_bytes()
    assert after.startswith(whole)
    alone = [*SIM_NODE, *WORDS, "-n", "1", "-o", "one"]
    subprocess.run(alone, cwd=tmp_path, env=environment(sys.executable), capture_output=True, check=False)
    one = (tmp_path / "one" / "ball" / "certificates.jsonl").read_bytes()
    assert sorted(after.splitlines()) == sorted(one.splitlines())
    assert len(one.splitlines()) == RUNS
