"""The shipped robots do what they are for: they go where their kinematics say, and hold by friction."""

from __future__ import annotations

import math

import numpy as np
import pytest
from nightly import only

from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import loads

YARD = """
time: {step: 0.004}
physics: {integrator: implicitfast, timestep: 0.002}
ground: {friction: 0.8}
bases: [{name: r, model: MODEL, sensors: false}]
"""


def true_pose(run: Simulation) -> FloatArray:
    x, y, _, _, _, qz, qw = run.bodies["r/base_link"].pose
    return np.array([x, y, 2.0 * math.atan2(qz, qw)])


# What a base of each kind does is in test_bases.py.
@pytest.mark.parametrize(
    ("model", "twist", "expected"),
    only(
        [
            ("ackermann", (0.5, 0.0, 0.5), (0.8415, 0.4597, 1.0)),  # an arc of 1 m by 1 rad: sin 1, 1 - cos 1
            ("mecanum", (0.0, 0.5, 0.0), (0.0, 1.0, 0.0)),
            ("rover", (1.0, 0.0, 0.0), (2.0, 0.0, 0.0)),
        ],
        0,
    ),
)
def test_a_base_goes_where_it_is_told(model: str, twist: tuple[float, ...], expected: tuple[float, ...]) -> None:
    """Two seconds at the twist, with slip of up to 3 % of the way: rollers of mecanum wheels bump along."""
    run = Simulation(loads(YARD.replace("MODEL", model)))
    base = run.vehicles["r"]
    base.cmd_vel(*twist, timeout=0)
    run.run(1.5)  # it has its speed
    (x, y, yaw), told = true_pose(run), base.odometry
    run.run(2.0)
    moved = true_pose(run) - [x, y, yaw]
    cos, sin = math.cos(yaw), math.sin(yaw)
    found = np.array([cos * moved[0] + sin * moved[1], cos * moved[1] - sin * moved[0], moved[2]])
    way = math.hypot(expected[0], expected[1])
    np.testing.assert_allclose(found, expected, atol=0.03 * way)
    assert np.linalg.norm((base.odometry - told)[:2]) == pytest.approx(np.linalg.norm(moved[:2]), rel=0.03)


def test_the_gripper_lifts_a_cube_by_friction() -> None:
    """The arm of `arm_pick`, its joints set by hand for a grasp at the first cube: docs/driving.md."""
    run = Simulation("arm_pick", sensors=False)
    arm = ("shoulder", "upper_arm", "forearm", "wrist_1", "wrist_2", "wrist_3")

    def reach(x: float, y: float, z: float) -> None:
        """Two links of 0.4 m and 0.35 m by the law of cosines, the tool of 0.215 m straight down."""
        far, high = math.hypot(x, y), z + 0.215 - 1.01
        bend = math.acos((far**2 + high**2 - 0.4**2 - 0.35**2) / (2 * 0.4 * 0.35))
        lift = math.atan2(far, high) - math.atan2(0.35 * math.sin(bend), 0.4 + 0.35 * math.cos(bend))
        turn = math.atan2(y, x)
        for name, q in zip(arm, (turn, lift, bend, 0.0, math.pi - lift - bend, turn), strict=True):
            run.joints[f"arm/{name}"].target = q

    finger = run.joints["gripper/left_finger"]
    for height, opening, seconds in ((0.9, 0.04, 1.5), (0.78, 0.04, 0.8), (0.78, 0.0, 0.4), (0.95, 0.0, 1.2)):
        reach(0.5, -0.1, height)
        finger.target = opening
        run.run(seconds)
    held = run.bodies["cube_1"].pose
    assert held[2] > 0.90
    run.run(2.0)
    assert np.linalg.norm(run.bodies["cube_1"].pose[:3] - held[:3]) < 0.002  # it does not creep out
    assert finger.position[0] == pytest.approx(0.025, abs=0.002)  # half of the cube
    finger.target = 0.04
    run.run(0.6)
    assert run.bodies["cube_1"].pose[2] < 0.80


# Takes seconds: make test has the conveyor of the same world.
@pytest.mark.nightly
def test_the_door_of_the_warehouse_opens() -> None:
    """As the tutorial commands it, past the wall beside it."""
    run = Simulation("warehouse", sensors=False)
    run.joints["door"].target = 1.8
    run.run(8.0)
    assert run.bodies["door"].pose[1] == pytest.approx(1.8, abs=0.01)


def test_the_conveyor_of_the_warehouse_moves_a_parcel() -> None:
    """Rollers of 0.05 m at 6 rad/s, less what their servos give way."""
    run = Simulation("warehouse", sensors=False)
    run.run(1.0)
    start = run.bodies["parcel"].pose[0]
    run.run(1.0)
    assert run.bodies["parcel"].pose[0] - start == pytest.approx(0.3, rel=0.1)
    assert run.bodies["pallet_1"].twist[:3] == pytest.approx([0, 0, 0], abs=1e-3)
