"""Quaternion laws, and values from transforms3d (scalar first) and scipy (scalar last)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import transforms3d
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray

ROOT = np.sqrt(0.5)
SPECIAL = [
    [0.0, 0.0, 0.0, 1.0],
    [0.0, 0.0, 0.0, -1.0],
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, -1.0, 0.0],
    [0.0, ROOT, 0.0, ROOT],
    [0.5, -0.5, 0.5, 0.5],
    [ROOT, ROOT, 0.0, 0.0],
    [5e-13, 0.0, 0.0, 1.0],
    [1.0, 0.0, 0.0, 1e-12],
]


def unit(rows: npt.ArrayLike) -> FloatArray:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def random_quaternions(count: int, seed: int = 0) -> FloatArray:
    return unit(np.random.default_rng(seed).normal(size=(count, 4)))


general = arrays(np.float64, 4, elements=st.floats(-1, 1)).filter(lambda q: np.linalg.norm(q) > 1e-2)
units = st.one_of(general.map(unit), st.sampled_from(SPECIAL).map(np.array))
vectors = arrays(np.float64, 3, elements=st.floats(-1e3, 1e3))
angles = st.floats(-np.pi, np.pi)


def to_wxyz(q: FloatArray) -> FloatArray:
    return np.roll(q, 1, axis=-1)


def turn(q: npt.NDArray[Any]) -> Any:
    """The rotation angle of q in extended precision, an oracle beside the double precision code."""
    q = np.asarray(q, dtype=np.longdouble)
    return 2 * np.arctan2(np.sqrt(np.sum(q[..., :3] ** 2, axis=-1)), np.abs(q[..., 3]))


def extended_relative(a: FloatArray, b: FloatArray) -> npt.NDArray[Any]:
    """conj(a) b in extended precision."""
    (ax, ay, az, aw), (bx, by, bz, bw) = (np.moveaxis(np.asarray(q, np.longdouble), -1, 0) for q in (a, b))
    return np.stack(
        [
            aw * bx - ax * bw - ay * bz + az * by,
            aw * by + ax * bz - ay * bw - az * bx,
            aw * bz - ax * by + ay * bx - az * bw,
            aw * bw + ax * bx + ay * by + az * bz,
        ],
        axis=-1,
    )


def assert_same_rotation(a: FloatArray, b: npt.ArrayLike, atol: float = 1e-14) -> None:
    sign = np.where(np.sum(np.asarray(a) * np.asarray(b), axis=-1, keepdims=True) < 0, -1, 1)
    np.testing.assert_allclose(a, sign * np.asarray(b), rtol=0, atol=atol)


def test_the_units_multiply_as_hamilton_carved_them() -> None:
    """i^2 = j^2 = k^2 = ijk = -1, and ij = k."""
    i, j, k, one = np.eye(4)
    for square in (
        quaternions.multiply(i, i),
        quaternions.multiply(j, j),
        quaternions.multiply(k, k),
        quaternions.multiply(quaternions.multiply(i, j), k),
    ):
        np.testing.assert_array_equal(square, -one)
    np.testing.assert_array_equal(quaternions.multiply(i, j), k)


@given(general, general)
def test_multiply_agrees_with_transforms3d(a: FloatArray, b: FloatArray) -> None:
    expected = transforms3d.quaternions.qmult(to_wxyz(a), to_wxyz(b))
    np.testing.assert_allclose(to_wxyz(quaternions.multiply(a, b)), expected, rtol=0, atol=1e-15)


@given(general, general, general)
def test_multiply_is_associative(a: FloatArray, b: FloatArray, c: FloatArray) -> None:
    left = quaternions.multiply(quaternions.multiply(a, b), c)
    np.testing.assert_allclose(left, quaternions.multiply(a, quaternions.multiply(b, c)), rtol=0, atol=2e-14)


@given(general)
def test_inverse_of_any_norm_multiplies_to_the_identity(q: FloatArray) -> None:
    np.testing.assert_allclose(quaternions.multiply(q, quaternions.inverse(q)), [0, 0, 0, 1], rtol=0, atol=1e-14)
    np.testing.assert_allclose(quaternions.multiply(quaternions.inverse(q), q), [0, 0, 0, 1], rtol=0, atol=1e-14)


@given(units)
def test_conjugate_inverts_a_unit_quaternion(q: FloatArray) -> None:
    np.testing.assert_allclose(quaternions.conjugate(q), quaternions.inverse(q), rtol=0, atol=1e-15)


@given(general, st.floats(1e-100, 1e100))
def test_normalise_drops_the_norm_and_keeps_the_direction(q: FloatArray, factor: float) -> None:
    np.testing.assert_allclose(quaternions.normalise(q * factor), unit(q), rtol=0, atol=1e-15)


@pytest.mark.parametrize("function", [quaternions.normalise, quaternions.inverse])
@pytest.mark.parametrize("bad", [[0, 0, 0, 0], [np.nan, 0, 0, 1], [np.inf, 0, 0, 1]])
def test_a_quaternion_without_direction_is_refused_by_row(function: Callable[..., Any], bad: Sequence[float]) -> None:
    with pytest.raises(ValueError, match=r"quaternion: \[.*needs a finite norm above zero"):
        function(bad)
    with pytest.raises(ValueError, match=r"quaternion\[1, 0\]"):
        function([[[0, 0, 0, 1]], [bad]])


@pytest.mark.parametrize("bad", [[0, 0, 1], 1.0, np.zeros((4, 3))])
def test_a_wrong_shape_is_refused(bad: float | npt.ArrayLike) -> None:
    with pytest.raises(ValueError, match=r"quaternion: shape is .*needs \(\.\.\., 4\)"):
        quaternions.multiply(bad, [0, 0, 0, 1])


@given(units, vectors)
def test_rotate_agrees_with_scipy(q: FloatArray, v: FloatArray) -> None:
    expected = Rotation.from_quat(q).apply(v)
    np.testing.assert_allclose(quaternions.rotate(q, v), expected, rtol=0, atol=1e-14 * (1 + np.linalg.norm(v)))


@given(units, units, vectors)
def test_rotate_is_a_homomorphism(a: FloatArray, b: FloatArray, v: FloatArray) -> None:
    """rotate(a b, v) = rotate(a, rotate(b, v))."""
    left = quaternions.rotate(quaternions.multiply(a, b), v)
    right = quaternions.rotate(a, quaternions.rotate(b, v))
    np.testing.assert_allclose(left, right, rtol=0, atol=1e-14 * (1 + np.linalg.norm(v)))


def test_a_quarter_turn_about_up_takes_forward_to_left() -> None:
    """Right-handed in FLU: x (forward) goes to y (left)."""
    np.testing.assert_allclose(quaternions.rotate([0, 0, ROOT, ROOT], [1, 0, 0]), [0, 1, 0], atol=1e-15)


@given(units)
def test_to_matrix_agrees_with_scipy_and_transforms3d(q: FloatArray) -> None:
    matrix = quaternions.to_matrix(q)
    np.testing.assert_allclose(matrix, Rotation.from_quat(q).as_matrix(), rtol=0, atol=2e-15)
    np.testing.assert_allclose(matrix, transforms3d.quaternions.quat2mat(to_wxyz(q)), rtol=0, atol=2e-15)


@given(units)
def test_from_matrix_inverts_scipys_matrix(q: FloatArray) -> None:
    found = quaternions.from_matrix(Rotation.from_quat(q).as_matrix())
    assert_same_rotation(found, q, atol=1e-15)
    assert found[3] >= 0.0


@pytest.mark.parametrize(
    "axis", unit(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, -2, 3], [-3, 1e-5, 1]]))
)
@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1.0, np.pi / 2, 2 * np.pi / 3, np.pi - 1e-8, np.pi])
def test_from_matrix_is_accurate_for_every_trace(axis: FloatArray, angle: float) -> None:
    """Rodrigues' formula from transforms3d against the half-angle definition of the quaternion."""
    matrix = transforms3d.axangles.axangle2mat(axis, angle)
    expected = np.append(axis * np.sin(angle / 2), np.cos(angle / 2))
    assert_same_rotation(quaternions.from_matrix(matrix), expected, atol=4e-16)


