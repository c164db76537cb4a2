"""The algebra that kernels are compiled with, against scipy's rotations and homogeneous matrices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.geometry.pose_kernels import (
    IDENTITY,
    as_pose,
    axes,
    compose,
    cross,
    invert,
    multiply,
    relative,
    rotate,
    write_pose,
)

Row = tuple[float, ...]
SMALL = st.floats(-10.0, 10.0)
VECTORS = st.tuples(SMALL, SMALL, SMALL)
QUATERNIONS = st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)
TURNS = QUATERNIONS.map(lambda q: tuple((np.array(q) / np.linalg.norm(q)).tolist()))
POSES = st.builds(lambda v, q: v + q, VECTORS, TURNS)


def matrix(pose: Row) -> npt.NDArray[np.float64]:
    whole = np.eye(4)
    whole[:3, :3], whole[:3, 3] = Rotation.from_quat(pose[3:]).as_matrix(), pose[:3]
    return whole


@given(TURNS, TURNS, VECTORS, VECTORS)
def test_rotations_are_those_of_scipy(p: Row, q: Row, v: Row, w: Row) -> None:
    turn = Rotation.from_quat(q)
    np.testing.assert_allclose(rotate(*q, *v), turn.apply(v), atol=1e-13)
    np.testing.assert_allclose(np.reshape(axes(*q), (3, 3)), turn.as_matrix(), atol=1e-14)
    product = Rotation.from_quat(multiply(*p, *q)).as_matrix()
    np.testing.assert_allclose(product, (Rotation.from_quat(p) * turn).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(cross(*v, *w), np.cross(v, w), atol=1e-12)


@given(POSES, POSES)
def test_poses_are_homogeneous_matrices(a: Row, b: Row) -> None:
    np.testing.assert_allclose(matrix(compose(a, b)), matrix(a) @ matrix(b), atol=1e-12)
    np.testing.assert_allclose(matrix(invert(a)), np.linalg.inv(matrix(a)), atol=1e-12)
    np.testing.assert_allclose(matrix(relative(a, b)), np.linalg.inv(matrix(a)) @ matrix(b), atol=1e-12)
    np.testing.assert_array_equal(matrix(IDENTITY), np.eye(4))


@given(POSES)
def test_rows_are_read_and_written_to_the_bit(pose: Row) -> None:
    row = np.zeros(7)
    write_pose(row, pose)
    assert as_pose(row) == pose
