"""Efforts, targets and arrays of joints, and forces on bodies, set by name between two steps."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from sim_node.simulation import Simulation
from sim_node.world import Actuator, Body, Inertial, Physics, World, load

MASS = 2.0
INERTIAL = Inertial(MASS, np.diag([0.02, 0.03, 0.05]))
NO_WEIGHT = Physics(gravity=np.zeros(3))
DRIVES = (
    Actuator("x", 400.0, 60.0),
    Actuator("x", damping=50.0, type="velocity"),
    Actuator("y", type="effort", force=3.0),
    Actuator("y", damping=1.0, type="velocity", speed=0.5),
    Actuator("z", 400.0, 60.0, speed=0.5),
)


def slides(*actuators: Actuator) -> Simulation:
    bodies = tuple(Body(name, "map", f"p{name}", inertial=INERTIAL) for name in "xyz")
    ball = Body("ball", "map", "spherical", inertial=INERTIAL)
    return Simulation(World("w", bodies=(*bodies, ball), actuators=actuators, physics=NO_WEIGHT))


@pytest.mark.parametrize("actuators", [(), DRIVES], ids=["direct", "beside actuators"])
def test_an_effort_accelerates_a_joint(actuators: tuple[Actuator, ...]) -> None:
    """x = F t^2 / 2 m."""
    simulation = slides(*[each for each in actuators if each.type == "effort"])
    simulation.joints["y"].effort = 3.0
    assert simulation.joints["y"].effort == pytest.approx([3.0])
    simulation.run(0.5)
    assert simulation.joints["y"].position == pytest.approx([0.5 * 3.0 / MASS * 0.25], abs=1e-9)
    state = pickle.loads(pickle.dumps(simulation.state))
    simulation.run(0.5)
    expected = simulation.snapshot().poses.tobytes()
    simulation.joints["y"].effort = 0.0
    simulation.restore(state)
    simulation.run(0.5)
    assert simulation.snapshot().poses.tobytes() == expected, "the effort is part of the state"
    simulation.reset()
    assert simulation.joints["y"].effort == pytest.approx([0.0])


def test_an_effort_is_limited_by_its_actuator() -> None:
    simulation = slides(*DRIVES)
    simulation.joints["y"].set_targets(effort=50.0)
    assert simulation.joints["y"].effort == pytest.approx([3.0])
    assert simulation.joints["y"].targets == {"velocity": 0.0, "effort": 50.0}


def test_targets_move_joints_and_outlive_resets_and_restores() -> None:
    simulation = slides(*DRIVES)
    x, z = simulation.joints["x"], simulation.joints["z"]
    x.target, z.target = 0.3, -0.2
    simulation.run(0.2)
    state = simulation.state
    simulation.run(3.0)
    np.testing.assert_allclose([x.position[0], z.position[0]], [0.3, -0.2], atol=1e-5)
    expected = simulation.snapshot().poses.tobytes()
    x.target = z.target = 0.0
    simulation.restore(state)
    assert (float(x.target[0]), float(z.target[0])) == (0.3, -0.2)
    simulation.run(3.0)
    assert simulation.snapshot().poses.tobytes() == expected
    simulation.reset()
    assert (float(x.target[0]), float(z.target[0])) == (0.0, 0.0)


def test_arrays_have_all_joints_at_once() -> None:
    simulation = slides(*DRIVES)
    joints = simulation.joints
    assert joints.scalar == ("x", "y", "z")
    joints.positions, joints.velocities = [0.1, 0.2, 0.3], [1.0, 0.0, -1.0]
    assert joints["y"].position.tolist() == [0.2]
    assert joints.velocities.tolist() == [1.0, 0.0, -1.0]
    joints.targets = [0.5, np.nan, 0.25]
    assert joints.targets.tolist() == [0.5, 0.0, 0.25]
    # x: stiffness (target - q) - damping qd - velocity gain qd; z: its setpoint still is where it started.
    np.testing.assert_allclose(joints.efforts, [400 * 0.4 - 60 - 50, 0.0, -400 * 0.3 + 60 + 400 * 0.5e-3], atol=1e-9)
    joints.efforts = [0.0, 1.5, 0.0]
    assert joints["y"].targets["effort"] == 1.5
    free = slides()
    assert np.isnan(free.joints.targets).all()
    with pytest.raises(ValueError, match="'x' has no actuator, and so no target; give it one, or set its effort"):
        free.joints.targets = [1.0, np.nan, np.nan]


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    simulation = slides(*DRIVES)
    joints = simulation.joints
    before = simulation.state.columns
    with pytest.raises(ValueError, match="'x' has no effort actuator; it has position and velocity"):
        joints["x"].set_targets(position=1.0, effort=1.0)
    with pytest.raises(ValueError, match=r"'x': position target \[nan\] is not finite"):
        joints["x"].set_targets(velocity=1.0, position=np.nan)
    with pytest.raises(ValueError, match="'joints': targets has shape"):
        joints.targets = [1.0]
    with pytest.raises(ValueError, match=r"'joints': targets \[.*inf.*\] is not finite"):
        joints.targets = [1.0, np.inf, 0.0]
    with pytest.raises(ValueError, match="'ball': a ball has no effort along an axis; set the wrench of its body"):
        joints["ball"].effort = [1.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="'ball' has no actuator"):
        joints["ball"].target = 1.0
    assert all(np.array_equal(before[name], column) for name, column in simulation.state.columns.items())


def test_actuators_of_models_have_targets(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(
        """<mujoco model="arm"><worldbody><body name="link"><joint name="a" type="hinge" damping="1"/>
        <geom size="0.1"/><body><joint name="b" type="hinge"/><geom size="0.1"/></body></body></worldbody>
        <actuator><position joint="a" kp="30"/><motor joint="a" gear="2"/><velocity joint="b" kv="3" ctrllimited="true"
        ctrlrange="-1 1"/><motor joint="b"/></actuator></mujoco>"""
    )
    (tmp_path / "w.yaml").write_text("include: [{file: arm.xml, prefix: left}]\n")
    joints = Simulation(load(tmp_path / "w.yaml")).joints
    assert joints["left/a"].targets == {"position": 0.0}, "not the motor with a gear"
    assert joints["left/b"].targets == {"velocity": 0.0, "effort": 0.0}
    joints["left/a"].target = 0.4
    assert joints["left/a"].effort == pytest.approx([30 * 0.4])


def test_a_force_at_a_point_turns_a_body() -> None:
    """About z: w = r F t / I, and v = F t / m; the force stays along the fixed frame's axes."""
    centre = np.array([0.1, 0.0, 0.0])
    box = Body("box", "map", "free", inertial=Inertial(MASS, np.diag([0.02, 0.03, 0.05]), centre))
    simulation = Simulation(World("w", bodies=(box,), physics=NO_WEIGHT))
    simulation.bodies["box"].apply_force([0.0, 0.4, 0.0], point=[0.3, 0.0, 0.0])
    np.testing.assert_allclose(simulation.bodies["box"].wrench, [0, 0.4, 0, 0, 0, 0.2 * 0.4], atol=1e-15)
    simulation.run(0.01)
    assert simulation.bodies["box"].twist[5] == pytest.approx(0.08 * 0.01 / 0.05, rel=1e-6)
    simulation.bodies["box"].set_pose([0, 0, 1, 0, 0, np.sqrt(0.5), np.sqrt(0.5)])
    simulation.bodies["box"].apply_force([0.0, 0.4, 0.0], torque=[0.0, 0.0, 1.0], point=[0.3, 0.0, 0.0])
    np.testing.assert_allclose(simulation.bodies["box"].wrench, [0, 0.4, 0, 0, 0, 1.0], atol=1e-15)