def test_from_matrix_refuses_what_is_no_rotation() -> None:
    with pytest.raises(ValueError, match=r"rotation matrix: is a reflection"):
        quaternions.from_matrix(np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(ValueError, match=r"rotation matrix\[1\]: is off orthonormal by 0\.21"):
        quaternions.from_matrix([np.eye(3), np.diag([1.0, 1.1, 1.0])])
    with pytest.raises(ValueError, match=r"needs \(\.\.\., 3, 3\)"):
        quaternions.from_matrix(np.eye(4))
    with pytest.raises(ValueError, match=r"off orthonormal by nan"):
        quaternions.from_matrix(np.full((3, 3), np.nan))
    assert_same_rotation(quaternions.from_matrix(np.diag([1.0, 1.1, 1.0]), tolerance=0.25), [0, 0, 0, 1], atol=0.1)


def test_from_matrix_takes_float32() -> None:
    qs = random_quaternions(200)
    found = quaternions.from_matrix(Rotation.from_quat(qs).as_matrix().astype(np.float32))
    assert_same_rotation(found, qs, atol=2e-7)


@given(vectors.filter(lambda v: np.linalg.norm(v) > 1e-3), st.floats(-7, 7))
def test_from_axis_angle_agrees_with_transforms3d(axis: FloatArray, angle: float) -> None:
    expected = transforms3d.quaternions.axangle2quat(axis, angle)
    np.testing.assert_allclose(to_wxyz(quaternions.from_axis_angle(axis, angle)), expected, rtol=0, atol=1e-15)


def test_from_axis_angle_refuses_a_zero_axis() -> None:
    with pytest.raises(ValueError, match=r"axis\[1\]: \[0\.0, 0\.0, 0\.0\] has no direction"):
        quaternions.from_axis_angle([[1, 0, 0], [0, 0, 0]], 1.0)


@given(vectors.filter(lambda v: np.linalg.norm(v) > 1e-3).map(unit), st.floats(1e-12, np.pi))
def test_axis_angle_round_trip(axis: FloatArray, angle: float) -> None:
    found_axis, found_angle = quaternions.to_axis_angle(quaternions.from_axis_angle(axis, angle))
    assert found_angle == pytest.approx(angle, rel=1e-15, abs=0)
    opposite = np.sign(found_axis @ axis) if angle > np.pi - 1e-15 else 1.0
    np.testing.assert_allclose(found_axis, opposite * axis, rtol=0, atol=1e-15)


def test_axis_angle_of_nothing_and_of_next_to_nothing() -> None:
    axis, angle = quaternions.to_axis_angle([0, 0, 0, -1])
    assert (axis.tolist(), float(angle)) == ([1, 0, 0], 0)
    axis, angle = quaternions.to_axis_angle([0, 1e-170, 0, 1])
    assert (axis.tolist(), float(angle)) == ([0, 1, 0], 2e-170)


@given(units)
def test_to_rpy_describes_the_same_rotation(q: FloatArray) -> None:
    roll, pitch, yaw = quaternions.to_rpy(q)
    assert_same_rotation(Rotation.from_euler("xyz", [roll, pitch, yaw]).as_quat(), q, atol=3e-12)
    assert abs(pitch) <= np.pi / 2
    assert max(abs(roll), abs(yaw)) <= np.pi


@given(angles, st.floats(-1.57, 1.57), angles)
def test_to_rpy_inverts_scipys_euler_angles(roll: float, pitch: float, yaw: float) -> None:
    found = quaternions.to_rpy(Rotation.from_euler("xyz", [roll, pitch, yaw]).as_quat())
    difference = found - [roll, pitch, yaw]
    difference -= 2 * np.pi * np.round(difference / (2 * np.pi))
    np.testing.assert_allclose(difference, 0, atol=2e-12)  # conditioned by 1/cos(pitch), 1250 at the most


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
def test_pitch_keeps_its_digits_next_to_the_gimbal_lock(distance: float) -> None:
    """An arcsine would return pi/2 - 1e-8 or pi/2, whatever the distance below that."""
    q = Rotation.from_euler("xyz", [0.3, np.pi / 2 - distance, -0.4]).as_quat()
    assert np.pi / 2 - quaternions.to_rpy(q)[1] == pytest.approx(distance, abs=1e-15)


@pytest.mark.parametrize(("pitch", "yaw"), [(np.pi / 2, -0.7), (-np.pi / 2, 0.3)])
def test_at_the_gimbal_lock_yaw_holds_the_whole_turn(pitch: float, yaw: float) -> None:
    """Roll 0.5 with yaw -0.2: only yaw -+ roll is defined, roll comes back as zero."""
    q = Rotation.from_euler("xyz", [0.5, pitch, -0.2]).as_quat()
    np.testing.assert_allclose(quaternions.to_rpy(q), [0.0, pitch, yaw], rtol=0, atol=1e-15)


@given(units)
def test_log_agrees_with_scipy(q: FloatArray) -> None:
    expected = Rotation.from_quat(q).as_rotvec()
    found = quaternions.log(q)
    if np.linalg.norm(expected) > np.pi - 1e-9 and found @ expected < 0:
        found = -found
    np.testing.assert_allclose(found, expected, rtol=0, atol=4e-15)


@given(arrays(np.float64, 3, elements=st.floats(-20, 20)))
def test_exp_agrees_with_scipy(v: FloatArray) -> None:
    assert_same_rotation(quaternions.exp(v), Rotation.from_rotvec(v).as_quat(), atol=4e-15)


@given(vectors.filter(lambda v: np.linalg.norm(v) > 1e-3).map(unit), st.floats(1e-6, np.pi - 1e-9))
def test_log_inverts_exp_down_to_the_smallest_turn(axis: FloatArray, angle: float) -> None:
    for turn_angle in (angle, angle * 1e-12, angle * 1e-150):
        v = axis * turn_angle
        np.testing.assert_allclose(quaternions.log(quaternions.exp(v)), v, rtol=1e-14, atol=1e-15 * turn_angle)


@given(units)
def test_log_does_not_know_the_sign(q: FloatArray) -> None:
    if q[3] != 0.0:
        np.testing.assert_array_equal(quaternions.log(q), quaternions.log(-q))


@pytest.mark.parametrize("angle", [0.0, 1e-100, 1e-12, 1e-8, 1.0, 3.0, np.pi - 1e-8, np.pi - 1e-12, np.pi])
def test_angle_between_rotations_about_one_axis_is_the_difference(angle: float) -> None:
    other = np.array([np.sin(angle / 2), 0.0, 0.0, np.cos(angle / 2)])
    assert quaternions.angle_between([0, 0, 0, 1], other) == pytest.approx(angle, rel=4e-16, abs=0)
    assert quaternions.angle_between([0, 0, 0, -1], other) == pytest.approx(angle, rel=4e-16, abs=0)


@given(units, units)
def test_angle_between_agrees_with_extended_precision(a: FloatArray, b: FloatArray) -> None:
    expected = float(turn(extended_relative(a, b)))
    assert float(quaternions.angle_between(a, b)) == pytest.approx(expected, rel=1e-14, abs=1e-15)


@given(units, units)
def test_aligned_is_the_same_rotation_in_the_hemisphere(q: FloatArray, reference: FloatArray) -> None:
    found = quaternions.aligned(q, reference)
    assert found @ reference >= 0.0
    assert np.array_equal(found, q) or np.array_equal(found, -q)


def test_continuous_undoes_random_sign_flips() -> None:
    """A slow turn, its signs scrambled, comes back as it was drawn."""
    half = np.linspace(0.0, 4 * np.pi, 200)
    drawn = np.stack([0.6 * np.sin(half), 0.8 * np.sin(half), 0 * half, np.cos(half)], axis=-1)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=200)
    signs[0] = 1.0
    scrambled = drawn * signs[:, None]
    before = scrambled.copy()
    np.testing.assert_array_equal(quaternions.continuous(scrambled), drawn)
    np.testing.assert_array_equal(scrambled, before)
    np.testing.assert_array_equal(quaternions.continuous(drawn[:1]), drawn[:1])


