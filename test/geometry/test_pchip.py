"""The shape-preserving curve beside scipy's PchipInterpolator, and the laws that give it its name."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nightly import only
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.geometry.interpolation import hermite_pose, hermite_rotation
from sim_node.spatial.geometry.tangents import pchip_tangents

# Times (K,) and values (K,).
Course = tuple[FloatArray, FloatArray]
NO_TURN = [0.0, 0.0, 0.0, 1.0]

seeds = st.integers(0, 2**32 - 1)


@st.composite
def courses(draw: st.DrawFn, most: float = 50.0) -> Course:
    """Times (K,) unevenly spaced and values (K,) with level, rising and falling stretches."""
    steps = draw(st.lists(st.floats(1e-2, 1e2), min_size=1, max_size=12))
    # Rounded, because scipy warns of an overflow where a change is subnormal.
    change = st.sampled_from([0.0, 1.0, -1.0]) | st.floats(-most, most).map(lambda value: round(value, 6))
    changes = draw(st.lists(change, min_size=len(steps)))
    times = np.concatenate([[0.0], np.cumsum(steps)])
    return times, np.concatenate([[0.0], np.cumsum(changes[: len(steps)])])


def moving(values: npt.ArrayLike) -> FloatArray:
    """Poses (K, 7) without rotation whose positions are values (K,) or (K, 3)."""
    values = np.asarray(values, dtype=float)
    positions = values if values.ndim == 2 else np.outer(values, [1.0, -2.0, 0.5])
    return np.hstack([positions, np.tile(NO_TURN, (len(values), 1))])


def turning(rotations: Rotation) -> FloatArray:
    return np.hstack([np.zeros((len(rotations), 3)), rotations.as_quat()])


def axis_of(seed: int) -> FloatArray:
    axis = np.random.default_rng(seed).normal(size=3)
    return np.asarray(axis / np.linalg.norm(axis))


def about(axis: FloatArray, angles: npt.ArrayLike) -> Rotation:
    return Rotation.from_rotvec(np.multiply.outer(angles, axis))


def random_turns(seed: int, count: int = 7) -> Rotation:
    """Arcs up to half a turn about axes that wander, reverse or keep their direction."""
    generator = np.random.default_rng(seed)
    turns = Rotation.random(rng=generator)
    knots = [turns]
    for vector in generator.normal(size=(count - 1, 3)) * generator.choice([0.05, 0.5, 0.9], size=(count - 1, 1)):
        turns = turns * Rotation.from_rotvec(vector)
        knots.append(turns)
    return Rotation.concatenate(knots)


def between(times: npt.ArrayLike, poses: FloatArray, tangents: FloatArray, u: npt.ArrayLike) -> FloatArray:
    """The poses (K-1, U, 7) at fractions u (U,) of every interval."""
    u, dt = np.asarray(u), np.diff(times)[:, None]
    return hermite_pose(poses[:-1, None], poses[1:, None], tangents[:-1, None], tangents[1:, None], dt, u[None, :])


def curve(times: npt.ArrayLike, poses: FloatArray, closed: bool = False, count: int = 41) -> FloatArray:
    return between(times, poses, pchip_tangents(times, poses, closed), np.linspace(0.0, 1.0, count))


# Positions


@pytest.mark.parametrize("seed", only(range(200), *range(20)))
def test_positions_and_velocities_are_scipys_pchip(seed: int) -> None:
    """Two to thirty uneven knots, three different axes, with level stretches and extrema."""
    generator = np.random.default_rng(seed)
    count = int(generator.integers(2, 31))
    times = np.cumsum(generator.uniform(0.2, 4.0, count))
    values = generator.normal(scale=3.0, size=(count, 3)).round(seed % 3)
    expected = PchipInterpolator(times, values)
    poses = moving(values)
    tangents = pchip_tangents(times, poses, False)
    np.testing.assert_allclose(tangents[:, :3], expected(times, 1), rtol=1e-12, atol=1e-12)
    u = np.linspace(0.0, 1.0, 33)
    instants = times[:-1, None] + np.diff(times)[:, None] * u
    found = between(times, poses, tangents, u)[..., :3]
    np.testing.assert_allclose(found, expected(instants), rtol=0, atol=1e-12)


def test_a_level_stretch_stays_level() -> None:
    """The climb, flight at 10 m and descent that Catmull-Rom bends up to 15 m."""
    found = curve(np.array([0.0, 2.0, 8.0, 10.0]), moving([0.1, 10.0, 10.0, 2.0]), count=1001)[..., 0]
    np.testing.assert_allclose(found[1], 10.0, rtol=0, atol=4e-15)
    assert found.max() < 10.0 + 4e-15


@given(courses())
def test_no_coordinate_leaves_the_range_of_its_two_knots(course: Course) -> None:
    times, values = course
    found = curve(times, moving(values))[..., 0]
    slack = 1e-13 * np.abs(values).max()
    assert np.all(found >= np.minimum(values[:-1], values[1:])[:, None] - slack)
    assert np.all(found <= np.maximum(values[:-1], values[1:])[:, None] + slack)


@given(courses())
def test_what_rises_at_its_knots_rises_between_them(course: Course) -> None:
    times, values = course
    values = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(values)))])
    found = curve(times, moving(values))[..., 0]
    assert np.all(np.diff(found, axis=1) >= -1e-13 * values[-1])


@pytest.mark.parametrize(
    "values", [[0.0, 1e-300, 2e-300, 1.0], [0.0, 5e-324, 1e-323, 0.0], [0.0, 1e12, 1e12 + 1e-3, 0.0]]
)
@pytest.mark.filterwarnings("error")
def test_the_smallest_changes_do_no_harm(values: list[float]) -> None:
    found = curve(np.arange(4.0), moving(values))[..., 0]
    assert np.isfinite(found).all()
    assert found.min() >= min(values)
    assert found.max() <= max(values) * (1.0 + 4e-16)


@pytest.mark.parametrize("seed", range(20))
def test_a_closed_curve_is_scipys_pchip_of_many_laps(seed: int) -> None:
    """Positions, and a turn about one axis that goes round once, at the knots of the middle lap."""
    generator = np.random.default_rng(seed)
    steps = generator.uniform(0.05, 3.0, 6)
    times = np.concatenate([[0.0], np.cumsum(steps)])
    values = generator.normal(size=(7, 3))
    values[-1] = values[0]
    shares = generator.uniform(0.2, 1.0, 6)
    angles = np.concatenate([[0.0], np.cumsum(2.0 * np.pi * shares / shares.sum())])
    axis = axis_of(seed)
    poses = np.hstack([values, about(axis, angles).as_quat()])
    laps = np.concatenate([times[:-1] - times[-1], times, times[1:] + times[-1]])
    positions = PchipInterpolator(laps, np.vstack([values[:-1], values, values[1:]]))(times, 1)
    turned = np.concatenate([angles[:-1] - 2 * np.pi, angles, angles[1:] + 2 * np.pi])
    rates = np.outer(PchipInterpolator(laps, turned)(times, 1), axis)
    np.testing.assert_allclose(pchip_tangents(times, poses, True), np.hstack([positions, rates]), rtol=0, atol=1e-11)


# Rotations


@given(courses(most=3.1), seeds)
def test_about_one_axis_rotations_are_scipys_pchip_of_the_angle(course: Course, seed: int) -> None:
    """At any axis: the rates to rounding, and the orientation all the way."""
    times, angles = course
    axis = axis_of(seed)
    poses = turning(about(axis, angles))
    expected = PchipInterpolator(times, angles)
    tangents = pchip_tangents(times, poses, False)
    rates = expected(times, 1)
    np.testing.assert_allclose(tangents[:, 3:], np.outer(rates, axis), rtol=0, atol=1e-12 * (1.0 + np.abs(rates).max()))
    u = np.linspace(0.0, 1.0, 21)
    found = between(times, poses, tangents, u)[..., 3:].reshape(-1, 4)
    instants = (times[:-1, None] + np.diff(times)[:, None] * u).ravel()
    apart = about(axis, expected(instants)).inv() * Rotation.from_quat(found)
    assert apart.magnitude().max() < 1e-11


@given(courses(most=3.1), seeds)
def test_about_one_axis_the_angle_never_leaves_the_range_of_its_two_knots(course: Course, seed: int) -> None:
    """The angle is read against the axis, from the knot before: no other axis, and nothing beyond either knot."""
    times, angles = course
    axis = axis_of(seed)
    knots = about(axis, angles)
    found = curve(times, turning(knots))[..., 3:]
    for i, row in enumerate(found):
        vectors = (knots[i].inv() * Rotation.from_quat(row)).as_rotvec()
        turned, arc = vectors @ axis, angles[i + 1] - angles[i]
        np.testing.assert_allclose(vectors, np.outer(turned, axis), rtol=0, atol=1e-12)
        assert np.all(turned * np.sign(arc) >= -1e-12)
        assert np.all(np.abs(turned) <= abs(arc) + 1e-12)


@pytest.mark.parametrize("degrees", [90.0, 91.0, 135.0, 180.0])
def test_the_rate_is_zero_where_rotation_vectors_reverse(degrees: float) -> None:
    """At right angles and beyond, whatever the spacing."""
    bend = np.radians(degrees)
    arcs = [[0.4, 0.0, 0.0], [0.9 * np.cos(bend), 0.9 * np.sin(bend), 0.0]]
    knots = Rotation.concatenate(
        [Rotation.identity(), *(Rotation.from_rotvec(arcs[0]) * Rotation.from_rotvec([[0.0] * 3, arcs[1]]))]
    )
    found = pchip_tangents([0.0, 1.0, 4.0], turning(knots), False)
    np.testing.assert_allclose(found[1], 0.0, rtol=0, atol=1e-15)


def test_the_rate_fades_as_the_axes_part() -> None:
    """Arcs of 0.5 rad/s that bend by an angle: 0.5 cos(angle) cos(angle / 2) about the axis half way (closed form)."""
    for bend in np.linspace(0.0, np.pi, 37):
        second = Rotation.from_rotvec([0.5 * np.cos(bend), 0.5 * np.sin(bend), 0.0])
        first = Rotation.from_rotvec([0.5, 0.0, 0.0])
        knots = Rotation.concatenate([Rotation.identity(), first, first * second])
        size = 0.5 * max(np.cos(bend), 0.0) * np.cos(0.5 * bend)
        expected = [size * np.cos(0.5 * bend), size * np.sin(0.5 * bend), 0.0]
        np.testing.assert_allclose(
            pchip_tangents([0.0, 1.0, 2.0], turning(knots), False)[1, 3:], expected, rtol=0, atol=1e-15
        )


@given(seeds)
def test_rates_are_limited_by_the_slower_neighbour(seed: int) -> None:
    """Fritsch and Butland: at most three times the smaller mean rate, here for vectors."""
    times = np.cumsum(np.random.default_rng(seed).uniform(0.01, 2.0, 7))
    knots = random_turns(seed)
    means = (knots[:-1].inv() * knots[1:]).magnitude() / np.diff(times)
    rates = np.linalg.norm(pchip_tangents(times, turning(knots), False)[:, 3:], axis=1)
    limits = 3.0 * np.concatenate([means[:1], np.minimum(means[:-1], means[1:]), means[-1:]])
    assert np.all(rates <= limits * (1.0 + 1e-12))


@given(seeds)
def test_the_curve_depends_on_neither_frames_axes(seed: int) -> None:
    """The parent turned, and the child mounted otherwise: the same motion seen in the other axes."""
    times = np.cumsum(np.random.default_rng(seed).uniform(0.1, 2.0, 7))
    knots = random_turns(seed)
    parent, child = Rotation.random(2, rng=np.random.default_rng(seed + 1))
    u = np.linspace(0.0, 1.0, 9)
    found, seen = (
        Rotation.from_quat(curve(times, turning(each), count=len(u))[..., 3:].reshape(-1, 4))
        for each in (knots, parent * knots * child)
    )
    assert ((parent * found * child).inv() * seen).magnitude().max() < 1e-12


@given(seeds)
def test_backwards_the_rates_are_the_same_but_for_their_sign(seed: int) -> None:
    times = np.cumsum(np.random.default_rng(seed).uniform(0.1, 2.0, 7))
    poses = turning(random_turns(seed))
    poses[:, :3] = np.random.default_rng(seed).normal(size=(7, 3))
    forwards, backwards = pchip_tangents(times, poses, False), pchip_tangents(-times[::-1], poses[::-1], False)
    np.testing.assert_allclose(backwards[::-1], -forwards, rtol=0, atol=1e-11)


@pytest.mark.parametrize("seed", range(10))
def test_rotations_about_many_axes_are_the_cumulative_bezier_of_scipys_rotations(seed: int) -> None:
    """Kim, Kim and Shin 1995: q0 exp(b1 w0/3) exp(b2 w) exp(b3 w1/3), with b the cumulative Bernstein polynomials."""
    times, knots = np.array([0.0, 0.3, 1.5, 1.9, 4.0, 4.2, 6.0]), random_turns(seed)
    tangents = pchip_tangents(times, turning(knots), False)[:, 3:]
    u = np.linspace(0.0, 1.0, 17)
    for i, step in enumerate(np.diff(times)):
        first, last = (Rotation.from_rotvec(tangents[k] * step / 3.0) for k in (i, i + 1))
        middle = first.inv() * knots[i].inv() * knots[i + 1] * last.inv()
        parts = (1 - (1 - u) ** 3, first), (3 * u**2 - 2 * u**3, middle), (u**3, last)
        expected = knots[i]
        for weight, part in parts:
            expected = expected * Rotation.from_rotvec(np.outer(weight, part.as_rotvec()))
        found = hermite_rotation(
            knots[i].as_quat(), knots[i + 1].as_quat(), tangents[i] * step, tangents[i + 1] * step, u
        )
        assert (expected.inv() * Rotation.from_quat(found)).magnitude().max() < 1e-13


def test_an_orientation_held_between_other_ones_is_held_exactly() -> None:
    """Turns before and after, none in between: the axes of both neighbours leave no trace."""
    knots = Rotation.from_euler("xyz", [[0, 0, 0], [10, 40, 70], [10, 40, 70], [80, 20, 10]], degrees=True)
    poses = turning(knots)
    found = curve(np.array([0.0, 1.0, 5.0, 6.0]), poses)[1, :, 3:]
    np.testing.assert_allclose(np.abs(found @ poses[1, 3:]), 1.0, rtol=0, atol=4e-16)
