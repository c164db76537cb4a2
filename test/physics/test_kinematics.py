"""Where links are: bodies and links of models as one tree, against MuJoCo on a hand-written model and against scipy."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Drag, Geometry, Physics, StaticFrame, World, load

UTM = np.array([500_000.0, 4_600_000.0, 300.0])
BLOCK = (Geometry("box", np.array([0.2, 0.1, 0.1]), 1.0),)

GRIPPER = """
<mujoco model="gripper">
  <worldbody>
    <body name="palm" pos="0.1 0 0.2" euler="10 20 30">
      <joint name="wrist" type="ball" pos="0.01 0.02 0.03"/>
      <geom type="box" size="0.1 0.1 0.1" mass="1"/>
      <body name="finger" pos="0 0 0.3" euler="0 0 45">
        <joint name="lift" type="slide" axis="0 0 1" ref="0.05"/>
        <joint name="bend" type="hinge" axis="1 2 2" pos="0 0.05 0" ref="0.2"/>
        <geom type="box" size="0.05 0.05 0.1" mass="0.3"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
WORLD = """
world: one_tree
bodies:
  - {name: mast, pose: {position: [1, 2, 3], rpy_deg: [0, 0, 90]}, joint: {type: hinge, axis: [0, 3, 4]},
     geometry: [{box: [0.2, 0.1, 0.1], mass: 1}]}
  - {name: tool, parent: grip/finger, pose: {position: [0.05, 0, 0.1], rpy_deg: [90, 0, 0]}, joint: {type: saddle},
     geometry: [{box: [0.2, 0.1, 0.1], mass: 1}]}
frames:
  - {name: flange, parent: mast, pose: {position: [0.5, 0, 0.1], rpy_deg: [0, 45, 0]}}
include:
  - {file: gripper.xml, prefix: grip, parent: flange}
"""
# The same tree, written by hand in MuJoCo's own words.
BY_HAND = """
<mujoco>
  <worldbody>
    <body name="mast" pos="1 2 3" euler="0 0 90">
      <joint type="hinge" axis="0 0.6 0.8"/><geom size="0.1"/>
      <frame pos="0.5 0 0.1" euler="0 45 0">
        <body name="grip/palm" pos="0.1 0 0.2" euler="10 20 30">
          <joint type="ball" pos="0.01 0.02 0.03"/><geom size="0.1"/>
          <body name="grip/finger" pos="0 0 0.3" euler="0 0 45">
            <joint type="slide" axis="0 0 1" ref="0.05"/><joint type="hinge" axis="1 2 2" pos="0 0.05 0" ref="0.2"/>
            <geom size="0.1"/>
            <body name="tool" pos="0.05 0 0.1" euler="90 0 0">
              <joint type="hinge" axis="0 1 0"/><joint type="hinge" axis="0 0 1"/><geom size="0.1"/>
            </body>
          </body>
        </body>
      </frame>
    </body>
  </worldbody>
</mujoco>
"""
ANGLES = st.floats(-3.0, 3.0)