def columns(function: Callable[..., Any], inputs: Sequence[Any]) -> tuple[Any, ...]:
    result = function(*inputs)
    return result if isinstance(result, tuple) else (result,)


A, B, V = random_quaternions(37), random_quaternions(37, seed=2), np.random.default_rng(3).normal(size=(37, 3))
BATCHED = [
    (quaternions.multiply, (A, B)),
    (quaternions.conjugate, (A,)),
    (quaternions.inverse, (2.0 * A,)),
    (quaternions.normalise, (2.0 * A,)),
    (quaternions.rotate, (A, V)),
    (quaternions.to_matrix, (A,)),
    (quaternions.from_matrix, (Rotation.from_quat(A).as_matrix(),)),
    (quaternions.from_axis_angle, (V, V[:, 0])),
    (quaternions.to_axis_angle, (A,)),
    (quaternions.to_rpy, (A,)),
    (quaternions.log, (A,)),
    (quaternions.exp, (V,)),
    (quaternions.angle_between, (A, B)),
    (quaternions.aligned, (A, B)),
]


@pytest.mark.parametrize(("function", "inputs"), BATCHED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_batch_is_its_rows(function: Callable[..., Any], inputs: tuple[FloatArray, ...]) -> None:
    batch = columns(function, inputs)
    nested = columns(function, [np.broadcast_to(values, (2, *values.shape)) for values in inputs])
    for i in range(37):
        for whole, double, row in zip(batch, nested, columns(function, [x[i].tolist() for x in inputs]), strict=True):
            np.testing.assert_allclose(whole[i], row, rtol=0, atol=1e-15)
            np.testing.assert_allclose(double[1, i], row, rtol=0, atol=1e-15)
            assert whole[i].shape == row.shape
    for empty in columns(function, [values[:0] for values in inputs]):
        assert empty.shape[0] == 0


def test_leading_axes_broadcast() -> None:
    product = quaternions.multiply(A[:5, None], B[None, :3])
    assert product.shape == (5, 3, 4)
    np.testing.assert_array_equal(product[4, 2], quaternions.multiply(A[4], B[2]))
    assert quaternions.rotate(A[0], V).shape == (37, 3)
    assert quaternions.rotate(A, V[0]).shape == (37, 3)
    assert quaternions.from_axis_angle([0, 0, 1], np.zeros(6)).shape == (6, 4)
