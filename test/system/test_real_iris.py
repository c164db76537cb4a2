"""The iris of ardupilot_gazebo, alone and with a gimbal in its world, read as they are: ArduCopter flies them by the
channels of their ArduPilotPlugins.

ARDUPILOT_GAZEBO names a checkout of https://github.com/ArduPilot/ardupilot_gazebo.
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
from real_kinds import IRIS, Kind, built

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]
# Of its LiftDrag plug-ins: two blades of each rotor by area, lift of their chord at a0 and its distance from the hub.
THRUST = 2 * 0.5 * 1.2041 * 0.002 * 0.084**2 * 4.25 * 0.3
FASTEST, GRAVITY = 838.0, 9.80665
# Of the links, kg: the body, the imu and four rotors of iris_with_standoffs, and those of gimbal_small_3d.
IRIS_MASS, GIMBAL_MASS = 1.5 + 0.15 + 4 * 0.025, 0.2 + 3 * 0.01
RUNWAY = replace(
    IRIS,
    vehicle="""
physics: {{integrator: euler, timestep: 0.001, gravity: [0, 0, -9.80665]}}
include: [{{file: worlds/iris_runway.sdf, prefix: v}}]
""",
    base="v/iris_with_gimbal/iris_with_standoffs/base_link",
)


@pytest.mark.filterwarnings("ignore::sim_node.world.WorldWarning")
@pytest.mark.parametrize(
    ("kind", "mass"),
    [
        pytest.param(kind, mass, marks=built(kind).marks, id=name)
        for kind, mass, name in ((IRIS, IRIS_MASS, "model"), (RUNWAY, IRIS_MASS + GIMBAL_MASS, "world"))
    ],
)
def test_arducopter_hovers_at_the_speed_at_which_its_blades_carry_it(
    kind: Kind, mass: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream = os.environ.get("ARDUPILOT_GAZEBO")
    if upstream is None:
        pytest.skip("set ARDUPILOT_GAZEBO to a checkout of ardupilot_gazebo")
    shutil.copytree(Path(upstream) / "models", tmp_path, dirs_exist_ok=True)
    shutil.copytree(Path(upstream) / "worlds", tmp_path / "worlds")
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(tmp_path))
    expected = math.sqrt(mass * GRAVITY / (4 * THRUST)) / FASTEST
    with flight(kind, tmp_path) as flown:
        simulation = flown.simulation
        flown.mode("hold")
        flown.arm()
        flown.take_off(5.0)
        flown.run(10.0)
        (vehicle,) = simulation.world.vehicles
        # Its gains let the rotors chatter: a tenth as many samples would be off by some percent.
        speeds, places = [], []
        for _ in range(100):
            flown.run(0.04)
            for _ in range(20):
                simulation.step(3)
                speeds.append(np.array(simulation.vehicles[vehicle.name].speeds))
            places.append(flown.place)
        found = float(np.sqrt(np.mean(np.square(speeds)))) / FASTEST
        deviation, height = np.std(places, axis=0), float(np.mean(places, axis=0)[2])
        print(f"{found:.4f}, expected {expected:.4f}; deviation {deviation.round(3)} m; {height:.3f} m up")
        assert found == pytest.approx(expected, rel=0.01)
        assert deviation.max() < 0.3
        # As it was told, within what its GPS and its barometer are off.
        assert height == pytest.approx(5.0, abs=1.0)
        flown.land()
        assert np.linalg.norm(flown.place[:2]) < 1.0
        assert flown.place[2] == pytest.approx(0.0, abs=0.05)
