"""Models that nobody here wrote: URDF of example-robot-data as in yourdfpy, MJCF of dm_control as in raw MuJoCo."""

from __future__ import annotations

import json
import os
import subprocess
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from strangers import environment_of

from sim_node.simulation import Simulation
from sim_node.simulation.physics import RigidBodyEngine
from sim_node.world import World, WorldError, lay_out, load
from sim_node.world.models import Start

pytestmark = pytest.mark.peers
# What is refused, and why; everything else is read.
REFUSED_URDF = {
    "romeo_description/urdf/romeo.urdf": "it has no mass, and nothing that it carries defines how its joint",
    "romeo_description/urdf/romeo_laas_small.urdf": "it has no mass, and nothing that it carries defines how its joint",
}
# Files that raw MuJoCo reads and sim_node refuses.
REFUSED_MJCF = {
    "locomotion/walkers/assets/dog_v2/dog.xml": "is outside the world's folder",
}
# Of MuJoCo's joints, rad.
TURN = 0.3


# Robots with joints that mimic others.
MIMICS = ("baxter", "panda", "pr2", "tiago_pro")


def packages() -> Path:
    python = environment_of("models")
    (found,) = python.parents[1].glob("lib/python*/site-packages")
    return found


@pytest.fixture(scope="module")
def robots() -> Path:
    return packages() / "cmeel.prefix" / "share" / "example-robot-data" / "robots"


def quietly_loaded(file: Path) -> Any:
    """The world, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return load(file)
        except WorldError as error:
            return error


def refusals(files: list[Path], root: Path) -> tuple[dict[str, str], dict[Path, Any]]:
    found = {file: quietly_loaded(file) for file in files}
    refused = {str(file.relative_to(root)): str(each) for file, each in found.items() if isinstance(each, WorldError)}
    return refused, {file: each for file, each in found.items() if not isinstance(each, WorldError)}


def assert_as_tabled(refused: dict[str, str], table: dict[str, str]) -> None:
    assert refused.keys() == table.keys(), {name: refused[name] for name in refused.keys() - table.keys()}
    for name, reason in table.items():
        assert reason in refused[name]


@pytest.mark.timeout(600)
def test_robots_of_example_robot_data_are_read_and_stand_where_yourdfpy_has_them(
    robots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(robots.parents[2]))
    files = sorted(robots.rglob("*.urdf"))
    assert len(files) > 60
    refused, read = refusals(files, robots)
    assert_as_tabled(refused, REFUSED_URDF)
    expected = told_by("yourdfpy", environment_of("models"), list(read))
    assert len(expected) >= len(read) - 1  # yourdfpy cannot read one of them
    for file, world in ((file, world) for file, world in read.items() if str(file) in expected):
        assert_as_told(world, expected[str(file)], file.name, atol=1e-9)


def test_robots_with_mimics_are_where_pinocchio_has_them_at_random_positions() -> None:
    """They differ from what it computes without mimic=True, its default: then it has more joints."""
    python = environment_of("pinocchio")
    (robots,) = python.parents[1].glob("lib/python*/site-packages/cmeel.prefix/share/example-robot-data/robots")
    files = [file for name in MIMICS for file in robots.glob(f"{name}_description/*/{name}.urdf")]
    assert len(files) == len(MIMICS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AMENT_PREFIX_PATH", str(robots.parents[2]))
        worlds = {file: quietly_loaded(file) for file in files}
    for file, told in told_by("pinocchio", python, files).items():
        assert_as_told(worlds[Path(file)], told, file, atol=1e-13)


def told_by(library: str, python: Path, files: list[Path]) -> dict[str, Any]:
    """Positions of the joints and matrices of the links of each file, by a library in an environment of its own."""
    done = subprocess.run(
        [python, Path(__file__).with_name(f"robots_of_{library}.py")],
        env={key: value for key, value in os.environ.items() if not key.startswith("PYTHON")},
        input=json.dumps([str(file) for file in files]).encode(),
        capture_output=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def assert_as_told(world: World, told: dict[str, Any], name: str, atol: float) -> None:
    (model,) = world.models
    q = {joint: np.array([value]) for joint, value in told["q"].items()}
    layout = lay_out(replace(world, models=(replace(model, start=Start(q=q)),)))
    poses = layout.frames.in_root(layout.poses)
    for link, matrix in told["links"].items():
        pose, there = poses[layout.frames.index(link)], np.array(matrix)
        np.testing.assert_allclose(pose[:3], there[:3, 3], atol=atol, err_msg=f"{name} {link}")
        turned = Rotation.from_quat(pose[3:]).as_matrix()
        np.testing.assert_allclose(turned, there[:3, :3], atol=atol, err_msg=f"{name} {link}")


def raw(file: Path) -> mujoco.MjModel | None:
    try:
        return mujoco.MjModel.from_xml_path(str(file))
    except ValueError:
        return None


@pytest.mark.timeout(600)
def test_models_of_dm_control_are_read_and_move_as_in_raw_mujoco() -> None:
    root = packages() / "dm_control"
    models = {file: model for file in sorted(root.rglob("*.xml")) if (model := raw(file)) is not None}
    assert len(models) > 50
    refused, read = refusals(list(models), root)
    assert_as_tabled(refused, REFUSED_MJCF)
    for file, world in read.items():
        theirs = models[file]
        if not theirs.nv:
            continue
        (engine,) = Simulation(world, sensors=False).engines.values()
        assert isinstance(engine, RigidBodyEngine)
        ours = engine.model
        assert (ours.nq, ours.nv, ours.nu, ours.ngeom, ours.ntendon) == (
            theirs.nq, theirs.nv, theirs.nu, theirs.ngeom, theirs.ntendon,
        ), file.name  # fmt: skip
        np.testing.assert_allclose(ours.body_mass, theirs.body_mass, rtol=1e-12, err_msg=file.name)
        one, other = mujoco.MjData(ours), mujoco.MjData(theirs)
        mujoco.mj_integratePos(theirs, other.qpos, np.full(theirs.nv, TURN), 1.0)
        one.qpos[:] = other.qpos
        mujoco.mj_kinematics(ours, one)
        mujoco.mj_kinematics(theirs, other)
        np.testing.assert_allclose(one.xpos, other.xpos, atol=1e-9, err_msg=file.name)
        np.testing.assert_allclose(one.xmat, other.xmat, atol=1e-9, err_msg=file.name)
