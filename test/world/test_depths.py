"""How far shapes reach down, beside MuJoCo's support functions."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.spatial.geometry import quaternions
from sim_node.world.shapes import Geometry, depth_below

SIZES = {"box": (0.3, 0.5, 0.7), "sphere": (0.4,), "cylinder": (0.2, 0.9), "capsule": (0.2, 0.9)}
SIZES["ellipsoid"] = (0.2, 0.3, 0.6)
NUMBER = st.floats(-1.0, 1.0)


@given(st.sampled_from(sorted(SIZES)), st.tuples(*4 * [NUMBER]).filter(lambda q: np.linalg.norm(q) > 0.1), NUMBER)
def test_shapes_reach_as_far_down_as_mujocos_are_above_a_plane(
    shape: str, turned: tuple[float, float, float, float], height: float
) -> None:
    """mj_geomDistance of the shape to a box far below whose top is flat."""
    pose = np.array([0.1, -0.2, height, *quaternions.normalise(np.array(turned))])
    size = np.array(SIZES[shape])
    spec = mujoco.MjSpec()
    spec.option.ccd_tolerance, spec.option.ccd_iterations = 1e-10, 200
    # MuJoCo has half the lengths.
    factors = {"box": [0.5, 0.5, 0.5], "cylinder": [1, 0.5], "capsule": [1, 0.5]}.get(shape, np.ones(len(size)))
    halved = size * factors
    turn = pose[[6, 3, 4, 5]]
    kind = getattr(mujoco.mjtGeom, f"mjGEOM_{shape.upper()}")
    spec.worldbody.add_geom(type=kind, size=np.pad(halved, (0, 3 - len(halved))), pos=pose[:3], quat=turn)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[5, 5, 1], pos=[0, 0, -4])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    above = mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None)
    assert 3.0 - depth_below([Geometry(shape, size, pose=pose)]) == pytest.approx(above, abs=1e-5)


def test_shapes_without_contact_do_not_count() -> None:
    below = np.array([0, 0, -2, 0, 0, 0, 1.0])
    shown = Geometry("sphere", np.array([0.5]), pose=below, only="visual")
    legs = Geometry("sphere", np.array([0.5]), pose=np.array([0, 0, -0.25, 0, 0, 0, 1.0]))
    assert depth_below([shown, Geometry("plane", np.zeros(0), pose=below), legs]) == 0.75
    assert depth_below([shown]) == 0.0
