"""Covariances with their frames: beside arrays and the propagation of samples, and mixes that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_node.spatial.frames import (
    AttitudeEnu,
    AttitudeFlu,
    AttitudeRequired,
    Covariance,
    Frame,
    FrameMismatch,
    convert_covariance,
)

ENU, NED, FLU, FRD = Frame.ENU, Frame.NED, Frame.FLU, Frame.FRD
TURN = Rotation.from_euler("ZYX", [50.0, -20.0, 35.0], degrees=True)
MIXING = np.random.default_rng(4).normal(size=(6, 6))
FULL = MIXING @ MIXING.T


def test_conversions_are_those_of_arrays() -> None:
    converted = Covariance(FULL, (NED, FRD)).to((ENU, FLU))
    np.testing.assert_array_equal(converted.in_frames((ENU, FLU)), convert_covariance(FULL, (NED, FRD), (ENU, FLU)))
    assert Covariance(FULL, NED).frames == (NED, NED)


@pytest.mark.parametrize(("attitude", "world"), [(AttitudeEnu, ENU), (AttitudeFlu, FLU)])
def test_a_block_turns_as_samples_do(attitude: type[AttitudeEnu] | type[AttitudeFlu], world: Frame) -> None:
    """x = M n with unit noise n has covariance M M^T; so has x with its first three components turned."""
    turned = Covariance(FULL, (world, FLU)).to_body(attitude(TURN.as_quat().tolist())).in_frames(FLU)
    mixing = np.array(MIXING)
    mixing[:3] = TURN.inv().apply(MIXING[:3].T).T
    np.testing.assert_allclose(turned, mixing @ mixing.T, atol=1e-12)


def test_what_is_not_known_of_one_block_leaves_the_other_known() -> None:
    partly = np.array(FULL)
    partly[0, :] = partly[:, 0] = np.nan
    turned = Covariance(partly, (ENU, FLU)).to_body(AttitudeEnu(TURN.as_quat().tolist())).in_frames(FLU)
    assert np.isnan(turned[:3, :3]).all()
    np.testing.assert_allclose(turned[3:, 3:], FULL[3:, 3:], atol=1e-12)


def test_a_mix_names_both() -> None:
    with pytest.raises(FrameMismatch, match="covariance is in NED, ENU was expected"):
        Covariance(FULL, NED).in_frames(ENU)
    with pytest.raises(FrameMismatch, match="covariance is in ENU, FLU, FLU was expected"):
        Covariance(FULL, (ENU, FLU)).in_frames(FLU)
    with pytest.raises(FrameMismatch, match="block 0 of the covariance is in NED, ENU was expected"):
        Covariance(FULL, NED).to_body(AttitudeEnu((0.0, 0.0, 0.0, 1.0)))
    with pytest.raises(FrameMismatch, match="block 1 of the covariance is in ENU, FLU was expected"):
        Covariance(FULL, ENU).to_body(AttitudeFlu((0.0, 0.0, 0.0, 1.0)), block=1)
    with pytest.raises(AttitudeRequired):
        Covariance(FULL, NED).to(FLU)
    with pytest.raises(ValueError, match="1 frames for 2 blocks"):
        Covariance(FULL, (NED,))
    with pytest.raises(TypeError):
        Covariance(FULL, NED) + FULL
