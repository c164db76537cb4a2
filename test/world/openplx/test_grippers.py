"""Vacuum grippers of the bundle Robotics, as suction of their cups."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import pytest

from sim_node.simulation import Simulation
from sim_node.world import WorldWarning

CELL = """
Cup is Robotics.EndEffectors.SuctionCup:
    lip_radius: 0.03
    mounting_radius: 0.005
    resting_height: 0.1
    collapsed_height: 0.05
    body.inertia.mass: 0.2
    body.is_dynamic: false
    body.kinematics.local_transform.position: {0, 0, 0}
    body.lip is Physics3D.Geometries.Cylinder:
        radius: 0.03
        height: 0.02
        local_transform.rotation: Math.Quat.angle_axis(Math.PI / 2, Math.Vec3.X_AXIS())
    gripper_connector.redirected_parent: body

Cell is Physics3D.System:
    cup is Cup:
        local_transform.position: {0, 0, 2}
    gripper is Robotics.EndEffectors.VacuumGripper:
        activated: true
        suction_cups: [cup]
        vacuum_system becomes Robotics.EndEffectors.ConstantVacuumSystem:
            vacuum_level: LEVEL
        activated_output.enabled: true
    plate is Physics3D.Bodies.RigidBody:
        inertia.mass: 2
        kinematics.local_transform.position: {0, 0, 1.94}
        shape is Physics3D.Geometries.Box:
            size: {0.3, 0.3, 0.1}
"""


@pytest.mark.usefixtures("bundles")
@pytest.mark.parametrize("level", [0.04, 0.6])
def test_a_cup_holds_what_its_vacuum_can_carry(tmp_path: Path, level: float) -> None:
    """The pressure times the area of the lip: 286 N at a whole vacuum, of which 2 kg need 20 N."""
    (tmp_path / "cell.openplx").write_text(CELL.replace("LEVEL", str(level)), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        run = Simulation(tmp_path / "cell.openplx")
    suction = run.world.suction[0]
    assert suction.force == pytest.approx(level * 101325 * math.pi * 0.03**2)
    run.run(1.0)
    height = run.bodies["Cell/plate"].pose[2]
    assert (height > 1.9) == (suction.force > 2 * 9.81)
    assert run.signals["Cell/gripper/activated_output"].value == 1.0
    if level > 0.5:
        run.signals["Cell/gripper/activate_input"].value = 0.0
        run.run(0.3)
        assert run.bodies["Cell/plate"].pose[2] == pytest.approx(height - 9.81 / 2 * 0.09, abs=0.02)
