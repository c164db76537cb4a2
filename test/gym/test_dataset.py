"""Datasets: measurements beside those of a pendulum by hand, joint angles beside relative orientations, and files."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest
from scipy.spatial.transform import Rotation

from sim_node.extensions.gym import (
    BodyAction,
    Dataset,
    FrameSignal,
    JointAction,
    JointSignal,
    Recipe,
    SensorSignal,
    simulate,
    write_dataset,
)
from sim_node.extensions.gym.dataset import Recorded
from sim_node.world import World, WorldError, load, loads
from sim_node.world.locate import share

NO_NOISE = "gyroscope: none, accelerometer: none"
PENDULUM = f"""\
world: pendulum
time: {{step: 0.01}}
physics: {{integrator: rk4, timestep: 0.001, contact: false}}
bodies:
  - name: rod
    joint: {{type: hinge, axis: [0, 1, 0], q: 1.0, damping: 0.1}}
    inertial: {{mass: 1.0, center: [0, 0, -0.5], inertia: [0.1, 0.1, 0.001]}}
sensors:
  - {{name: IMU, parent: rod, type: imu, pose: {{position: [0, 0, -0.8]}}, {NO_NOISE}}}
"""


def chain() -> World:
    """The shipped chain, with IMUs that have no noise."""
    folder = share("sim_node")
    assert folder is not None
    world = load(folder / "config/worlds/parts/imu_chain.yaml")
    parameters = {"gyroscope": "none", "accelerometer": "none"}
    return replace(
        world, parts={**world.parts, "sensors": [replace(each, parameters=parameters) for each in world.sensors]}
    )


SIGNALS: dict[str, Recorded] = {
    **{f"imu{k}": SensorSignal(f"IMU_{k}") for k in (1, 2, 3)},
    **{f"angle{k}": JointSignal(body) for k, body in ((2, "second"), (3, "third"))},
    "turn2": FrameSignal("second", "quaternion", relative_to="first"),
    "turn3": FrameSignal("third", "quaternion", relative_to="second"),
}
RECIPE = Recipe(
    chain(),
    SIGNALS,
    duration=0.5,
    variations={
        "bodies[second].joint.axis": "direction",
        "bodies[third].joint.axis": "direction",
        "bodies[third].pose.position[2]": "uniform(-0.5, -0.3)",
        "bodies[third].inertial.mass": "loguniform(0.2, 1)",
        "sensors[IMU_3].pose.position[0]": "uniform(-0.1, 0.1)",
    },
    excitations={
        "hip": JointAction("second", "effort", -2.0, 2.0),
        "knee": JointAction("third", "effort", -1.0, 1.0),
        "push": BodyAction("first", "force", -5.0, 5.0),
    },
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_dataset(RECIPE, tmp_path_factory.mktemp("data") / "chain", 6, seed=4, per_file=4)


def test_measurements_are_those_of_a_pendulum_by_hand() -> None:
    """(I + m c^2) w' = -m g c sin q - d w; the specific force at r below the hinge is r w^2 + g cos q along the rod."""
    signals: dict[str, Recorded] = {
        "imu": SensorSignal("IMU"),
        "q": JointSignal("rod"),
        "w": JointSignal("rod", "velocity"),
    }
    run = simulate(Recipe(loads(PENDULUM), signals, duration=1.0))
    q, w = run.signals["q"][:, 0], run.signals["w"][:, 0]
    inertia, arm = 0.1 + 1.0 * 0.5**2, 0.8
    spin_up = (-9.81 * 0.5 * np.sin(q) - 0.1 * w) / inertia
    still = np.zeros(len(q))
    # About y, a positive angle swings the rod from -z towards -x, so that its tip moves along the body's -x.
    force = np.stack([-arm * spin_up - 9.81 * np.sin(q), still, arm * w**2 + 9.81 * np.cos(q)], axis=1)
    assert run.signals["imu"][:, :3] == pytest.approx(np.stack([still, w, still], axis=1), abs=1e-9)
    assert run.signals["imu"][:, 3:] == pytest.approx(force, abs=1e-8)
    # Energy falls by what the damping takes: the integral of d w^2, by the trapezoidal rule.
    energy = 0.5 * inertia * w**2 - 9.81 * 0.5 * np.cos(q)
    assert energy[-1] - energy[0] == pytest.approx(-0.1 * np.trapezoid(w**2, run.times), abs=1e-4)


