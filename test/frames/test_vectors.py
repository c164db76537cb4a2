"""Single vectors and attitudes with their frame: conversions beside arrays and scipy, and mixes that are refused.

Lines that mix frames are marked for mypy, which reports a mark without an error: `make types` fails if it finds no
fault in one of them.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.mavlink.setpoints import SetpointLimits, goto
from sim_node.mavlink.telemetry import Home
from sim_node.spatial.frames import (
    AttitudeEnu,
    AttitudeFlu,
    AttitudeFrd,
    AttitudeNed,
    Enu,
    Flu,
    Frame,
    FrameMismatch,
    Frd,
    Ned,
    Transform,
    convert_orientation,
    convert_transform,
    convert_velocity,
)

NUMBER = st.floats(-1e6, 1e6)
VECTOR = st.tuples(NUMBER, NUMBER, NUMBER)
PART = st.floats(-1.0, 1.0)


@st.composite
def unit(draw: st.DrawFn) -> tuple[float, ...]:
    q = np.array(draw(st.tuples(PART, PART, PART, PART)))
    norm = np.linalg.norm(q)
    assume(norm > 0.1)
    return tuple((q / norm).tolist())


@given(VECTOR)
def test_vectors_are_those_of_arrays(vector: tuple[float, float, float]) -> None:
    assert tuple(Ned(vector).to_enu()) == tuple(convert_velocity(vector, Frame.NED, Frame.ENU))
    assert tuple(Frd(vector).to_flu()) == tuple(convert_velocity(vector, Frame.FRD, Frame.FLU))
    assert Ned(vector).to_enu().to_ned() == Ned(vector)
    assert Frd(vector).to_flu().to_frd() == Frd(vector)
    for made, of, to in (
        (Enu.of_ned, Frame.NED, Frame.ENU),
        (Ned.of_enu, Frame.ENU, Frame.NED),
        (Flu.of_frd, Frame.FRD, Frame.FLU),
        (Frd.of_flu, Frame.FLU, Frame.FRD),
    ):
        assert made(*vector).numbers == tuple(convert_velocity(vector, of, to))


@given(unit())
def test_attitudes_are_those_of_arrays_signs_included(q: tuple[float, float, float, float]) -> None:
    x, y, z, w = q
    expected = convert_orientation(q, (Frame.NED, Frame.FRD), (Frame.ENU, Frame.FLU))
    np.testing.assert_allclose(AttitudeNed((w, x, y, z)).to_enu(), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(AttitudeNed((w, x, y, z)).to_enu().to_ned(), (w, x, y, z), rtol=0, atol=1e-15)
    back = convert_orientation(q, (Frame.ENU, Frame.FLU), (Frame.NED, Frame.FRD))
    np.testing.assert_allclose(AttitudeNed.of_enu(*q).xyzw, back, rtol=0, atol=1e-15)
    local = convert_orientation(q, (Frame.FRD, Frame.FRD), (Frame.FLU, Frame.FLU))
    np.testing.assert_allclose(AttitudeFrd((w, x, y, z)).to_flu(), local, rtol=0, atol=1e-15)
    assert tuple(AttitudeFlu(q).to_frd().to_flu()) == q


@given(unit(), VECTOR)
def test_turning_is_scipys(q: tuple[float, float, float, float], vector: tuple[float, float, float]) -> None:
    there = Rotation.from_quat(q)
    np.testing.assert_allclose(AttitudeEnu(q).to_body(Enu(vector)), there.inv().apply(vector), rtol=0, atol=1e-8)
    np.testing.assert_allclose(AttitudeEnu(q).to_world(Flu(vector)), there.apply(vector), rtol=0, atol=1e-8)
    np.testing.assert_allclose(AttitudeFlu(q).to_body(Flu(vector)), there.inv().apply(vector), rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", [Ned, Enu, Frd, Flu])
def test_sums_are_in_the_same_frame(kind: type[Ned]) -> None:
    """Each class adds its own kind."""
    total = kind((1, 2, 3)) + kind((4, 5, 6))
    assert (type(total), tuple(total)) == (kind, (5, 7, 9))
    assert tuple(kind((1, 2, 3)) - kind((4, 5, 6))) == (-3, -3, -3)
    assert repr(total) == f"{kind.__name__}((5, 7, 9))"


def test_a_mix_of_two_frames_names_both() -> None:
    ned, enu, frd, flu = Ned((1, 2, 3)), Enu((1, 2, 3)), Frd((1, 2, 3)), Flu((1, 2, 3))
    with pytest.raises(FrameMismatch, match="vector in NED and vector in ENU"):
        ned + enu  # type: ignore[operator]
    with pytest.raises(FrameMismatch, match="vector in ENU and vector in NED"):
        enu - ned  # type: ignore[operator]
    with pytest.raises(FrameMismatch, match="vector in FRD and vector in FLU"):
        frd + flu  # type: ignore[operator]
    with pytest.raises(FrameMismatch, match="vector in FLU and a tuple without one"):
        flu - (1.0, 2.0, 3.0)  # type: ignore[operator]


def test_a_wrong_argument_is_found_by_type_checkers() -> None:
    """A home in ENU where local NED is needed, an attitude in NED as one in ENU, a world vector as one of a body."""
    home = Home(47.0, 8.0, 400.0, Enu((0.0, 0.0, 0.0)))  # type: ignore[arg-type]
    with pytest.raises(FrameMismatch, match="vector in ENU and vector in NED"):
        goto("map", (1, 2, 3), (0, 0, 0, 1), "map", SetpointLimits(), home)
    attitude: AttitudeEnu = AttitudeNed((1.0, 0.0, 0.0, 0.0))  # type: ignore[assignment]
    level = AttitudeEnu((0.0, 0.0, 0.0, 1.0))
    with pytest.raises(FrameMismatch, match="attitude of FLU in ENU turns a vector in ENU; found vector in FLU"):
        level.to_body(Flu((1.0, 0.0, 0.0)))  # type: ignore[arg-type]
    assert isinstance(attitude, AttitudeNed)


def test_poses_carry_both_of_their_frames() -> None:
    pose = np.array([[1.0, 2.0, 3.0, 0.0, 0.0, 0.6, 0.8]])
    tagged = Transform(pose, (Frame.NED, Frame.FRD))
    converted = tagged.to(Frame.ENU, Frame.FLU).in_frames(Frame.ENU, Frame.FLU)
    expected = convert_transform(pose, (Frame.NED, Frame.FRD), (Frame.ENU, Frame.FLU))
    np.testing.assert_array_equal(converted, expected)
    with pytest.raises(FrameMismatch, match="transform is of FRD in NED, FLU in ENU was expected"):
        tagged.in_frames(Frame.ENU, Frame.FLU)
