"""Laws of the group SE(3), and matrices from scipy as an oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray

lengths = st.floats(-100, 100)
units = (
    arrays(np.float64, 4, elements=st.floats(-1, 1))
    .filter(lambda q: np.linalg.norm(q) > 1e-2)
    .map(lambda q: q / np.linalg.norm(q))
)
rigid = st.tuples(arrays(np.float64, 3, elements=lengths), units).map(np.concatenate)
points = arrays(np.float64, (5, 3), elements=lengths)


def random_poses(count: int, seed: int = 0) -> FloatArray:
    generator = np.random.default_rng(seed)
    q = generator.normal(size=(count, 4))
    return np.hstack([generator.normal(size=(count, 3)), q / np.linalg.norm(q, axis=1, keepdims=True)])


def matrix_of(p: FloatArray) -> FloatArray:
    """The oracle: scipy's rotation matrix beside the position."""
    p = np.asarray(p)
    matrix = np.zeros((*p.shape[:-1], 4, 4))
    matrix[..., :3, :3] = Rotation.from_quat(p[..., 3:].reshape(-1, 4)).as_matrix().reshape(*p.shape[:-1], 3, 3)
    matrix[..., :3, 3] = p[..., :3]
    matrix[..., 3, 3] = 1.0
    return matrix


def assert_same_pose(a: FloatArray, b: FloatArray, atol: float = 1e-12) -> None:
    np.testing.assert_allclose(matrix_of(a), matrix_of(b), rtol=0, atol=atol)


def hat(xi: FloatArray) -> FloatArray:
    """The twist's 4 x 4 matrix: Barfoot 2017, section 7.1."""
    (vx, vy, vz), (wx, wy, wz) = xi[:3], xi[3:]
    return np.array([[0, -wz, wy, vx], [wz, 0, -wx, vy], [-wy, wx, 0, vz], [0, 0, 0, 0]])


def test_the_identity_cannot_be_changed() -> None:
    assert poses.IDENTITY.tolist() == [0, 0, 0, 0, 0, 0, 1]
    with pytest.raises(ValueError, match="read-only"):
        poses.IDENTITY[0] = 1.0


def test_position_and_orientation_are_views() -> None:
    p = random_poses(3)
    poses.position(p)[1] = [1, 2, 3]
    poses.orientation(p)[1] = [0, 0, 0, 1]
    assert p[1].tolist() == [1, 2, 3, 0, 0, 0, 1]


def test_pose_puts_position_before_quaternion_and_broadcasts() -> None:
    assert poses.pose([1, 2, 3], [0, 0, 0, 1]).tolist() == [1, 2, 3, 0, 0, 0, 1]
    assert poses.pose(np.zeros((5, 3)), [0, 0, 0, 1]).shape == (5, 7)
    assert poses.pose([0, 0, 0], np.zeros((2, 5, 4))).shape == (2, 5, 7)


@given(rigid, rigid)
def test_compose_is_the_matrix_product(a: FloatArray, b: FloatArray) -> None:
    np.testing.assert_allclose(matrix_of(poses.compose(a, b)), matrix_of(a) @ matrix_of(b), rtol=0, atol=1e-12)


@given(rigid, rigid, rigid)
def test_compose_is_associative(a: FloatArray, b: FloatArray, c: FloatArray) -> None:
    assert_same_pose(poses.compose(poses.compose(a, b), c), poses.compose(a, poses.compose(b, c)))


@given(rigid)
def test_the_identity_changes_nothing(p: FloatArray) -> None:
    np.testing.assert_array_equal(poses.compose(poses.IDENTITY, p), p)
    np.testing.assert_array_equal(poses.compose(p, poses.IDENTITY), p)


@given(rigid)
def test_invert_is_the_matrix_inverse(p: FloatArray) -> None:
    np.testing.assert_allclose(matrix_of(poses.invert(p)), np.linalg.inv(matrix_of(p)), rtol=0, atol=1e-12)
    assert_same_pose(poses.compose(p, poses.invert(p)), poses.IDENTITY)


@given(rigid, points)
def test_apply_is_the_matrix_on_homogeneous_points(p: FloatArray, cloud: FloatArray) -> None:
    expected = np.hstack([cloud, np.ones((5, 1))]) @ matrix_of(p).T
    np.testing.assert_allclose(poses.apply(p, cloud), expected[:, :3], rtol=0, atol=1e-12)


@given(rigid, rigid)
def test_relative_is_what_is_left_of_b_after_a(a: FloatArray, b: FloatArray) -> None:
    expected = np.linalg.solve(matrix_of(a), matrix_of(b))
    np.testing.assert_allclose(matrix_of(poses.relative(a, b)), expected, rtol=0, atol=1e-12)


def test_relative_keeps_micrometres_on_the_other_side_of_the_earth() -> None:
    """Two origins 1 um apart, 6378137 m out: their difference is exact (Sterbenz' lemma), its rotation nearly."""
    a = np.array([6378137.0, -6378137.0, 6378137.0, *(np.array([1, 2, 3, 4]) / np.sqrt(30))])
    b = a + np.array([2.0**-20, 0, 0, 0, 0, 0, 0])
    expected = Rotation.from_quat(a[3:]).inv().apply([2.0**-20, 0, 0])
    np.testing.assert_allclose(poses.relative(a, b)[:3], expected, rtol=0, atol=1e-21)


