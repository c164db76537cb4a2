"""Rotations as files write them, against scipy; transforms3d, which makes them, is not the judge."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.world.readers import numbers

ORDERS = ["".join(axes) for axes in itertools.product("xyz", repeat=3) if axes[0] != axes[1] != axes[2]]
AXES = [frame + order for frame in "sr" for order in ORDERS]
angles = st.floats(-7, 7)


def scipy_s(axes: str, three: Sequence[float]) -> Rotation:
    """scipy writes fixed axes in small letters and rotating ones in capitals."""
    return Rotation.from_euler(axes[1:] if axes[0] == "s" else axes[1:].upper(), three)


def between(a: Rotation, b: Rotation) -> float:
    """The angle from one Rotation to another."""
    return float((a.inv() * b).magnitude())


@given(st.sampled_from(AXES), angles, angles, angles)
def test_euler_angles_are_scipy_s(axes: str, first: float, second: float, third: float) -> None:
    q = numbers.from_euler([first, second, third], axes)
    assert q.shape == (4,)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)
    assert between(Rotation.from_quat(q), scipy_s(axes, [first, second, third])) < 1e-14


@given(st.sampled_from(AXES), angles, angles, angles)
def test_to_euler_describes_the_same_rotation(axes: str, first: float, second: float, third: float) -> None:
    """Away from the singularity, where transforms3d's angles lose digits as its distance shrinks."""
    assume(abs((np.cos if len(set(axes[1:])) == 3 else np.sin)(second)) > 1e-2)
    expected = scipy_s(axes, [first, second, third])
    assert between(scipy_s(axes, numbers.to_euler(expected.as_quat(), axes)), expected) < 1e-12


@pytest.mark.parametrize("shape", [(3,), (0, 3), (7, 3), (2, 4, 3)])
def test_angles_come_in_any_number(shape: tuple[int, ...]) -> None:
    three = np.random.default_rng(4).uniform(-3, 3, shape)
    found = numbers.from_euler(three)
    assert found.shape == (*shape[:-1], 4)
    for row, q in zip(three.reshape(-1, 3), found.reshape(-1, 4), strict=True):
        assert between(Rotation.from_quat(q), Rotation.from_euler("xyz", row)) < 1e-14


@given(st.tuples(angles, angles, angles).filter(lambda axis: np.linalg.norm(axis) > 1e-3), angles)
def test_axis_and_angle_are_scipy_s(axis: Sequence[float], angle: float) -> None:
    found = numbers.from_axis_angle(axis, angle)
    expected = Rotation.from_rotvec(angle * np.array(axis) / np.linalg.norm(axis))
    assert between(Rotation.from_quat(found), expected) < 1e-14


@pytest.mark.parametrize("angle", [np.inf, -np.inf, np.nan])
def test_an_angle_that_is_not_finite_is_refused(angle: float) -> None:
    with pytest.raises(ValueError, match=f"angles must be finite, found 0, {angle:g}, 0"):
        numbers.from_euler([0.0, angle, 0.0])
    with pytest.raises(ValueError, match=f"angles must be finite, found {angle:g}"):
        numbers.from_axis_angle([1.0, 0.0, 0.0], angle)


IMPORTED = """
import sys
from sim_node.world import loads
for pose in sys.argv[1:]:
    loads(f"world: w\\nframes: [{{name: a, pose: {{{pose}}}}}]")
    print("transforms3d" in sys.modules)
"""


def test_transforms3d_is_imported_for_turns_about_an_axis_alone() -> None:
    """The import takes longer than the reading of a small world."""
    poses = ["position: [1, 2, 3]", "quaternion: [0, 0, 0, 1]", "rpy_deg: [0, 0, 90]", "rpy: [0, 0, 1]"]
    command = [sys.executable, "-c", IMPORTED, *poses, "axis_angle: {axis: [0, 0, 1], angle: 1}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*["False"] * 4, "True"]
