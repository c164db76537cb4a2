"""Curves through knots: C1 in time for any spacing, by finite differences and by scipy's cubics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.geometry.interpolation import hermite, hermite_pose, hermite_rotation
from sim_node.spatial.geometry.tangents import catmull_rom_tangents, pchip_tangents

TIMES = np.array([0.0, 0.2, 1.5, 1.8, 4.0, 4.1, 7.0])
AXIS = np.array([2.0, -1.0, 2.0]) / 3.0
H = 1e-4

either_curve = pytest.mark.parametrize("tangents_of", [catmull_rom_tangents, pchip_tangents])

# Tangents (K, 6) of knots at times (K,), whether they close or not.
Tangents = Callable[..., FloatArray]


def knots(closed: bool, seed: int = 0) -> FloatArray:
    generator = np.random.default_rng(seed)
    poses = np.hstack([generator.normal(size=(7, 3)), Rotation.random(7, rng=generator).as_quat()])
    if closed:
        poses[-1] = poses[0]
        poses[-1, 3:] *= -1.0
    return poses


def about_axis(angle: float | FloatArray) -> FloatArray:
    return np.asarray(Rotation.from_rotvec(np.multiply.outer(angle, AXIS)).as_quat())


def at(times: FloatArray, poses: FloatArray, tangents: FloatArray, t: FloatArray) -> FloatArray:
    """The motion at times t (M,), each on the interval it lies in."""
    i = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
    dt = times[i + 1] - times[i]
    return hermite_pose(poses[i], poses[i + 1], tangents[i], tangents[i + 1], dt, (t - times[i]) / dt)


def one_sided_velocity(times: FloatArray, poses: FloatArray, tangents: FloatArray, i: int, side: int) -> FloatArray:
    """Third-order differences of the interval before (-1) or after (+1) knot i; angular by scipy, in child axes."""
    a, b = (i, i + 1) if side > 0 else (i - 1, i)
    dt = times[b] - times[a]
    u = (0.0 if side > 0 else 1.0) + side * np.arange(4) * H / dt
    p = hermite_pose(poses[a], poses[b], tangents[a], tangents[b], dt, u)
    weights = side * np.array([-11.0, 18.0, -9.0, 2.0]) / (6.0 * H)
    turns = (Rotation.from_quat(p[0, 3:]).inv() * Rotation.from_quat(p[:, 3:])).as_rotvec()
    return np.concatenate([weights @ p[:, :3], weights @ turns])


@either_curve
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("closed", [False, True])
def test_velocity_is_continuous_in_time_at_uneven_knots(closed: bool, seed: int, tangents_of: Tangents) -> None:
    """From the left, from the right, and as its tangents say."""
    poses = knots(closed, seed)
    tangents = tangents_of(TIMES, poses, closed)
    for i in range(7):
        for side in (-1, 1):
            if 0 <= i + side <= 6:
                found = one_sided_velocity(TIMES, poses, tangents, i, side)
                np.testing.assert_allclose(found, tangents[i], rtol=0, atol=1e-4)


@either_curve
@pytest.mark.parametrize("seed", range(4))
def test_a_closed_motion_has_one_velocity_at_its_seam(seed: int, tangents_of: Tangents) -> None:
    poses = knots(True, seed)
    tangents = tangents_of(TIMES, poses, True)
    np.testing.assert_array_equal(tangents[0], tangents[-1])
    before = one_sided_velocity(TIMES, poses, tangents, 6, -1)
    after = one_sided_velocity(TIMES, poses, tangents, 0, 1)
    np.testing.assert_allclose(before, after, rtol=0, atol=1e-4)


@either_curve
def test_a_closed_motion_does_not_know_where_it_starts(tangents_of: Tangents) -> None:
    """The loop, begun at knot 3, has the same velocities and the same poses in between."""
    poses = knots(True)
    steps = np.diff(TIMES)
    order = [3, 4, 5, 0, 1, 2, 3]
    times = np.concatenate([[0.0], np.cumsum(steps[[3, 4, 5, 0, 1, 2]])])
    turned = tangents_of(times, poses[order], True)
    np.testing.assert_allclose(turned, tangents_of(TIMES, poses, True)[order], rtol=0, atol=1e-12)


@either_curve
@pytest.mark.parametrize("closed", [False, True])
def test_the_motion_passes_its_knots_exactly_and_stays_unit(closed: bool, tangents_of: Tangents) -> None:
    poses = knots(closed)
    tangents = tangents_of(TIMES, poses, closed)
    dt = np.diff(TIMES)
    start, end = (hermite_pose(poses[:-1], poses[1:], tangents[:-1], tangents[1:], dt, u) for u in (0.0, 1.0))
    np.testing.assert_array_equal(start, poses[:-1])
    np.testing.assert_array_equal(end[:, :3], poses[1:, :3])
    np.testing.assert_array_equal(np.abs(end[:, 3:]), np.abs(poses[1:, 3:]))
    assert np.all(np.abs(np.sum(end[:, 3:] * poses[1:, 3:], axis=1)) > 0.999)
    every = at(TIMES, poses, tangents, np.linspace(0.0, 7.0, 500))
    np.testing.assert_allclose(np.linalg.norm(every[:, 3:], axis=1), 1.0, rtol=0, atol=3e-15)


@either_curve
def test_the_pose_is_continuous_within_each_interval_and_its_quaternion_too(tangents_of: Tangents) -> None:
    """No step longer than the fastest it can go: no jump at u = 1, none from a sign or a branch."""
    poses = knots(False)
    tangents = tangents_of(TIMES, poses, False)
    for i in range(6):
        u = np.linspace(0.0, 1.0, 2001)
        p = hermite_pose(poses[i], poses[i + 1], tangents[i], tangents[i + 1], TIMES[i + 1] - TIMES[i], u)
        steps = np.abs(np.diff(p, axis=0)).max(axis=1)
        assert steps.max() < 20 * np.median(steps)
        assert steps.max() < 0.1


@either_curve
def test_two_knots_give_constant_velocity(tangents_of: Tangents) -> None:
    """A line, and one turn about one axis at one rate."""
    poses = np.array([[1.0, 2, 3, *about_axis(0.2)], [4.0, 0, 3, *about_axis(2.7)]])
    tangents = tangents_of([10.0, 12.0], poses, False)
    np.testing.assert_allclose(tangents, [[1.5, -1, 0, *(1.25 * AXIS)]] * 2, rtol=0, atol=1e-15)
    u = np.linspace(0, 1, 33)
    found = hermite_pose(poses[0], poses[1], tangents[0], tangents[1], 2.0, u)
    np.testing.assert_allclose(found[:, :3], np.outer(1 - u, [1, 2, 3]) + np.outer(u, [4, 0, 3]), rtol=0, atol=2e-15)
    np.testing.assert_allclose(found[:, 3:], about_axis(0.2 + 2.5 * u), rtol=0, atol=1e-15)


@either_curve
def test_positions_are_scipys_cubic_hermite(tangents_of: Tangents) -> None:
    poses = knots(False)
    tangents = tangents_of(TIMES, poses, False)
    t = np.linspace(0.0, 7.0, 300)
    expected = CubicHermiteSpline(TIMES, poses[:, :3], tangents[:, :3])(t)
    np.testing.assert_allclose(at(TIMES, poses, tangents, t)[:, :3], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("a0", "a1"), [(0.0, 1.0), (1.0, -2.0), (0.3, 0.3), (0.0, 3.1)])
@pytest.mark.parametrize(("m0", "m1"), [(0.0, 0.0), (1.0, -1.0), (-6.0, -5.0), (8.0, 20.0), (-40.0, 30.0)])
def test_about_one_axis_rotations_are_scipys_cubic_hermite_of_the_angle(
    a0: float, a1: float, m0: float, m1: float
) -> None:
    """Also where the tangents make it turn round and round."""
    u = np.linspace(0.0, 1.0, 50)
    expected = CubicHermiteSpline([0, 1], [a0, a1], [m0, m1])(u)
    found = hermite_rotation(about_axis(a0), about_axis(a1), m0 * AXIS, m1 * AXIS, u)
    assert (Rotation.from_quat(found).inv() * Rotation.from_quat(about_axis(expected))).magnitude().max() < 1e-13


def test_catmull_rom_reproduces_parabolas_inside() -> None:
    """Barry and Goldman: three knots lie on one parabola, whatever their spacing."""
    poses = np.zeros((7, 7))
    poses[:, 0], poses[:, 1], poses[:, 6] = 2 * TIMES**2 - TIMES, 3 - TIMES**2, 1.0
    derivative = np.stack([4 * TIMES - 1, -2 * TIMES, 0 * TIMES], axis=1)
    found = catmull_rom_tangents(TIMES, poses, closed=False)[:, :3]
    np.testing.assert_allclose(found[1:-1], derivative[1:-1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(found[0], (poses[1, :3] - poses[0, :3]) / 0.2, rtol=0, atol=1e-14)


def test_catmull_roms_angular_velocities_of_a_turn_that_speeds_up() -> None:
    """Angle t^2 / 12 about one axis: at the inner knots the rate is t / 6, in child axes as in parent axes."""
    poses = np.hstack([np.zeros((7, 3)), about_axis(TIMES**2 / 12)])
    found = catmull_rom_tangents(TIMES, poses, closed=False)[:, 3:]
    np.testing.assert_allclose(found[1:-1], np.outer(TIMES[1:-1] / 6, AXIS), rtol=0, atol=1e-14)


@either_curve
def test_signs_of_the_quaternions_do_not_matter(tangents_of: Tangents) -> None:
    poses = knots(False)
    flipped = poses.copy()
    flipped[1::2, 3:] *= -1.0
    tangents = tangents_of(TIMES, poses, False)
    np.testing.assert_array_equal(tangents_of(TIMES, flipped, False), tangents)
    t = np.linspace(0, 7, 100)
    a, b = at(TIMES, poses, tangents, t), at(TIMES, flipped, tangents, t)
    assert (Rotation.from_quat(a[:, 3:]).inv() * Rotation.from_quat(b[:, 3:])).magnitude().max() < 1e-13


def coning(t: FloatArray) -> FloatArray:
    """A body that cones and spins: its axis is fixed in no frame."""
    angles = np.stack([1.3 * t, 0.5 + 0.2 * np.sin(t), 0.9 * t], axis=-1)
    return np.asarray(Rotation.from_euler("ZYZ", angles).as_quat())


@either_curve
def test_a_smooth_turn_is_met_to_third_order(tangents_of: Tangents) -> None:
    """Twice the (uneven) knots, an eighth of the error: the tangents are true to second order."""
    t = np.linspace(1.0, 5.0, 777)
    errors = []
    for count in (40, 80, 160):
        phase = np.linspace(0.0, 1.0, count + 1)
        times = 6.0 * (phase + 0.05 * np.sin(2 * np.pi * phase))
        poses = np.hstack([np.zeros((count + 1, 3)), coning(times)])
        found = at(times, poses, tangents_of(times, poses, False), t)[:, 3:]
        errors.append((Rotation.from_quat(found).inv() * Rotation.from_quat(coning(t))).magnitude().max())
    assert errors[0] / errors[1] > 6.5
    assert errors[1] / errors[2] > 6.5
    assert errors[2] < 1e-5


@either_curve
@pytest.mark.filterwarnings("error")
def test_a_body_that_rests_stays_where_it_is(tangents_of: Tangents) -> None:
    poses = np.tile([1.0, 2, 3, *about_axis(0.7)], (4, 1))
    tangents = tangents_of([0, 1, 5, 6], poses, True)
    np.testing.assert_allclose(tangents, 0, atol=1e-15)
    np.testing.assert_allclose(
        hermite_pose(poses[0], poses[1], tangents[0], tangents[1], 1.0, 0.4), poses[0], atol=1e-15
    )


@either_curve
def test_a_batch_is_its_rows(tangents_of: Tangents) -> None:
    poses = knots(False)
    tangents = tangents_of(TIMES, poses, False)
    dt, u = np.diff(TIMES), np.linspace(0.05, 0.95, 6)
    batch = hermite_pose(poses[:-1], poses[1:], tangents[:-1], tangents[1:], dt, u)
    grid = hermite_pose(poses[:-1], poses[1:], tangents[:-1], tangents[1:], dt, u[:, None])
    assert grid.shape == (6, 6, 7)
    for i in range(6):
        (pa, pb), (ta, tb) = poses[i : i + 2].tolist(), tangents[i : i + 2].tolist()
        row = hermite_pose(pa, pb, ta, tb, dt[i], u[i])
        assert row.shape == (7,)
        np.testing.assert_allclose(batch[i], row, rtol=0, atol=2e-15)
        np.testing.assert_allclose(grid[i, i], row, rtol=0, atol=2e-15)


def test_hermite_has_the_given_ends() -> None:
    """Values and derivatives of the cubic 1 + 2u - 3u^2 + 4u^3."""
    u = np.linspace(-1, 2, 13)
    found = hermite([1.0], [4.0], [2.0], [8.0], u)
    np.testing.assert_allclose(found[:, 0], 1 + 2 * u - 3 * u**2 + 4 * u**3, rtol=0, atol=2e-14)


@either_curve
@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0, 1, 1, 2, 3, 4, 5], r"times\[2\]: 1\.0 after 1\.0, needs strictly increasing"),
        ([0, 1, np.nan, 2, 3, 4, 5], r"times\[2\]: nan after 1\.0"),
        ([0, 1, 2], r"knots: 7 with times of shape \(3,\)"),
    ],
)
def test_times_that_make_no_motion_are_refused(times: list[float], message: str, tangents_of: Tangents) -> None:
    with pytest.raises(ValueError, match=message):
        tangents_of(times, knots(False), False)


@either_curve
def test_a_single_knot_and_an_open_loop_are_refused(tangents_of: Tangents) -> None:
    with pytest.raises(ValueError, match="needs two or more"):
        tangents_of([0.0], knots(False)[:1], False)
    poses = knots(True)
    poses[-1, 0] += 0.1
    with pytest.raises(ValueError, match=r"closed motion: starts at .* and ends at"):
        tangents_of(TIMES, poses, True)
    poses[-1] = [*poses[0, :3], *about_axis(1.0)]
    with pytest.raises(ValueError, match="rad apart, needs one orientation"):
        tangents_of(TIMES, poses, True)
