"""Single yaws and headings with their axes: beside arrays and scipy, and mixes that are refused.

Lines that mix axes are marked for mypy, as in test_vectors.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.spatial.frames import (
    AttitudeEnu,
    Flu,
    FrameMismatch,
    Heading,
    Ned,
    YawEnu,
    YawNed,
    yaw_enu_from_ned,
)

ANGLE = st.floats(-10.0, 10.0)


def apart(one: float, other: float) -> float:
    return abs(math.remainder(one - other, math.tau))


@given(ANGLE)
def test_yaws_are_those_of_arrays(yaw: float) -> None:
    assert apart(YawNed(yaw).to_enu().radians, float(yaw_enu_from_ned(yaw))) < 1e-12
    assert apart(YawEnu(yaw).to_ned().to_enu().radians, yaw) < 1e-12
    assert abs(YawEnu(yaw).to_ned().radians) <= math.pi
    assert apart(math.radians(Heading.of(YawNed(yaw)).degrees), yaw) < 1e-12
    assert Heading.of(YawEnu(yaw)).to_enu() - YawEnu(yaw) == pytest.approx(0.0, abs=1e-12)


# The points of the compass, in degrees: clockwise from north, counterclockwise from east.
@pytest.mark.parametrize(("heading", "yaw"), [(0.0, 90.0), (90.0, 0.0), (180.0, -90.0), (270.0, 180.0), (17.0, 73.0)])
def test_headings_in_degrees_are_exact(heading: float, yaw: float) -> None:
    assert Heading.of_yaw_degrees(yaw) == Heading(heading)
    assert math.remainder(Heading(heading).to_yaw_degrees() - yaw, 360.0) == 0.0


@given(ANGLE, st.floats(0.0, 100.0), st.floats(-10.0, 10.0))
def test_vectors_along_a_yaw_and_level_bodies_are_scipys(yaw: float, length: float, down: float) -> None:
    turned = Rotation.from_euler("z", yaw)
    np.testing.assert_allclose(Ned.along(YawNed(yaw), length, down), turned.apply([length, 0.0, down]), atol=1e-9)
    level = AttitudeEnu.of_yaw(YawEnu(yaw))
    np.testing.assert_allclose(level.to_world(Flu((1.0, 2.0, 3.0))), turned.apply([1.0, 2.0, 3.0]), atol=1e-9)
    assert abs(level.yaw - YawEnu(yaw)) < 1e-12
    if length > 1e-3:
        assert abs(Ned.along(YawNed(yaw), length, down).direction - YawNed(yaw)) < 1e-9


def test_what_is_not_known_stays_so() -> None:
    for number in (math.nan, math.inf, -math.inf):
        assert math.isnan(YawNed(number).to_enu().radians)
        assert math.isnan(YawEnu(number).to_ned().radians)
        assert math.isnan(Heading(number).to_enu().radians)


def test_a_mix_names_both() -> None:
    with pytest.raises(FrameMismatch, match="yaw in NED and yaw in ENU"):
        YawNed(0.1) - YawEnu(0.1)  # type: ignore[operator]
    with pytest.raises(FrameMismatch, match="yaw in ENU and heading"):
        YawEnu(0.1) - Heading(90.0)  # type: ignore[operator]
    with pytest.raises(FrameMismatch, match="yaw in ENU and a float without one"):
        YawEnu(0.1) - 0.1  # type: ignore[operator]
    with pytest.raises(TypeError):
        YawEnu(0.1) + YawNed(0.1)  # type: ignore[operator]
    with pytest.raises(TypeError):
        math.cos(YawEnu(0.1))  # type: ignore[arg-type]
