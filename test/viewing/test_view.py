"""Views beside scipy's rotations and the pinhole: where points are seen, and that a fitted view sees all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

from sim_node.viewing.view import fitted, looking

SIZE = (640, 480)
POINTS = hnp.arrays(float, st.tuples(st.integers(1, 12), st.just(3)), elements=st.floats(-50, 50))


def test_a_viewpoint_sees_what_it_looks_at_in_the_middle() -> None:
    """The middle of an even number of pixels lies between two of them."""
    view = looking(np.array([3.0, -4.0, 5.0]), np.array([1.0, 2.0, 0.5]), SIZE)
    pixels, depths = view.project(np.array([[1.0, 2.0, 0.5]]))
    np.testing.assert_allclose(pixels, [[319.5, 239.5]], atol=1e-9)
    np.testing.assert_allclose(depths, np.sqrt(4 + 36 + 20.25))


def test_pixels_are_those_of_the_pinhole() -> None:
    """Looking along y from the origin, x is to the right and z is up: column f x / y, row -f z / y from the middle."""
    view = looking(np.zeros(3), np.array([0.0, 1.0, 0.0]), SIZE, np.radians(90.0))
    pixels, depths = view.project(np.array([[1.0, 4.0, 0.5], [-2.0, 8.0, -1.0], [0.0, -1.0, 0.0]]))
    focal = 320.0
    np.testing.assert_allclose(pixels[0], [319.5 + focal / 4, 239.5 - focal / 8])
    np.testing.assert_allclose(pixels[1], [319.5 - focal / 4, 239.5 + focal / 8])
    np.testing.assert_allclose(depths, [4.0, 8.0, -1.0])


@pytest.mark.parametrize("down", [-1.0, 1.0])
def test_straight_down_and_up_north_is_up_in_the_picture(down: float) -> None:
    view = looking(np.zeros(3), np.array([0.0, 0.0, down]), SIZE)
    axes = Rotation.from_quat(view.pose[3:]).as_matrix()
    np.testing.assert_allclose(axes @ [0, 0, 1], [0, -down, 0] if down > 0 else [0, 1, 0], atol=1e-12)


@given(POINTS)
def test_the_horizon_is_level_and_axes_are_a_rotation(points: np.ndarray) -> None:
    view = fitted(points, SIZE)
    axes = Rotation.from_quat(view.pose[3:]).as_matrix()
    assert abs(axes[2, 1]) < 1e-9  # the left axis is horizontal
    assert axes[2, 2] > 0.0


@given(POINTS)
def test_a_fitted_view_has_all_points_and_no_more_room_than_it_needs(points: np.ndarray) -> None:
    """Some point is at the margin across or upwards, unless all are as near to one that nothing limits the view."""
    view = fitted(points, SIZE)
    pixels, depths = view.project(points)
    assert (depths > 0.0).all()
    relative = np.abs(pixels - [319.5, 239.5]) / [320.0, 240.0]
    assert relative.max() <= 0.88 + 1e-6
    if np.ptp(points, axis=0).max() > 1.0:
        assert relative.max() >= 0.88 - 1e-6


def test_no_view_of_its_own_eye() -> None:
    with pytest.raises(ValueError, match="the same point"):
        looking(np.ones(3), np.ones(3), SIZE)
