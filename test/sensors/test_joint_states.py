"""Joint states: which joints, and that they are where they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_node.simulation import Simulation
from sim_node.simulation.physics.placing import joint_reader
from sim_node.simulation.sensors import JointStates, groups_of
from sim_node.spatial.geometry import poses
from sim_node.world import Body, Geometry, Physics, Sensor, TimeGrid, World, WorldError, load

PERFECT = {"position": "none", "velocity": "none", "effort": "none", "rate": 1000.0}
BOX = (Geometry("box", np.array([0.2, 0.1, 0.1]), 1.0),)


def robot(*sensors: Sensor) -> World:
    """A rover that floats, with a mast that slides, a head that turns about two axes, and an arm."""
    bodies = (
        Body("rover", "map", "free", geometry=BOX),
        Body("mast", "rover", "pz", geometry=BOX, q=np.array([0.25]), qd=np.array([0.5])),
        Body("head", "mast", "saddle", geometry=BOX, q=np.array([0.1, 0.2]), qd=np.array([0.3, -0.4])),
        Body("eye", "head", "spherical", geometry=BOX),
        Body("arm", "rover", "rx", geometry=BOX, q=np.array([-0.7]), qd=np.array([2.0])),
    )
    return World("mars", time=TimeGrid(0, 1_000_000), bodies=bodies, sensors=sensors, physics=Physics(contact=False))


def joint_states(parent: str, name: str = "JOINTS", **parameters: Any) -> Sensor:
    return Sensor(name, parent, poses.IDENTITY, type="joint_states", parameters={**PERFECT, **parameters})


@pytest.mark.parametrize(
    ("parent", "named", "expected"),
    [
        ("map", {}, [0.25, 0.1, 0.2, -0.7, 0.5, 0.3, -0.4, 2.0, 0, 0, 0, 0]),
        ("mast", {}, [0.25, 0.1, 0.2, 0.5, 0.3, -0.4, 0, 0, 0]),
        ("arm", {}, [-0.7, 2.0, 0]),
        ("rover", {"joints": ["arm", "head#1"]}, [-0.7, 0.2, 2.0, -0.4, 0, 0]),
    ],
)
def test_it_begins_with_what_the_bodies_begin_with(
    parent: str, named: dict[str, Any], expected: Sequence[float]
) -> None:
    """Of a floating body and of a ball it has nothing to tell."""
    measurements = Simulation(robot(joint_states(parent, **named))).snapshot().measurements
    np.testing.assert_array_equal(measurements["JOINTS"].values[0], expected)


def test_later_it_reads_the_angle_between_the_frames() -> None:
    simulation = Simulation(robot(joint_states("map", joints=["arm", "mast"]), joint_states("map", "SPARE")))
    simulation.run(0.3)
    snapshot = simulation.snapshot()
    pose = snapshot.poses[simulation.frames.index("arm")]
    angle = Rotation.from_quat(pose[3:]).as_rotvec()[0]
    reported = snapshot.measurements["JOINTS"].values
    assert reported[-1, 0] == pytest.approx(angle, abs=1e-12)
    assert reported[-1, 1] == pytest.approx(snapshot.poses[simulation.frames.index("mast"), 2], abs=1e-12)
    # The velocity is the change of the angle.
    assert (reported[-1, 0] - reported[-3, 0]) / 2e-3 == pytest.approx(reported[-2, 2], abs=1e-4)


def test_effort_is_what_actuators_exert() -> None:
    """Of MuJoCo's position servo: kp (ctrl - q)."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body><joint name="hinge#0" axis="0 1 0"/><geom size="0.1"/></body></worldbody>
        <actuator><position joint="hinge#0" kp="7"/></actuator></mujoco>"""
    )
    data = mujoco.MjData(model)
    data.qpos[0], data.ctrl[0] = 0.2, 0.5
    reported = joint_reader(model, data, lambda: mujoco.mj_forward(model, data), ["hinge"])()
    np.testing.assert_allclose(reported, [[0.2], [0.0], [7 * 0.3]])


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        (["arn"], "type: there is no joint 'arn' below 'rover'; did you mean arm?"),
        ("arm", "joints: a list of names is needed, found 'arm'"),
        ([], "joints: a list of names is needed, found a list of 0"),
        ([1.0], "joints: a list of names is needed, found a list of 1"),
    ],
)
def test_joints_that_there_are_not_are_reported(joints: str | Sequence[float | str], message: str) -> None:
    with pytest.raises(WorldError) as caught:
        Simulation(robot(joint_states("rover", joints=joints)))
    assert message in str(caught.value)


def test_without_joints_there_is_nothing_to_read(tmp_path: Path) -> None:
    path = tmp_path / "stone.yaml"
    path.write_text(
        "bodies: [{name: stone, joint: free, geometry: [{sphere: 0.1, mass: 1}]}]\n"
        "sensors: [{name: J, parent: stone, type: joint_states}]\n"
    )
    with pytest.raises(WorldError, match=r"stone.yaml:2:42: .*type: there is no hinge or slide below 'stone' to read"):
        Simulation(load(path))


def test_a_run_with_it_is_saved_and_restored() -> None:
    simulation = Simulation(robot(joint_states("map", latency=0.01, velocity={"density": 0.1}, joints=["arm"])))
    simulation.run(0.1)
    state = simulation.state
    simulation.run(0.3)
    expected = simulation.snapshot().measurements["JOINTS"].values.tobytes()
    simulation.restore(state)
    simulation.run(0.3)
    assert simulation.snapshot().measurements["JOINTS"].values.tobytes() == expected


def test_joints_of_a_model_are_reported_by_their_names_as_its_file_starts_them() -> None:
    """The values are those of config/worlds/arm.yaml and of the joints' order in arm.urdf."""
    world = load("arm")
    (encoders,) = (each for _, each in joint_sensors(world))
    names = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
    assert encoders.joints == tuple(f"arm/{name}" for name in names)
    positions = Simulation(world).snapshot().measurements["arm/ENCODERS"].values[0, :6]
    # An encoder's steps are 2 pi / 4096.
    np.testing.assert_allclose(positions, [0.0, 0.3, 1.4, -0.1, 0.0, 0.0], rtol=0, atol=np.pi / 4096 + 1e-9)


def joint_sensors(world: World) -> list[tuple[str, JointStates]]:
    return [
        (name, sensor)
        for group in groups_of(world)
        if group.kind == "joint_states"
        for name, sensor in zip(group.names, group.sensors, strict=True)
        if isinstance(sensor, JointStates)
    ]
