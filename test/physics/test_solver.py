"""MuJoCo's own answers, where a fault in a version of it was found or could be: no version may be used that has one."""

from __future__ import annotations

from importlib.metadata import requires

import mujoco
import numpy as np
import pytest

from sim_node.cli.doctor import physics
from sim_node.packages import WRONG_VERSIONS
from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.world import Body, Geometry, Ground, Physics, TimeGrid, World, WorldError
from sim_node.world.mujoco_source import mujoco_fault

BOXES, HEAPS = 20, 2
# Where the arms of a box are hinged.
SIDES = ((0.1, 0.0, 0.0), (-0.1, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, -0.1, 0.0))


def heap(seed: int = 0) -> World:
    """Boxes that are thrown together, each with four hinged capsules: 200 degrees of freedom, and many contacts."""
    random = np.random.default_rng(seed)
    bodies: list[Body] = []
    for k in range(BOXES):
        box = Geometry("box", np.array([0.2, 0.2, 0.1]), 1.0)
        turn = random.normal(size=4)
        q = np.array([*random.uniform(-0.25, 0.25, 3), *turn / np.linalg.norm(turn)])
        bodies.append(Body(f"box{k}", "map", "free", geometry=(box,), q=q, qd=random.normal(size=6)))
        for n, side in enumerate(SIDES):
            arm = Geometry("capsule", np.array([0.02, 0.1]), 0.1, np.array([0, 0, -0.07, 0, 0, 0, 1.0]))
            pose = np.array([*side, 0, 0, 0, 1.0])
            bodies.append(Body(f"arm{k}_{n}", f"box{k}", "ry" if side[0] else "rx", pose, geometry=(arm,)))
    physics = Physics(integrator="implicitfast", cone="pyramidal", timestep_ns=2_000_000)
    return World("heap", time=TimeGrid(step_ns=2_000_000), bodies=tuple(bodies), ground=Ground(), physics=physics)


def evaluated(seed: int, jacobian: mujoco.mjtJacobian) -> tuple[mujoco.MjModel, mujoco.MjData]:
    engine = Simulation(heap(seed)).engines["rigid_bodies"]
    assert isinstance(engine, RigidBodyEngine)
    engine.model.opt.jacobian = jacobian
    mujoco.mj_forward(engine.model, engine.data)
    assert engine.data.ncon > 5 * BOXES
    return engine.model, engine.data


@pytest.mark.parametrize("seed", range(HEAPS))
def test_a_dense_and_a_sparse_jacobian_give_the_same_accelerations(seed: int) -> None:
    """To rounding, from the same iterations; MuJoCo 4.0.0 needs twice as many for one of them, and ends 1e-7 away."""
    (model, one), (_, other) = (
        evaluated(seed, kind) for kind in (mujoco.mjtJacobian.mjJAC_DENSE, mujoco.mjtJacobian.mjJAC_SPARSE)
    )
    assert model.nv == BOXES * (6 + len(SIDES))
    dense, sparse = np.array(one.qacc), np.array(other.qacc)
    assert np.linalg.norm(dense - sparse) < 1e-12 * np.linalg.norm(dense)
    assert one.solver_niter.tolist() == other.solver_niter.tolist()
    # The gradient of the solver's cost vanishes there.
    moved = np.zeros(model.nv)
    mujoco.mj_mulM(model, one, moved, dense)
    left = moved - one.qfrc_smooth - one.qfrc_constraint
    assert np.linalg.norm(left) < 1e-6 * np.linalg.norm(one.qfrc_constraint)


def test_a_wrong_version_is_refused_reported_and_never_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    [version] = WRONG_VERSIONS["mujoco"]
    assert any(each.startswith("mujoco") and f"!={version}" in each for each in requires("sim_node") or ())
    monkeypatch.setattr(mujoco, "__version__", version)
    monkeypatch.setattr("importlib.metadata.version", lambda name: version)
    remedy = f"pip install 'mujoco!={version},"
    with pytest.raises(WorldError, match=f"bodies need MuJoCo, but mujoco {version} computes wrong acc.*{remedy}"):
        Simulation(heap())
    [finding] = physics()
    assert finding.status == "optional"
    assert finding.detail.startswith(f"mujoco {version} computes wrong accelerations")
    assert remedy in finding.remedy
    monkeypatch.undo()
    assert mujoco_fault() == ""
