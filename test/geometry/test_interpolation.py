"""Slerp and linear interpolation of poses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation, Slerp

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.geometry.interpolation import interpolate, slerp

units = (
    arrays(np.float64, 4, elements=st.floats(-1, 1))
    .filter(lambda q: np.linalg.norm(q) > 1e-2)
    .map(lambda q: q / np.linalg.norm(q))
)
fractions = st.floats(0, 1)
IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])
# From nothing to the double of pi, where the shorter arc changes sides.
ANGLES = [0.0, 1e-300, 1e-12, 1e-9, 1.4e-8, 3e-8, 1e-7, 1e-6, 1e-4, 1.0, np.pi - 1e-9, np.pi - 1e-12, np.pi]


def random_quaternions(shape: Sequence[int], seed: int = 0) -> FloatArray:
    q = np.random.default_rng(seed).normal(size=(*shape, 4))
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))


def extended_slerp(a: Any, b: Any, u: Any) -> Any:
    """Shoemake's formula in extended precision, the angle from chords."""
    a, b, u = (np.asarray(values, dtype=np.longdouble) for values in (a, b, u))
    b = np.where(np.sum(a * b, axis=-1, keepdims=True) < 0, -b, b)
    angle = 2 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    if angle == 0:
        return a
    return (np.sin((1 - u) * angle) * a + np.sin(u * angle) * b) / np.sin(angle)


def extended_angle(a: Any, b: Any) -> float:
    """The angle of the rotation between a and b, in extended precision."""
    a, b = np.asarray(a, dtype=np.longdouble), np.asarray(b, dtype=np.longdouble)
    chords = sorted([np.linalg.norm(a - b), np.linalg.norm(a + b)])
    return float(4 * np.arctan2(chords[0], chords[1]))


@given(units, units, fractions)
def test_slerp_agrees_with_extended_precision(a: FloatArray, b: FloatArray, u: float) -> None:
    np.testing.assert_allclose(slerp(a, b, u), np.float64(extended_slerp(a, b, u)), rtol=0, atol=1e-15)


@given(units, units, fractions)
def test_slerp_agrees_with_scipy(a: FloatArray, b: FloatArray, u: float) -> None:
    expected = Slerp([0, 1], Rotation.from_quat([a, b]))(u)
    if abs(a @ b) > 1e-9:  # at half a turn both ways round are shortest
        assert extended_angle(slerp(a, b, u), expected.as_quat()) < 1e-14


@given(units, units)
def test_slerp_ends_are_exact(a: FloatArray, b: FloatArray) -> None:
    np.testing.assert_array_equal(slerp(a, b, 0.0), a)
    end = slerp(a, b, 1.0)
    assert np.array_equal(end, b) or np.array_equal(end, -b)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 31, 1000])
def test_slerp_ends_are_exact_in_batches_and_broadcasts(count: int) -> None:
    """Wherever a value falls in a vector register, and whatever the strides."""
    a, b = random_quaternions((count,)), random_quaternions((count,), seed=1)
    signed = np.where(np.sum(a * b, axis=-1, keepdims=True) < 0, -b, b)
    ends = slerp(a, b, np.array([0.0, 1.0])[:, None])
    np.testing.assert_array_equal(ends, [a, signed])
    np.testing.assert_array_equal(slerp(a[::-1], b[::-1], np.zeros(count)), a[::-1])
    np.testing.assert_array_equal(slerp(a[:, None], b[:, None], [0.0, 0.3, 1.0])[:, [0, 2]], np.stack([a, signed], 1))


@given(units, units, st.floats(-1, 2))
def test_slerp_is_unit(a: FloatArray, b: FloatArray, u: float) -> None:
    assert abs(np.linalg.norm(slerp(a, b, u).astype(np.longdouble)) - 1) < 1e-15