def test_joint_angles_are_the_relative_orientations_of_links(written: Path) -> None:
    """A hinge turns its link about the drawn axis: by SciPy."""
    dataset = Dataset(written)
    for index in range(len(dataset)):
        item = dataset[index]
        row = dataset.runs.row(dataset.run_of(index), named=True)
        for k, body in ((2, "second"), (3, "third")):
            axis = np.array([row[f"bodies[{body}].joint.axis[{part}]"] for part in range(3)])
            expected = Rotation.from_rotvec(item[f"angle{k}"].astype(float) * axis)
            assert (expected.inv() * Rotation.from_quat(item[f"turn{k}"])).magnitude().max() < 1e-5
        assert np.ptp(item["angle3"]) > 0.01


def test_each_run_has_what_was_drawn_for_it(written: Path) -> None:
    runs = polars.read_parquet(written / "runs.parquet")
    assert runs["run"].to_list() == list(range(6))
    assert runs["status"].to_list() == ["ok"] * 6
    for path in RECIPE.variations:
        columns = [runs[name].to_numpy() for name in runs.columns if name.startswith(path)]
        assert all(len(set(column.tolist())) == 6 for column in columns)
        if path.endswith("axis"):
            assert np.linalg.norm(columns, axis=0) == pytest.approx(np.ones(6), abs=1e-12)
    mass = runs["bodies[third].inertial.mass"].to_numpy()
    assert ((mass >= 0.2) & (mass <= 1.0)).all()


# Takes seconds: make test has the same bytes in other processes in test/simulation/test_simulation.py.
@pytest.mark.nightly
def test_a_dataset_does_not_depend_on_workers_or_files(written: Path, tmp_path: Path) -> None:
    write_dataset(RECIPE, tmp_path / "two", 6, seed=4, workers=2, per_file=3)
    first, second = Dataset(written), Dataset(tmp_path / "two")
    assert first.runs.equals(second.runs)
    for a, b in zip(first, second, strict=True):
        assert all(np.array_equal(a[name], b[name]) for name in a)


def test_windows_are_parts_of_runs(written: Path) -> None:
    whole, windows = Dataset(written), Dataset(written, window=20, stride=10, signals=("imu1", "angle2"))
    assert (len(whole), len(windows)) == (6, 6 * 4)
    assert list(windows[0]) == ["imu1", "angle2"]
    assert windows[0]["imu1"].shape == (20, 6)
    assert np.array_equal(windows[6]["imu1"], whole[1]["imu1"][20:40])
    copy = pickle.loads(pickle.dumps(windows))
    assert np.array_equal(copy[6]["imu1"], windows[6]["imu1"])


def test_columns_are_named_by_channels(written: Path) -> None:
    columns = polars.read_parquet(written / "samples" / "0000000.parquet").columns
    assert columns[:5] == ["run", "time", "imu1.rate_x", "imu1.rate_y", "imu1.rate_z"]
    assert columns[-4:] == ["turn3.qx", "turn3.qy", "turn3.qz", "turn3.qw"]


def test_mistakes_are_reported_before_anything_is_written(written: Path, tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="is not empty"):
        write_dataset(RECIPE, written, 1)
    with pytest.raises(WorldError, match="no sensor 'IMU_4'; did you mean IMU_1"):
        write_dataset(replace(RECIPE, signals={"imu": SensorSignal("IMU_4")}), tmp_path / "new", 1)
    with pytest.raises(WorldError, match="does not divide"):
        write_dataset(replace(RECIPE, rate=30.0), tmp_path / "new", 1)
    with pytest.raises(FileNotFoundError, match="no complete dataset"):
        Dataset(tmp_path / "new")
    with pytest.raises(KeyError, match="no signal imu9"):
        Dataset(written, signals=("imu9",))
