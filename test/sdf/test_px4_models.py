"""Models of PX4-gazebo-models, read as they are: which load, and rovers that drive.

PX4_GAZEBO_MODELS names a checkout of https://github.com/PX4/PX4-gazebo-models.
"""

from __future__ import annotations

import math
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from sim_node import Simulation
from sim_node.world import load

MODELS = Path(os.environ.get("PX4_GAZEBO_MODELS", "nowhere")) / "models"
WORLD = """
origin: {{latitude: 47.4, longitude: 8.5, altitude: 488}}
time: {{step: 0.001}}
physics: {{integrator: implicitfast, timestep: 0.001}}
ground: {{friction: 1.0}}
include: [{{file: {file}, pose: {{position: [0, 0, 0.1]}}, prefix: v}}]
"""
pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(not MODELS.is_dir(), reason="set PX4_GAZEBO_MODELS to a checkout of PX4-gazebo-models"),
    pytest.mark.filterwarnings("ignore::sim_node.world.WorldWarning"),
]
RATE = 4.0


@pytest.mark.parametrize(
    ("name", "forwards", "radius"),
    [
        ("rover_differential", {"wheel_rear_left_link": 1.0, "wheel_rear_right_link": 1.0}, 0.1),
        (
            "r1_rover",
            {"lf_wheel_link": 1.0, "lb_wheel_link": 1.0, "rf_wheel_link": -1.0, "rb_wheel_link": -1.0},
            0.0686,
        ),
    ],
)
def test_a_rover_drives_as_far_as_its_wheels_roll(
    name: str, forwards: dict[str, float], radius: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(MODELS))
    shutil.copytree(MODELS / name, tmp_path / name)
    (tmp_path / "w.yaml").write_text(WORLD.format(file=name))
    simulation = Simulation(load(tmp_path / "w.yaml"), seed=0)
    simulation.run(0.5)
    for wheel, sign in forwards.items():
        simulation.joints[f"v/{name}/{wheel}"].target = sign * RATE
    simulation.run(0.5)
    before = simulation.bodies[f"v/{name}/base_link"].pose
    simulation.run(2.0)
    moved = simulation.bodies[f"v/{name}/base_link"].pose - before
    assert math.hypot(*moved[:2]) == pytest.approx(2.0 * RATE * radius, rel=0.02)
    np.testing.assert_allclose(moved[2:], 0.0, atol=5e-3)


def test_the_x500_in_an_sdf_world_hovers_with_the_throttle_of_its_motor_constant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the built-in pilot: base_link and four propellers, motorConstant and maxRotVelocity of its model.sdf."""
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(MODELS))
    plane = '<link name="l"><collision name="c"><geometry><plane/></geometry></collision></link>'
    (tmp_path / "yard.sdf").write_text(
        f'<sdf version="1.9"><world name="yard"><model name="ground"><static>true</static>{plane}</model>'
        "<include><uri>model://x500</uri><pose>0 0 0.24 0 0 0</pose></include></world></sdf>"
    )
    for name in ("x500", "x500_base"):
        shutil.copytree(MODELS / name, tmp_path / name)
    (tmp_path / "w.yaml").write_text(
        "origin: {latitude: 47.4, longitude: 8.5, altitude: 488}\ntime: {step: 0.004}\n"
        "physics: {integrator: implicitfast, timestep: 0.001, gravity: [0, 0, -9.8]}\n"
        "include: [{file: yard.sdf, pilot: {take_off: 3, after: hold}}]\n"
    )
    simulation = Simulation(load(tmp_path / "w.yaml"), seed=0)
    simulation.run(12.0)
    (vehicle,) = simulation.world.vehicles
    commands, heights = [], []
    for _ in range(40):
        simulation.run(0.1)
        commands.append(np.array(simulation.vehicles[vehicle.name].command))
        heights.append(simulation.bodies[vehicle.body].pose[2])
    expected = math.sqrt((2.0 + 4 * 0.016076923076923075) * 9.8 / (4 * 8.54858e-06)) / 1000.0
    assert np.mean(commands) == pytest.approx(expected, rel=0.01)
    # By its noisy receiver and barometer.
    assert np.mean(heights) == pytest.approx(3.2, abs=0.5)
    assert np.std(heights) < 0.1