@pytest.fixture(scope="module")
def one_tree(tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    folder: Path = tmp_path_factory.mktemp("one_tree")
    (folder / "gripper.xml").write_text(GRIPPER)
    (folder / "world.yaml").write_text(WORLD)
    return Simulation(load(folder / "world.yaml"))


def at(*position: float, rotation: Rotation | None = None) -> FloatArray:
    return np.array([*position, *(rotation or Rotation.identity()).as_quat()])


@given(st.lists(ANGLES, min_size=5, max_size=5), st.lists(ANGLES, min_size=3, max_size=3))
def test_bodies_and_links_of_models_are_one_tree_as_mujoco_has_it(
    one_tree: Simulation, numbers: list[float], turn: list[float]
) -> None:
    wrist = Rotation.from_rotvec(turn).as_quat()
    values = {
        "mast": numbers[0],
        "grip/wrist": wrist,
        "grip/lift": numbers[1],
        "grip/bend": numbers[2],
        "tool": numbers[3:],
    }
    for name, value in values.items():
        one_tree.joints[name].position = value
    rooted = one_tree.frames.in_root(one_tree.snapshot().poses)

    model = mujoco.MjModel.from_xml_string(BY_HAND)
    data = mujoco.MjData(model)
    data.qpos[:] = [numbers[0], *wrist[[3, 0, 1, 2]], *numbers[1:]]
    mujoco.mj_forward(model, data)
    for name in ("mast", "grip/palm", "grip/finger", "tool"):
        found = rooted[one_tree.frames.index(name)]
        np.testing.assert_allclose(found[:3], data.body(name).xpos, atol=1e-12)
        difference = Rotation.from_quat(found[3:]).inv() * Rotation.from_matrix(data.body(name).xmat.reshape(3, 3))
        assert difference.magnitude() < 1e-12


@pytest.mark.parametrize(("origin", "precision"), [(np.zeros(3), 1e-12), (UTM, 1e-8)])
def test_a_chain_is_as_precise_as_the_distance_from_the_origin_allows(origin: FloatArray, precision: float) -> None:
    """scipy's rotations, joint after joint, each in its own parent: nothing far away enters the expected value."""
    random = np.random.default_rng(8)
    frames = (StaticFrame("site", "map", at(*origin.tolist(), rotation=Rotation.from_rotvec([0.1, 0.2, 0.3])), None),)
    bodies, expected, parent = [], {}, "site"
    for k in range(10):
        q, axis = float(random.uniform(-2.0, 2.0)), random.standard_normal(3)
        axis /= np.linalg.norm(axis)
        mount = at(*random.uniform(-1.0, 1.0, 3).tolist(), rotation=Rotation.from_rotvec(random.standard_normal(3)))
        kind = "slide" if k % 3 == 2 else "hinge"
        bodies.append(Body(f"b{k}", parent, kind, mount, np.array([axis]), BLOCK, q=np.array([q])))
        expected[f"b{k}"] = (
            at(*(q * axis).tolist()) if kind == "slide" else at(0, 0, 0, rotation=Rotation.from_rotvec(q * axis))
        )
        parent = f"b{k}"
    simulation = Simulation(World("chain", frames=frames, bodies=tuple(bodies)))
    poses = simulation.snapshot().poses
    for name, pose in expected.items():
        found = poses[simulation.frames.index(name)]
        np.testing.assert_allclose(found[:3], pose[:3], atol=precision)
        assert (Rotation.from_quat(found[3:]).inv() * Rotation.from_quat(pose[3:])).magnitude() < 1e-12


def test_fixed_links_keep_their_stated_pose_to_the_bit() -> None:
    pose = at(0.1, 0.2, 0.3, rotation=Rotation.from_rotvec([0.4, 0.5, 0.6]))
    world = World(
        "fixed",
        frames=(StaticFrame("site", "map", at(*UTM.tolist()), None), StaticFrame("mark", "arm", pose, None)),
        bodies=(
            Body("arm", "site", "hinge", pose, np.array([[0.0, 1.0, 0.0]]), BLOCK),
            Body("box", "mark", pose=pose, geometry=BLOCK),
        ),
    )
    simulation = Simulation(world)
    for _ in range(50):
        simulation.step()
        poses = simulation.snapshot().poses
        for name in ("mark", "box", "arm/joint"):
            assert poses[simulation.frames.index(name)].tobytes() == pose.tobytes()


def test_a_look_at_another_pose_does_not_enter_the_next_step() -> None:
    """Sensors evaluate the dynamics, and the next step goes on from that, whatever was looked at in between."""
    ball = Body("ball", "map", "free", geometry=BLOCK, qd=np.array([1.0, 0, 0, 0.1, 0.2, 3]))
    drag, physics = Drag("ball", quadratic=np.array([0.1, 0.2, 0.3])), Physics(integrator="euler")
    world = World("looks", bodies=(ball,), forces=(drag,), physics=physics)
    left, right = Simulation(world), Simulation(world)
    for _ in range(5):
        for simulation in (left, right):
            simulation.observer(["ball"])()
        kept = left.columns["qpos"].copy()
        left.bodies["ball"].pose = [7, 8, 9, 0, 0, 0.6, 0.8]
        assert left.snapshot().poses[left.frames.index("ball")] == pytest.approx([7, 8, 9, 0, 0, 0.6, 0.8])
        left.columns["qpos"][:] = kept
        left.step()
        right.step()
    assert left.state == right.state
    assert left.snapshot().poses.tobytes() == right.snapshot().poses.tobytes()