@given(units, units, fractions)
def test_slerp_turns_at_constant_speed_along_the_shorter_arc(a: FloatArray, b: FloatArray, u: float) -> None:
    """The angle from a grows in proportion to u, and with the angle left to b makes the whole."""
    whole = extended_angle(a, b)
    middle = slerp(a, b, u)
    assert extended_angle(a, middle) == pytest.approx(u * whole, abs=1e-14)
    assert extended_angle(middle, b) == pytest.approx((1 - u) * whole, abs=1e-14)


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("u", [0.0, 1e-9, 0.25, 0.5, 0.75, 1.0])
def test_slerp_about_one_axis_is_linear_in_the_angle(angle: float, u: float) -> None:
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    b = np.append(axis * np.sin(angle / 2), np.cos(angle / 2))
    expected = np.append(axis * np.sin(u * angle / 2), np.cos(u * angle / 2))
    # Relative to the turn itself, so a picoradian keeps its digits; one rounding of [.., 1] for the rest.
    np.testing.assert_allclose(slerp(IDENTITY, b, u)[:3], expected[:3], rtol=0, atol=5e-16 * min(1.0, angle))
    assert slerp(IDENTITY, b, u)[3] == pytest.approx(expected[3], abs=4e-16)
    np.testing.assert_allclose(abs(slerp(IDENTITY, -b, u) @ expected), 1, rtol=0, atol=1e-15)


@given(units, units, fractions)
def test_slerp_ignores_the_sign_of_b(a: FloatArray, b: FloatArray, u: float) -> None:
    if a @ b != 0.0:
        np.testing.assert_array_equal(slerp(a, b, u), slerp(a, -b, u))


def test_slerp_is_not_clipped() -> None:
    quarter = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    np.testing.assert_allclose(slerp(IDENTITY, quarter, 2.0), [0, 0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(slerp(IDENTITY, quarter, -1.0), [0, 0, -np.sqrt(0.5), np.sqrt(0.5)], atol=1e-15)


@pytest.mark.filterwarnings("error")
def test_slerp_is_silent_where_only_some_rows_are_equal() -> None:
    a = random_quaternions((4,))
    b = np.stack([a[0], -a[1], IDENTITY, a[3]])
    found = slerp(a, b, 0.3)
    np.testing.assert_allclose(found[[0, 1, 3]], a[[0, 1, 3]], rtol=0, atol=3e-16)


def test_a_batch_is_its_rows() -> None:
    a, b = random_quaternions((37,)), random_quaternions((37,), seed=1)
    pa, pb = np.hstack([a[:, :3], a]), np.hstack([b[:, 1:], b])
    u = np.linspace(0, 1, 37)
    for i in range(37):
        np.testing.assert_allclose(slerp(a, b, u)[i], slerp(a[i].tolist(), b[i].tolist(), u[i]), rtol=0, atol=3e-16)
        row = interpolate(pa[i].tolist(), pb[i].tolist(), float(u[i]))
        np.testing.assert_allclose(interpolate(pa, pb, u)[i], row, rtol=0, atol=3e-16)
        assert row.shape == (7,)
    assert slerp(a[:0], b[:0], 0.5).shape == (0, 4)
    assert slerp(a[0], b[0], u).shape == (37, 4)


@given(units, units, arrays(np.float64, (2, 3), elements=st.floats(-1e3, 1e3)), fractions)
def test_interpolate_goes_straight_and_turns_by_slerp(a: FloatArray, b: FloatArray, ends: FloatArray, u: float) -> None:
    pa, pb = np.append(ends[0], a), np.append(ends[1], b)
    found = interpolate(pa, pb, u)
    np.testing.assert_allclose(found[:3], (1 - u) * ends[0] + u * ends[1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[3:], np.float64(extended_slerp(a, b, u)), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(interpolate(pa, pb, 0.0), pa)
    np.testing.assert_array_equal(interpolate(pa, pb, 1.0)[:3], pb[:3])
    np.testing.assert_array_equal(interpolate(pa, pa, u)[:3], pa[:3])


def test_interpolate_writes_in_place_even_over_its_input() -> None:
    q = random_quaternions((2, 50))
    pa, pb = np.concatenate([q[0, :, :3], q[0]], axis=1), np.concatenate([q[1, :, :3], q[1]], axis=1)
    expected = interpolate(pa, pb, 0.25)
    out = np.empty((50, 7))
    assert interpolate(pa, pb, 0.25, out=out) is out
    np.testing.assert_array_equal(out, expected)
    assert interpolate(pa, pb, 0.25, out=pa) is pa
    np.testing.assert_array_equal(pa, expected)
