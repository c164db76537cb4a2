"""The algebra that kernels are compiled with, against scipy's rotations and homogeneous matrices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from sim_node.spatial.geometry.pose_kernels import (
    IDENTITY,
    as_pose,
    axes,
    compose,
    cross,
    exp,
    invert,
    log,
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


@given(st.builds(lambda v, w: v + w, VECTORS, VECTORS))
@example((1.0, -2.0, 3.0, 0.0, 0.0, 0.0))
@example((1.0, -2.0, 3.0, 2e-3, -1e-3, 3e-3))
def test_exponentials_are_those_of_the_matrix(v: Row) -> None:
    """Of se(3), by scaling and squaring; within half a turn the logarithm leads back."""
    x, y, z, a, b, c = v
    moved = expm(np.array([[0.0, -c, b, x], [c, 0.0, -a, y], [-b, a, 0.0, z], [0.0, 0.0, 0.0, 0.0]]))
    pose = exp(*v)
    np.testing.assert_allclose(matrix(pose), moved, atol=1e-12)
    if np.linalg.norm(v[3:]) < 3.1:
        np.testing.assert_allclose(log(pose), v, atol=1e-11)
        np.testing.assert_allclose(log((*pose[:3], *(-q for q in pose[3:]))), v, atol=1e-11)
