"""convert_covariance against explicit R C R^T."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sim_node.spatial.frames import AttitudeRequired, Frame, OriginRequired, convert_covariance, convert_velocity
from sim_node.spatial.geometry.arrays import BoolArray, FloatArray

ENU, NED, FLU, FRD, ECEF, LLA = Frame
ORIGIN = (47.4, 8.5, 400.0)


def rotation(source: Frame, target: Frame) -> FloatArray:
    """The matrix, column by column, from the conversion of the unit vectors."""
    return np.stack([convert_velocity(unit, source, target, ORIGIN) for unit in np.eye(3)], axis=1)


def two_sided(covariance: FloatArray, *blocks: FloatArray) -> FloatArray:
    turn = np.zeros(covariance.shape)
    for i, block in enumerate(blocks):
        turn[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = block
    return np.asarray(turn @ covariance @ turn.T)


def test_mavros_3x3_and_6x6() -> None:
    """MAVROS' test_frame_conversions.cpp, transform_frame__covariance3x3 and 6x6: no symmetry to hide behind."""
    np.testing.assert_array_equal(
        convert_covariance(np.arange(1.0, 10).reshape(3, 3), FRD, FLU), [(1, -2, -3), (-4, 5, 6), (-7, 8, 9)]
    )
    expected = [
        (1, -2, -3, 4, -5, -6),
        (-7, 8, 9, -10, 11, 12),
        (-13, 14, 15, -16, 17, 18),
        (19, -20, -21, 22, -23, -24),
        (-25, 26, 27, -28, 29, 30),
        (-31, 32, 33, -34, 35, 36),
    ]
    np.testing.assert_array_equal(convert_covariance(np.arange(1.0, 37).reshape(6, 6), FRD, FLU), expected)


def test_variances_follow_their_axes() -> None:
    """East's variance is the second of NED's: px4_ros_com's one-sided product would leave it where it was."""
    np.testing.assert_array_equal(convert_covariance(np.diag([1.0, 2.0, 3.0]), ENU, NED), np.diag([2.0, 1.0, 3.0]))


@pytest.mark.parametrize(("source", "target"), [(ENU, NED), (NED, ENU), (FLU, FRD), (ENU, ECEF), (ECEF, NED)])
@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_two_sided(source: Frame, target: Frame, blocks: int) -> None:
    covariance = np.random.default_rng(blocks).normal(size=(3 * blocks, 3 * blocks))
    expected = two_sided(covariance, *[rotation(source, target)] * blocks)
    found = convert_covariance(covariance, source, target, ORIGIN)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    back = convert_covariance(found, target, source, ORIGIN)
    np.testing.assert_allclose(back, covariance, rtol=0, atol=1e-14)


def test_a_frame_for_each_block() -> None:
    """VehicleOdometry's habit: position in NED, attitude errors about body axes."""
    covariance = np.random.default_rng(5).normal(size=(6, 6))
    found = convert_covariance(covariance, (NED, FRD), (ENU, FLU))
    np.testing.assert_array_equal(found, two_sided(covariance, rotation(NED, ENU), rotation(FRD, FLU)))
    mixed = convert_covariance(covariance, (NED, FRD), (ECEF, FLU), ORIGIN)
    expected = two_sided(covariance, rotation(NED, ECEF), rotation(FRD, FLU))
    np.testing.assert_allclose(mixed, expected, rtol=0, atol=1e-14)


@given(hnp.arrays(float, (6, 6), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_swaps_are_exact_and_move_nan(covariance: FloatArray) -> None:
    """Entry (i, j) goes to its axes' places with their signs, whatever it is; twice is nothing."""
    place, sign = [1, 0, 2, 4, 3, 5], [1, 1, -1, 1, 1, -1]
    found = convert_covariance(covariance, NED, ENU)
    for i in range(6):
        for j in range(6):
            np.testing.assert_equal(found[i, j] + 0.0, sign[i] * sign[j] * covariance[place[i], place[j]] + 0.0)
    np.testing.assert_array_equal(convert_covariance(found, ENU, NED), covariance)


@given(hnp.arrays(bool, (6, 6)), st.sampled_from([(0.0, 0.0), (47.4, 8.5), (90.0, 10.0), (0.0, 33.0)]))
def test_a_rotation_spreads_nan_exactly_where_it_takes_part(unknown: BoolArray, place: tuple[float, float]) -> None:
    """An entry of R C R^T is unknown if, and only if, the unknown entries change it: tried out with two values."""
    covariance = np.random.default_rng(9).normal(size=(6, 6))
    origin = (*place, 0.0)
    one = convert_covariance(
        np.where(unknown, 10.0 + np.arange(36).reshape(6, 6) ** 0.5, covariance), ENU, ECEF, origin
    )
    two = convert_covariance(
        np.where(unknown, -7.0 - np.arange(36).reshape(6, 6) ** 0.3, covariance), ENU, ECEF, origin
    )
    found = convert_covariance(np.where(unknown, np.nan, covariance), ENU, ECEF, origin)
    known = ~np.isnan(found)
    np.testing.assert_allclose(found[known], one[known], rtol=0, atol=1e-12)
    assert not (known & (np.abs(one - two) > 1e-9)).any()
    if place == (0.0, 0.0):  # a mere reordering, half of it through cos(90 degrees): nothing may spread
        assert np.isnan(found).sum() == unknown.sum()


def test_unknown_blocks_leave_the_others() -> None:
    """MAVLink's ODOMETRY: NaN from the velocity block on, the pose known."""
    covariance = np.full((9, 9), np.nan)
    covariance[:6, :6] = np.diag([1, 2, 3, 0.1, 0.2, 0.3])
    found = convert_covariance(covariance, NED, ECEF, ORIGIN)
    assert np.isfinite(found[:6, :6]).all()
    assert np.isnan(found[6:, :]).all()
    assert np.isnan(found[:, 6:]).all()


def test_any_leading_shape() -> None:
    covariance = np.random.default_rng(6).normal(size=(2, 4, 6, 6))
    for source, target in ((NED, ENU), (NED, ECEF)):
        there = convert_covariance(covariance, source, target, ORIGIN)
        one_by_one = [[convert_covariance(one, source, target, ORIGIN) for one in row] for row in covariance]
        np.testing.assert_allclose(there, one_by_one, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("flat", "side"), [(9, 3), (36, 6), (81, 9)])
def test_row_major_numbers_want_a_shape(flat: int, side: int) -> None:
    with pytest.raises(ValueError, match=rf"shape is \({flat},\).*to \(\.\.\., {side}, {side}\)"):
        convert_covariance(np.zeros(flat), NED, ENU)


def test_refusals() -> None:
    for shape in ((), (3,), (4, 4), (3, 6), (12, 12)):
        with pytest.raises(ValueError, match=r"needs .*n 3, 6 or 9"):
            convert_covariance(np.zeros(shape), NED, ENU)
    with pytest.raises(ValueError, match="2 frames for 3 blocks of a 9x9"):
        convert_covariance(np.zeros((9, 9)), (NED, FRD), (ENU, FLU))
    with pytest.raises(OriginRequired):
        convert_covariance(np.zeros((3, 3)), NED, ECEF)
    with pytest.raises(AttitudeRequired):
        convert_covariance(np.zeros((3, 3)), NED, FLU)
    with pytest.raises(ValueError, match="LLA has no axes"):
        convert_covariance(np.zeros((3, 3)), LLA, ENU)
