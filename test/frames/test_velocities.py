"""convert_velocity: vectors without a place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pymap3d
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.spatial.frames import AttitudeRequired, Frame, OriginRequired, convert_velocity

ENU, NED, FLU, FRD, ECEF, LLA = Frame
vectors = st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=3, max_size=3)
origins = st.tuples(st.floats(-90, 90), st.floats(-180, 180), st.floats(-1e4, 1e6))


@given(vectors)
def test_swaps_are_exact(v: Sequence[float]) -> None:
    """MAVROS' transform_static_frame, NaN-safe: each component goes alone."""
    x, y, z = v
    np.testing.assert_array_equal(convert_velocity(v, NED, ENU), (y, x, -z))
    np.testing.assert_array_equal(convert_velocity(v, ENU, NED), (y, x, -z))
    np.testing.assert_array_equal(convert_velocity(v, FRD, FLU), (x, -y, -z))
    np.testing.assert_array_equal(convert_velocity(v, FLU, FRD), (x, -y, -z))


def test_mavros_ecef() -> None:
    """MAVROS' test_frame_conversions.cpp: ecef_to_enu_123_00, _4030 and enu_to_ecef_123_4030."""
    np.testing.assert_allclose(convert_velocity((1, 2, 3), ECEF, ENU, (0, 0, 0)), (2, 3, 1), atol=1e-15)
    there = convert_velocity((1, 2, 3), ECEF, ENU, (40, 30, 0))
    np.testing.assert_allclose(there, (1.23205080756887, 1.09867532044397, 3.35782122034753), atol=1e-14)
    back = convert_velocity((1, 2, 3), ENU, ECEF, (40, 30, 0))
    np.testing.assert_allclose(back, (0.3769010460539777, 1.37230445877637, 3.46045171529757), atol=1e-14)


@given(origins, st.lists(st.floats(-1e4, 1e4), min_size=3, max_size=3))
def test_pymap3d_vectors(origin: tuple[float, float, float], v: Sequence[float]) -> None:
    x, y, z = pymap3d.enu2uvw(*v, origin[0], origin[1])
    np.testing.assert_allclose(convert_velocity(v, ENU, ECEF, origin), (x, y, z), rtol=0, atol=2e-11)
    ned = (v[1], v[0], -v[2])
    np.testing.assert_allclose(convert_velocity(ned, NED, ECEF, origin), (x, y, z), rtol=0, atol=2e-11)
    np.testing.assert_allclose(convert_velocity((x, y, z), ECEF, NED, origin), ned, rtol=0, atol=3e-11)


@given(origins, st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3))
def test_lengths_stay(origin: tuple[float, float, float], v: Sequence[float]) -> None:
    there = convert_velocity(v, ECEF, ENU, origin)
    assert np.linalg.norm(there) == pytest.approx(np.linalg.norm(v), rel=1e-14, abs=1e-100)


@pytest.mark.parametrize(("a", "b"), [(ENU, NED), (FLU, FRD), (ENU, ECEF), (NED, ECEF)])
def test_any_leading_shape(a: Frame, b: Frame) -> None:
    v = np.random.default_rng(1).normal(size=(2, 5, 3))
    for source, target in ((a, b), (b, a)):
        there = convert_velocity(v, source, target, (47, 8, 0))
        one_by_one = [[convert_velocity(one, source, target, (47, 8, 0)) for one in row] for row in v]
        np.testing.assert_allclose(there, one_by_one, rtol=0, atol=1e-15)
        assert not np.shares_memory(convert_velocity(v, source, source), v)


def test_refusals() -> None:
    with pytest.raises(OriginRequired, match="ECEF to NED needs origin"):
        convert_velocity((1, 2, 3), ECEF, NED)
    with pytest.raises(AttitudeRequired, match="NED to FRD depends on the vehicle's attitude"):
        convert_velocity((1, 2, 3), NED, FRD)
    with pytest.raises(AttitudeRequired):
        convert_velocity((1, 2, 3), FLU, ECEF, (0, 0, 0))
    with pytest.raises(ValueError, match=r"LLA has no axes.*NED or ENU at the fix"):
        convert_velocity((1, 2, 3), LLA, ENU, (0, 0, 0))
    with pytest.raises(TypeError, match="'NED' is not a Frame"):
        convert_velocity((1, 2, 3), "NED", ENU)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"velocity: shape is \(4,\)"):
        convert_velocity((1, 2, 3, 4), NED, ENU)
