"""Tagged values refuse to mix, and name both."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_node.spatial.frames import (
    Altitude,
    Frame,
    FrameMismatch,
    Orientation,
    OriginRequired,
    Position,
    Velocity,
    VerticalDatum,
)

ENU, NED, FLU, FRD, ECEF, LLA = Frame
ZURICH, BERN = (47.397742, 8.545594, 488.0), (46.948, 7.4474, 540.0)


def test_from_the_door_to_the_house() -> None:
    position = Position([1, 2, 3], NED).to(ENU)
    np.testing.assert_array_equal(position.in_frame(ENU), (2, 1, -3))
    velocity = Velocity([1, 2, 3], FRD).to(FLU)
    np.testing.assert_array_equal(velocity.in_frame(FLU), (1, -2, -3))
    orientation = Orientation([0, 0, 0, 1], (NED, FRD)).to(ENU, FLU)
    assert orientation.in_frames(ENU, FLU).shape == (4,)


def test_the_wrong_frame_is_a_type_error_that_names_both() -> None:
    with pytest.raises(FrameMismatch, match="position is in NED, ENU was expected"):
        Position([1, 2, 3], NED).in_frame(ENU)
    with pytest.raises(FrameMismatch, match="velocity is in FRD, FLU was expected"):
        Velocity([1, 2, 3], FRD).in_frame(FLU)
    with pytest.raises(FrameMismatch, match="orientation is of FRD in NED, FLU in ENU was expected"):
        Orientation([0, 0, 0, 1], (NED, FRD)).in_frames(ENU, FLU)
    assert issubclass(FrameMismatch, TypeError)


def test_displacements() -> None:
    way = Position([[3, 2, 1]], ENU) - Position([1, 1, 1], ENU)
    np.testing.assert_array_equal(way.in_frame(ENU), [[2, 1, 0]])
    np.testing.assert_array_equal(way.to(NED).in_frame(NED), [[1, 2, 0]])
    assert Position([1, 1, 1], ENU) + way == Position([[3, 2, 1]], ENU)
    assert (0.5 * way - way) / 2 == -way * 0.25
    with pytest.raises(FrameMismatch, match="position in NED and displacement in ENU"):
        Position([1, 1, 1], NED) + way
    with pytest.raises(FrameMismatch, match="position in ENU and position in NED"):
        Position([1, 2, 3], ENU) - Position([1, 2, 3], NED)
    with pytest.raises(FrameMismatch, match="LLA is not a displacement"):
        Position(ZURICH, LLA) - Position(BERN, LLA)


def test_two_local_frames_of_the_same_name() -> None:
    with pytest.raises(FrameMismatch, match=r"ENU about \(47\.3.* and position in ENU about \(46\.9"):
        Position([0, 0, 0], ENU, ZURICH) - Position([0, 0, 0], ENU, BERN)
    with pytest.raises(FrameMismatch, match=r"ENU about \(47\.3.* meets NED about \(46\.9.*convert to ECEF"):
        Position([0, 0, 0], ENU, ZURICH).to(NED, BERN)


def test_the_origin_travels_along() -> None:
    local = Position(BERN, LLA).to(ENU, ZURICH)
    assert local.origin == ZURICH
    np.testing.assert_allclose(local.to(NED).to(LLA).in_frame(LLA), BERN, rtol=0, atol=1e-8)
    assert local.to(ECEF).origin is None
    with pytest.raises(OriginRequired):
        Position([1, 2, 3], ENU).to(LLA)


def test_velocities_add_in_one_frame_only() -> None:
    wind, air = Velocity([1, 0, 0], NED), Velocity([[0, 2, 0], [0, 3, 0]], NED)
    np.testing.assert_array_equal((air + wind).in_frame(NED), [[1, 2, 0], [1, 3, 0]])
    np.testing.assert_array_equal((air - wind).in_frame(NED), [[-1, 2, 0], [-1, 3, 0]])
    for mix in (operator.add, operator.sub):
        with pytest.raises(FrameMismatch, match="velocity in NED and velocity in ENU"):
            mix(wind, wind.to(ENU))


def test_an_orientation_takes_its_own_body_and_world() -> None:
    """Nose up 90 degrees and climbing at 3 m/s: forward in the body is up in the world."""
    attitude = Orientation(Rotation.from_euler("y", 90, degrees=True).as_quat(), (NED, FRD))
    climbing = attitude.rotate(Velocity([3, 0, 0], FRD))
    np.testing.assert_allclose(climbing.in_frame(NED), (0, 0, -3), atol=1e-15)
    np.testing.assert_allclose(attitude.unrotate(climbing).in_frame(FRD), (3, 0, 0), atol=1e-15)
    with pytest.raises(FrameMismatch, match="velocity is in FLU, FRD was expected"):
        attitude.rotate(Velocity([3, 0, 0], FLU))
    with pytest.raises(FrameMismatch, match="velocity is in FRD, NED was expected"):
        attitude.unrotate(Velocity([3, 0, 0], FRD))


TAGGED = [
    Position([1, 2, 3], ENU),
    Velocity([1, 2, 3], ENU),
    Orientation([0, 0, 0, 1], (ENU, FLU)),
    Altitude([1, 2, 3], VerticalDatum.ELLIPSOID),
]


@pytest.mark.parametrize("value", TAGGED, ids=lambda value: type(value).__name__)
def test_frozen_with_numbers_of_their_own(value: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.values = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        value.values[0] = 5.0
    mine = np.ones(3)
    tagged = Position(mine, ENU)
    mine[0] = 9.0
    np.testing.assert_array_equal(tagged.values, (1, 1, 1))


def test_altitudes_above_different_things() -> None:
    gnss, chart = Altitude(500.0, VerticalDatum.ELLIPSOID), Altitude(450.0, VerticalDatum.MEAN_SEA_LEVEL)
    assert gnss.above(VerticalDatum.ELLIPSOID) == 500.0
    with pytest.raises(FrameMismatch, match="above mean sea level, above the WGS84 ellipsoid was expected"):
        gnss - chart
    with pytest.raises(FrameMismatch, match="above the WGS84 ellipsoid, above mean sea level was expected"):
        gnss.above(VerticalDatum.MEAN_SEA_LEVEL)
    assert gnss - Altitude([480.0], VerticalDatum.ELLIPSOID) == [20.0]


def test_a_wrong_shape() -> None:
    with pytest.raises(ValueError, match=r"velocity: shape is \(2,\), needs \(\.\.\., 3\)"):
        Velocity([1, 2], ENU)


def test_a_tag_is_a_frame() -> None:
    with pytest.raises(TypeError, match="'NED' is not a Frame"):
        Position([1, 2, 3], "NED")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'FRD' is not a Frame"):
        Orientation([0, 0, 0, 1], (NED, "FRD"))  # type: ignore[arg-type]


def test_an_origin_in_any_form() -> None:
    assert Position([0, 0, 0], ENU, np.array(ZURICH)).origin == ZURICH
    assert Position(BERN, LLA).to(ENU, list(ZURICH)).origin == ZURICH
