"""Odometry as evo reads it, which many use to judge estimators: https://github.com/MichaelGrupp/evo."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from waiting import PATIENCE

from sim_node import Session, loads

YARD = """
world: yard
time: {step: 0.01}
physics: {integrator: implicitfast, timestep: 0.002}
ground: {friction: 0.8}
bases: [{name: amr, model: differential, sensors: [TRUTH]}]
"""


@pytest.mark.peers
@pytest.mark.skipif(shutil.which("evo_ape") is None, reason="needs evo_ape on PATH: pip install evo rosbags")
def test_the_drift_of_wheels_is_what_evo_finds(tmp_path: Path) -> None:
    """Slip is below 1 % of the way, and evo's largest error is at least what the ends of both tell."""
    bag = tmp_path / "bag"
    with Session(loads(YARD), record=str(bag), real_time_factor=0.0, publish_rate=50.0) as run:
        amr = run.simulation.vehicles["amr"]
        amr.cmd_vel(0.5, 0.0, 0.3, timeout=0)
        run.run(10.0)
        told, true = amr.odometry[:2], run.simulation.bodies["amr/base_link"].pose[:2]
    found = subprocess.run(
        ["evo_ape", "bag2", str(bag), "/amr/truth/odom", "/amr/odom", "--align_origin"],
        check=True, capture_output=True, text=True, timeout=PATIENCE,
    ).stdout  # fmt: skip
    errors = {name: float(value) for name, value in re.findall(r"^ +(\w+)\t([\d.]+)$", found, re.MULTILINE)}
    end = float(((told - true) ** 2).sum() ** 0.5)
    assert end - 1e-4 <= errors["max"] <= 0.01 * 0.5 * 10.0