@given(rigid)
def test_homogeneous_round_trip(p: FloatArray) -> None:
    matrix = poses.to_homogeneous(p)
    np.testing.assert_allclose(matrix, matrix_of(p), rtol=0, atol=1e-15)
    assert_same_pose(poses.from_homogeneous(matrix), p, atol=1e-14)


@given(rigid, points, arrays(np.float64, 3, elements=st.floats(0.1, 10)))
def test_scale_acts_along_the_childs_axes_before_the_pose(p: FloatArray, cloud: FloatArray, scale: FloatArray) -> None:
    matrix = poses.to_homogeneous(p, scale)
    found = np.hstack([cloud, np.ones((5, 1))]) @ matrix.T
    expected = Rotation.from_quat(p[3:]).apply(cloud * scale) + p[:3]
    np.testing.assert_allclose(found[:, :3], expected, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(poses.to_homogeneous(p, 2.0), poses.to_homogeneous(p, [2.0, 2.0, 2.0]))


def test_from_homogeneous_refuses_what_is_not_rigid() -> None:
    with pytest.raises(ValueError, match=r"last row is \[0\.0, 0\.0, 0\.1, 1\.0\], needs \[0, 0, 0, 1\]"):
        poses.from_homogeneous(np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0.1, 1]]))
    with pytest.raises(ValueError, match="off orthonormal by 3"):
        poses.from_homogeneous(poses.to_homogeneous(poses.IDENTITY, 2.0))
    with pytest.raises(ValueError, match=r"needs \(\.\.\., 4, 4\)"):
        poses.from_homogeneous(np.eye(3))


def test_gpu_matrices_are_column_major_float32() -> None:
    """In WGSL and OpenGL the translation is in elements 12, 13, 14."""
    p = random_poses(4)
    found = poses.to_gpu(p)
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found[:, 12:15], p[:, :3].astype(np.float32))
    expected = [matrix_of(row).flatten(order="F") for row in p]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2.0**-23)
    np.testing.assert_array_equal(poses.to_gpu(poses.IDENTITY, [2, 3, 4]), np.diag([2.0, 3, 4, 1]).ravel())


@given(rigid)
def test_gpu_round_trip_to_float32(p: FloatArray) -> None:
    assert_same_pose(poses.from_gpu(poses.to_gpu(p)), p, atol=1e-5)


@given(arrays(np.float64, 6, elements=st.floats(-5, 5)))
def test_exp_is_the_matrix_exponential(xi: FloatArray) -> None:
    """scipy.linalg.expm knows nothing of screws or of small angles."""
    np.testing.assert_allclose(matrix_of(poses.exp(xi)), scipy.linalg.expm(hat(xi)), rtol=0, atol=2e-13)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-160, 1e-9, 1e-3, 0.00999999, 0.01, 0.010000001, 0.1, 1.0, 3.14])
def test_exp_and_log_are_accurate_on_both_sides_of_the_series(angle: float) -> None:
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    xi = np.concatenate([[100.0, -200.0, 300.0], axis * angle])
    p = poses.exp(xi)
    np.testing.assert_allclose(matrix_of(p), scipy.linalg.expm(hat(xi)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(poses.log(p), xi, rtol=1e-13, atol=0)


def test_a_quarter_of_a_circle() -> None:
    """Forward at 1 m/s while turning left at 1 rad/s drives a circle of radius 1 m."""
    quarter = poses.exp(np.array([1, 0, 0, 0, 0, 1]) * (np.pi / 2))
    np.testing.assert_allclose(quarter, [1, 1, 0, 0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-15)


@given(rigid)
def test_exp_inverts_log(p: FloatArray) -> None:
    assert_same_pose(poses.exp(poses.log(p)), p)


A, B, V = random_poses(37), random_poses(37, seed=2), np.random.default_rng(3).normal(size=(37, 6))
BATCHED = [
    (poses.pose, (V[:, :3], A[:, 3:])),
    (poses.position, (A,)),
    (poses.orientation, (A,)),
    (poses.compose, (A, B)),
    (poses.invert, (A,)),
    (poses.apply, (A, V[:, :3])),
    (poses.relative, (A, B)),
    (poses.to_homogeneous, (A, V[:, :3])),
    (poses.from_homogeneous, (matrix_of(A),)),
    (poses.to_gpu, (A, V[:, :3])),
    (poses.from_gpu, (np.swapaxes(matrix_of(A), 1, 2).reshape(37, 16),)),
    (poses.log, (A,)),
    (poses.exp, (V,)),
]


@pytest.mark.parametrize(("function", "inputs"), BATCHED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_batch_is_its_rows(function: Callable[..., Any], inputs: tuple[FloatArray, ...]) -> None:
    batch = function(*inputs)
    nested = function(*[np.broadcast_to(values, (2, *values.shape)) for values in inputs])
    for i in range(37):
        row = function(*[values[i].tolist() for values in inputs])
        assert batch[i].shape == row.shape
        np.testing.assert_allclose(batch[i], row, rtol=0, atol=2e-15)
        np.testing.assert_allclose(nested[1, i], row, rtol=0, atol=2e-15)
    assert function(*[values[:0] for values in inputs]).shape[0] == 0


def test_leading_axes_broadcast() -> None:
    assert poses.compose(A[:5, None], B[None, :3]).shape == (5, 3, 7)
    assert poses.relative(A[0], B).shape == (37, 7)
    assert poses.apply(A[:5, None], V[None, :3, :3]).shape == (5, 3, 3)
    with pytest.raises(ValueError, match=r"pose: shape is \(6,\), needs \(\.\.\., 7\)"):
        poses.compose(np.zeros(6), A)
