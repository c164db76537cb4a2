"""convert_transform: poses between pairs of conventions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.spatial.frames import AttitudeRequired, Frame, convert_position, convert_transform
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray

ENU, NED, FLU, FRD, ECEF, LLA = Frame
ORIGIN = (47.397742, 8.545594, 488.0)
angles = st.floats(-3, 3)
lengths = st.floats(-1e3, 1e3)
pose_values = st.tuples(lengths, lengths, lengths, angles, angles, angles).map(
    lambda p: np.concatenate([p[:3], Rotation.from_euler("xyz", p[3:]).as_quat()])
)


def test_hovering_north_of_home_and_looking_east() -> None:
    """10 m north, 5 m up, nose east: by hand."""
    q = Rotation.from_euler("z", 90, degrees=True).as_quat()
    found = convert_transform([10, 0, -5, *q], (NED, FRD), (ENU, FLU))
    np.testing.assert_array_equal(found[:3], (0, 10, 5))
    assert abs(found[6]) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("target", [(ENU, FLU), (ECEF, FRD), (ECEF, FLU), (ENU, FRD)])
@given(pose_values, st.tuples(lengths, lengths, lengths))
def test_a_point_on_the_vehicle_is_at_the_same_place(
    target: tuple[Frame, Frame], pose: FloatArray, point: tuple[float, float, float]
) -> None:
    """Through the pose and then converted, or converted and then through the converted pose."""
    source = (NED, FRD)
    one_way = convert_position(poses.apply(pose, point), source[0], target[0], ORIGIN)
    other = poses.apply(convert_transform(pose, source, target, ORIGIN), convert_position(point, source[1], target[1]))
    np.testing.assert_allclose(other, one_way, rtol=0, atol=1e-8)
    back = convert_transform(convert_transform(pose, source, target, ORIGIN), target, source, ORIGIN)
    np.testing.assert_allclose(back, pose, rtol=0, atol=1e-8)


def test_a_mounting() -> None:
    """A camera 0.1 m ahead, 0.02 m right, 0.05 m down, rolled 20 degrees to the right."""
    q = Rotation.from_euler("x", 20, degrees=True).as_quat()
    found = convert_transform([0.1, 0.02, 0.05, *q], (FRD, FRD), (FLU, FLU))
    np.testing.assert_array_equal(found[:3], (0.1, -0.02, -0.05))
    assert abs(found[3:] @ q) == pytest.approx(1.0, abs=1e-15)


def test_many_at_once() -> None:
    many = np.random.default_rng(3).normal(size=(4, 5, 7))
    there = convert_transform(many, (NED, FRD), (ENU, FLU))
    assert there.shape == many.shape
    np.testing.assert_allclose(there[1, 2], convert_transform(many[1, 2], (NED, FRD), (ENU, FLU)), atol=1e-15)


def test_refusals() -> None:
    pose = [0, 0, 0, 0, 0, 0, 1]
    with pytest.raises(AttitudeRequired):
        convert_transform(pose, (NED, FRD), (FLU, FLU))
    with pytest.raises(ValueError, match="LLA has no axes"):
        convert_transform(pose, (LLA, FRD), (ENU, FLU), ORIGIN)
    with pytest.raises(ValueError, match=r"pose: shape is \(6,\)"):
        convert_transform(pose[:6], (NED, FRD), (ENU, FLU))
