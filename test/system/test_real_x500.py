"""The x500 of PX4-gazebo-models, read as it is, flown by PX4 itself with the parameters of its airframe 4001_gz_x500.

PX4_GAZEBO_MODELS names a checkout of https://github.com/PX4/PX4-gazebo-models.
"""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from real_flights import flight
from real_kinds import X500, Kind, built

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]
# Of model.sdf: base_link and four propellers (kg), motorConstant (N s^2/rad^2), maxRotVelocity (rad/s).
MASS, THRUST, FASTEST, GRAVITY = 2.0 + 4 * 0.016076923076923075, 8.54858e-06, 1000.0, 9.80665
# As a world of Gazebo has it, beside the ground.
YARD = """<sdf version="1.9"><world name="yard">
  <model name="ground"><static>true</static>
    <link name="l"><collision name="c"><geometry><plane/></geometry></collision></link>
  </model>
  <include><uri>model://x500</uri><pose>0 0 0.227 0 0 1.5707963267948966</pose></include>
</world></sdf>"""
IN_A_WORLD = replace(
    X500,
    vehicle="""
physics: {{integrator: euler, timestep: 0.001, gravity: [0, 0, -9.80665]}}
include: [{{file: yard.sdf, prefix: v, autopilot: {{type: {kind}, instance: {instance}}}}}]
""",
)


@pytest.mark.filterwarnings("ignore::sim_node.world.WorldWarning")
@pytest.mark.parametrize("kind", [built(X500), built(IN_A_WORLD)], ids=["model", "world"])
def test_it_hovers_with_the_throttle_of_its_motor_constant(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = os.environ.get("PX4_GAZEBO_MODELS")
    if models is None:
        pytest.skip("set PX4_GAZEBO_MODELS to a checkout of PX4-gazebo-models")
    for name in ("x500", "x500_base"):
        shutil.copytree(Path(models) / "models" / name, tmp_path / name)
    (tmp_path / "yard.sdf").write_text(YARD)
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(tmp_path))
    expected = math.sqrt(MASS * GRAVITY / (4 * THRUST)) / FASTEST
    with flight(kind, tmp_path) as flown:
        flown.arm()
        flown.take_off(5.0)
        flown.run(10.0)
        commands, places = [], []
        for _ in range(100):
            flown.run(0.1)
            commands.append(np.array(flown.simulation.vehicles["v/x500"].command))
            places.append(flown.place)
        found = float(np.mean(commands))
        print(f"throttle {found:.4f}, expected {expected:.4f}; deviation {np.std(places, axis=0).round(3)} m")
        assert found == pytest.approx(expected, rel=0.01)
        assert np.std(places, axis=0).max() < 0.3
        flown.land()
        assert np.linalg.norm(flown.place[:2]) < 1.0
