"""The iris of ardupilot_gazebo, read as it is: ArduCopter flies it by the channels of its ArduPilotPlugin.

ARDUPILOT_GAZEBO names a checkout of https://github.com/ArduPilot/ardupilot_gazebo.
"""

from __future__ import annotations

import math
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from real_flights import flight
from real_kinds import IRIS, Kind, built

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]
# Of its LiftDrag plug-ins: two blades of each rotor by area, lift of their chord at a0 and its distance from the hub.
THRUST = 2 * 0.5 * 1.2041 * 0.002 * 0.084**2 * 4.25 * 0.3
FASTEST, GRAVITY = 838.0, 9.80665


@pytest.mark.filterwarnings("ignore::sim_node.world.WorldWarning")
@pytest.mark.parametrize("kind", [built(IRIS)])
def test_arducopter_hovers_at_the_speed_at_which_its_blades_carry_it(kind: Kind, tmp_path: Path) -> None:
    models = os.environ.get("ARDUPILOT_GAZEBO")
    if models is None:
        pytest.skip("set ARDUPILOT_GAZEBO to a checkout of ardupilot_gazebo")
    for name in ("iris_with_ardupilot", "iris_with_standoffs"):
        shutil.copytree(Path(models) / "models" / name, tmp_path / name)
    with flight(kind, tmp_path) as flown:
        simulation = flown.simulation
        mass = float(sum(body.inertial.mass for body in simulation.world.bodies if body.inertial is not None))
        flown.mode("hold")
        flown.arm()
        flown.take_off(5.0)
        flown.run(10.0)
        (vehicle,) = simulation.world.vehicles
        commands, places = [], []
        for _ in range(100):
            flown.run(0.1)
            commands.append(np.array(simulation.vehicles[vehicle.name].command))
            places.append(flown.place)
        expected = math.sqrt(mass * GRAVITY / (4 * THRUST)) / FASTEST
        found = float(np.sqrt(np.mean(np.square(commands))))
        print(f"throttle {found:.4f}, expected {expected:.4f}; deviation {np.std(places, axis=0).round(3)} m")
        assert found == pytest.approx(expected, rel=0.01)
        assert np.std(places, axis=0).max() < 0.3
        flown.land()
        assert np.linalg.norm(flown.place[:2]) < 1.0
