"""The keyframe engine beside scipy, beside a scalar oracle with bisect, and its laws of time."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nightly import only
from pose_columns import pose_columns
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator
from scipy.spatial.transform import Rotation, Slerp

from sim_node.simulation.physics import ENGINES, KeyframeEngine, engine, engines_for
from sim_node.simulation.physics.keyframes import Motions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world import Motion, StaticFrame, TimeGrid, World, lay_out
from sim_node.world.model import CURVED, INTERPOLATIONS, OUTSIDE

MS = 1_000_000
SECOND = 1000 * MS
TIMES = np.array([-2_000, -1_700, 300, 1_000, 1_001, 4_500]) * MS
UNEVEN = np.array([0, 1_000, 1_800, 4_000, 5_500]) * MS
ENDS = list(itertools.product(OUTSIDE, OUTSIDE))


def poses(count: int, seed: int = 0) -> FloatArray:
    generator = np.random.default_rng(seed)
    return np.hstack([generator.normal(size=(count, 3)), Rotation.random(count, rng=generator).as_quat()])


def about_z(degrees: Sequence[float] | FloatArray) -> FloatArray:
    half = np.radians(degrees) / 2.0
    turned = np.zeros((len(degrees), 7))
    turned[:, 5], turned[:, 6] = np.sin(half), np.cos(half)
    return turned


def motion(
    times_ns: Sequence[int] | IntArray = TIMES,
    knots: FloatArray | None = None,
    interpolation: str = "slerp",
    before: str = "hold",
    after: str = "hold",
    seed: int = 0,
) -> Motion:
    knots = poses(len(times_ns), seed) if knots is None else knots
    return Motion("moving", "map", np.asarray(times_ns), knots, interpolation, before, after)


def engine_of(moving: Sequence[tuple[int, Motion]], start_ns: int, step_ns: int) -> KeyframeEngine:
    """The engine of motions on some rows of frames 0, 1, 2, ..."""
    names = [str(row) for row, _ in moving]
    columns = pose_columns([str(row) for row in range(1 + max(row for row, _ in moving))])
    return KeyframeEngine(names, [motion for _, motion in moving], start_ns, step_ns, columns)


def sampled(motions: Sequence[Motion], times_ns: IntArray) -> FloatArray:
    """The poses (T, M, 7) of motions at times (T,), each reached in one call from the earliest."""
    start_ns = int(min(times_ns))
    moved = engine_of(tuple(enumerate(motions)), start_ns, 1)
    out = np.full((len(times_ns), len(motions), 7), np.nan)
    for row, time_ns in zip(out, times_ns, strict=True):
        moved.reset(0)
        moved.step(int(time_ns) - start_ns)
        moved.write(row, 0)
    return out


def folded(begin: int, end: int, before: str, after: str, time_ns: int) -> int:
    """The time on a motion's own keyframes, as a reader of the documentation would work it out."""
    if begin <= time_ns < end:
        return time_ns
    rule = before if time_ns < begin else after
    if rule == "hold":
        return begin if time_ns < begin else end
    span = end - begin
    if rule == "loop":
        return begin + (time_ns - begin) % span
    there_and_back = (time_ns - begin) % (2 * span)
    return begin + min(there_and_back, 2 * span - there_and_back)


def assert_same_pose(found: FloatArray, expected: FloatArray, atol: float) -> None:
    """Positions and rotations; q and -q are one rotation."""
    np.testing.assert_allclose(found[..., :3], expected[..., :3], rtol=0, atol=atol)
    sign = np.where(np.sum(found[..., 3:] * expected[..., 3:], axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
    np.testing.assert_allclose(found[..., 3:], sign * expected[..., 3:], rtol=0, atol=atol)


def by_scipy(moving: Motion, times_ns: npt.ArrayLike) -> FloatArray:
    """Slerp and straight lines at times within the keyframes: scipy.spatial and numpy.interp.

    Both count in nanoseconds from the first keyframe, whole numbers that a double holds exactly.
    """
    knots, instants = (np.asarray(t) - moving.times_ns[0] for t in (moving.times_ns, times_ns))
    instants = np.clip(instants, 0, knots[-1])
    position = np.stack([np.interp(instants, knots, moving.poses[:, axis]) for axis in range(3)], axis=-1)
    return np.hstack([position, Slerp(knots, Rotation.from_quat(moving.poses[:, 3:]))(instants).as_quat()])


# Between the keyframes


@pytest.mark.parametrize("seed", range(5))
def test_slerp_and_linear_equal_scipy(seed: int) -> None:
    """At 400 random instants, to a few units in the last place of a double."""
    moving = motion(seed=seed)
    times_ns = np.random.default_rng(seed).integers(TIMES[0], TIMES[-1], 400)
    assert_same_pose(sampled([moving], times_ns)[:, 0], by_scipy(moving, times_ns), 1e-14)


def test_slerp_turns_at_constant_rate() -> None:
    """A quarter turn about z in one second: half the angle is a linear function of time (closed form)."""
    moving = motion([0, SECOND], about_z([0.0, 90.0]))
    times_ns = np.arange(0, 1001) * MS
    found = sampled([moving], times_ns)[:, 0]
    half = np.radians(90.0) / 2.0 * times_ns * 1e-9
    expected = np.stack([0 * half, 0 * half, np.sin(half), np.cos(half)], axis=-1)
    np.testing.assert_allclose(found[:, 3:], expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_catmull_rom_positions_equal_scipys_cubic(seed: int) -> None:
    """Hermite cubics with the velocities of numpy's second-order gradient, at rest at both held ends."""
    moving = motion(UNEVEN, poses(5, seed), "catmull_rom")
    seconds, knots_s = np.linspace(0.0, 5.5, 276), UNEVEN * 1e-9
    velocity = np.gradient(moving.poses[:, :3], knots_s, axis=0)
    velocity[[0, -1]] = 0.0
    expected = CubicHermiteSpline(knots_s, moving.poses[:, :3], velocity)(seconds)
    found = sampled([moving], np.round(seconds * 1e9).astype(np.int64))[:, 0, :3]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def laps_of(times_s: FloatArray, values: FloatArray, rule: str) -> tuple[FloatArray, FloatArray]:
    """Three laps of keyframes (K,) and (K, D) as a motion goes on outside of them, the middle one its own."""
    span = times_s[-1] - times_s[0]
    if rule == "hold":
        times = [times_s[:1] - span, times_s, times_s[-1:] + span]
        return np.concatenate(times), np.concatenate([values[:1], values, values[-1:]])
    if rule == "loop":
        times = [times_s[:-1] - span, times_s, times_s[1:] + span]
        return np.concatenate(times), np.concatenate([values[:-1], values, values[1:]])
    back = times_s[0] + times_s[-1] - times_s[::-1]
    times = [back[:-1] - span, times_s, back[1:] + span]
    return np.concatenate(times), np.concatenate([values[::-1][:-1], values, values[::-1][1:]])


@pytest.mark.parametrize("seed", only(range(3), 0))
@pytest.mark.parametrize("rule", OUTSIDE)
def test_smooth_is_scipys_pchip_of_the_keyframes_as_they_go_on(rule: str, seed: int) -> None:
    """Held, gone round or turned back: PCHIP of several laps of positions, and of the angle about one axis."""
    generator = np.random.default_rng(seed)
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    values = np.hstack([generator.normal(size=(5, 3)), generator.uniform(-1.5, 1.5, (5, 1))])
    if rule == "loop":
        values[-1] = values[0]
    knots = np.hstack([values[:, :3], Rotation.from_rotvec(values[:, 3:] * axis).as_quat()])
    moving = motion(UNEVEN, knots, "smooth", rule, rule)
    seconds = np.linspace(-3.0, 8.5, 461)
    expected = PchipInterpolator(*laps_of(UNEVEN * 1e-9, values, rule))(seconds)
    found = sampled([moving], np.round(seconds * 1e9).astype(np.int64))[:, 0]
    np.testing.assert_allclose(found[:, :3], expected[:, :3], rtol=0, atol=1e-12)
    apart = Rotation.from_rotvec(expected[:, 3:] * axis).inv() * Rotation.from_quat(found[:, 3:])
    assert apart.magnitude().max() < 1e-12


def test_smooth_flies_level_between_keyframes_of_one_height() -> None:
    """Up to 10 m, level for six seconds, down: Catmull-Rom rises to 15 m in between, and keeps doing so."""
    knots = np.zeros((4, 7))
    knots[:, 0], knots[:, 2], knots[:, 6] = [0, 0, 40, 42], [0.1, 10, 10, 2], 1.0
    motions = [motion(np.array([0, 2, 8, 10]) * SECOND, knots, kind) for kind in CURVED]
    heights = sampled(motions, np.arange(2_000, 8_001, 10) * MS)[:, :, 2]
    np.testing.assert_allclose(heights[:, 0], 10.0, rtol=0, atol=4e-15)
    assert heights[:, 1].max() == pytest.approx(15.05, abs=0.005)


def test_step_stays_at_the_keyframe_before() -> None:
    """Down to the nanosecond before the next one."""
    moving = motion(interpolation="step")
    times_ns = np.concatenate([TIMES, TIMES[1:] - 1, TIMES[:-1] + 1])
    expected = moving.poses[np.concatenate([np.arange(6), np.arange(5), np.arange(5)])]
    np.testing.assert_array_equal(sampled([moving], times_ns)[:, 0], expected)


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_keyframes_are_passed_exactly(interpolation: str) -> None:
    """The position bit for bit, the quaternion but for its sign."""
    moving = motion(interpolation=interpolation)
    found = sampled([moving], TIMES)[:, 0]
    np.testing.assert_array_equal(found[:, :3], moving.poses[:, :3])
    np.testing.assert_array_equal(np.abs(found[:, 3:]), np.abs(moving.poses[:, 3:]))
    assert_same_pose(found, moving.poses, 0.0)


@pytest.mark.parametrize(("before", "after"), ENDS)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_a_single_keyframe_stands_still(interpolation: str, before: str, after: str) -> None:
    """Bit for bit, at all times."""
    moving = motion([5 * SECOND], poses(1), interpolation, before, after)
    times_ns = np.array([-(10**18), 0, 5 * SECOND - 1, 5 * SECOND, 5 * SECOND + 1, 5_400 * MS, 6 * SECOND, 10**18])
    np.testing.assert_array_equal(sampled([moving], times_ns)[:, 0], np.tile(moving.poses, (len(times_ns), 1)))


# Before the first keyframe and after the last


def boundary_times() -> IntArray:
    """Every fold of the keyframes' span, a nanosecond either side, and 200 instants between."""
    span = int(TIMES[-1] - TIMES[0])
    folds = [int(TIMES[0]) + lap * span for lap in range(-4, 6)]
    near = [fold + offset for fold in folds for offset in (-1, 0, 1)]
    return np.array(near + np.random.default_rng(7).integers(folds[0], folds[-1], 200).tolist())


@pytest.mark.parametrize(("before", "after"), ENDS)
def test_time_outside_folds_as_documented(before: str, after: str) -> None:
    """slerp and step beside the scalar oracle at every combination and every exact boundary."""
    times_ns = boundary_times()
    phases = [folded(int(TIMES[0]), int(TIMES[-1]), before, after, t) for t in times_ns.tolist()]
    slerps, steps = (motion(interpolation=kind, before=before, after=after) for kind in ("slerp", "step"))
    found = sampled([slerps, steps], times_ns)
    assert_same_pose(found[:, 0], by_scipy(slerps, phases), 1e-14)
    standing = [min(bisect_right(TIMES.tolist(), phase) - 1, len(TIMES) - 1) for phase in phases]
    assert_same_pose(found[:, 1], steps.poses[standing], 0.0)


# The folding of time does not depend on the curve.
@pytest.mark.parametrize("kind", only(CURVED, 0))
@pytest.mark.parametrize(("before", "after"), only(ENDS, 0, 4, 8))
def test_a_curve_outside_is_itself_inside(before: str, after: str, kind: str) -> None:
    """Folding time does not change the curve: the same motion at the folded time, bit for bit but for the sign."""
    times_ns = boundary_times()
    phases = [folded(int(TIMES[0]), int(TIMES[-1]), before, after, t) for t in times_ns.tolist()]
    moving = motion(interpolation=kind, before=before, after=after)
    last = [phase == TIMES[-1] for phase in phases]
    inside = sampled([moving], np.array(phases) - last)[:, 0]
    found = sampled([moving], times_ns)[:, 0]
    inside[last] = moving.poses[-1]  # a loop is never at its end, so it cannot be asked for there
    assert_same_pose(found, inside, 0.0)


def test_a_loop_begins_anew_at_its_end() -> None:
    """At the last keyframe's very instant it is at the first, a nanosecond before it is not."""
    moving = motion(after="loop")
    at_end, just_before = sampled([moving], np.array([TIMES[-1], TIMES[-1] - 1]))[:, 0]
    assert_same_pose(at_end, moving.poses[0], 0.0)
    assert_same_pose(just_before, moving.poses[-1], 1e-8)


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_hours_later_a_loop_is_exact(interpolation: str) -> None:
    """A hundred days of laps of 0.3 s: the same bits as in the first lap."""
    moving = motion([0, 100 * MS, 300 * MS], None, interpolation, "loop", "loop")
    first = np.arange(0, 300 * MS, 7_654_321)
    laps = 100 * 86_400 * 10 // 3
    found = sampled([moving], np.concatenate([first, first + laps * 300 * MS, first - laps * 300 * MS]))[:, 0]
    early, late, ago = np.split(found, 3)
    for other in (late, ago):
        assert_same_pose(other, early, 0.0)


# Many motions at once


def lists_of_knots() -> st.SearchStrategy[Any]:
    """Strictly increasing times in nanoseconds, some motions with one or two keyframes, some with two hundred."""
    instants = st.integers(-(10**12), 10**12)
    return st.one_of(
        st.lists(instants, min_size=1, max_size=3, unique=True),
        st.lists(st.integers(-50, 50), min_size=1, max_size=40, unique=True),
        st.lists(instants, min_size=100, max_size=200, unique=True),
    ).map(sorted)


# Takes seconds: make test has curves between keyframes against scipy.
@pytest.mark.nightly
@given(st.lists(lists_of_knots(), min_size=1, max_size=8), st.lists(st.integers(-(10**12), 10**12), max_size=5))
def test_each_motion_finds_its_own_keyframe(all_times: Sequence[Sequence[int]], others: Sequence[int]) -> None:
    """The search of all motions at once beside bisect: a step motion whose x is the keyframe's number tells it."""
    motions = []
    for times in all_times:
        knots = np.zeros((len(times), 7))
        knots[:, 0], knots[:, 6] = np.arange(len(times)), 1.0
        motions.append(motion(times, knots, "step"))
    asked = sorted({t + offset for times in all_times for t in times[:: 1 + len(times) // 5] for offset in (-1, 0, 1)})
    asked += others
    found = sampled(motions, np.array(asked))[:, :, 0]
    expected = [[max(bisect_right(times, t) - 1, 0) for times in all_times] for t in asked]
    np.testing.assert_array_equal(found, expected)


# Takes seconds: make test has curves between keyframes against scipy.
@pytest.mark.nightly
def test_an_engine_of_many_is_many_engines_of_one() -> None:
    """All interpolations and ends side by side, bit for bit; other rows stay untouched."""
    motions = [
        motion(TIMES[: 2 + i % 5], None, kind, before, after, seed=i)
        for i, (kind, (before, after)) in enumerate(itertools.product(INTERPOLATIONS, ENDS))
    ]
    rows = np.random.default_rng(0).permutation(40)[: len(motions)]
    together = engine_of(tuple(zip(rows.tolist(), motions, strict=True)), -10 * SECOND, 370 * MS)
    alone = [engine_of(((0, each),), -10 * SECOND, 370 * MS) for each in motions]
    all_poses, own = np.full((40, 7), np.nan), np.empty((1, 7))
    for _ in range(80):
        together.write(all_poses, 0)
        for row, each in zip(rows, alone, strict=True):
            each.write(own, 0)
            np.testing.assert_array_equal(all_poses[row], own[0])
            each.step(1)
        together.step(1)
    assert np.isnan(np.delete(all_poses, rows, axis=0)).all()


# Time


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20))
def test_steps_add_up(parts: Sequence[int]) -> None:
    """n calls of one step, one call of n, and any split between give the same bits."""
    motions = [motion(interpolation=kind, before="loop", after="pingpong") for kind in INTERPOLATIONS]
    results = []
    for calls in (parts, [sum(parts)], [1] * sum(parts)):
        moved = engine_of(tuple(enumerate(motions)), -3 * SECOND, 33_333_333)
        for steps in calls:
            moved.step(steps)
        out = np.empty((len(motions), 7))
        moved.write(out, 0)
        results.append(out.tobytes())
    assert len(set(results)) == 1


def test_many_instants_at_once_are_the_same_one_by_one() -> None:
    """Bit for bit, for all interpolations and ends."""
    motions = [
        motion(UNEVEN, None, kind, before, after, seed=i)
        for i, (kind, (before, after)) in enumerate(itertools.product(INTERPOLATIONS, ENDS))
    ]
    times_ns = np.sort(np.random.default_rng(3).integers(-12 * SECOND, 18 * SECOND, 60))
    np.testing.assert_array_equal(Motions(motions).at(times_ns), sampled(motions, times_ns))


def test_ahead_is_time_between_steps() -> None:
    """`ahead_ns` after a step of 10 ms is a step of an engine that steps by nanoseconds, bit for bit."""
    motions = [motion(interpolation=kind, before="pingpong", after="loop") for kind in INTERPOLATIONS]
    coarse = engine_of(tuple(enumerate(motions)), -5 * SECOND, 10 * MS)
    fine = engine_of(tuple(enumerate(motions)), -5 * SECOND, 1)
    coarse.step(700)
    fine.step(700 * 10 * MS)
    left, right = np.empty((2, len(motions), 7))
    for ahead in (0, 1, 4_999_999, 9_999_999):
        coarse.write(left, ahead)
        fine.write(right, 0)
        fine.step(ahead)
        fine.write(right, 0)
        fine.reset(0)
        fine.step(700 * 10 * MS)
        np.testing.assert_array_equal(left, right)


def test_reset_goes_back_to_the_start() -> None:
    moved = engine_of(((0, motion()),), -SECOND, MS)
    first, again = np.empty((2, 1, 7))
    moved.write(first, 0)
    moved.step(1234)
    moved.reset(99)
    moved.write(again, 0)
    np.testing.assert_array_equal(first, again)


# Without corners, without flips


def one_sided_velocity(moving: Motion, time_ns: int, side: int) -> FloatArray:
    """Third-order differences before (-1) or after (+1) an instant; angular by scipy, in the child's axes."""
    h_ns = 20_000
    offsets = side * np.arange(4) * h_ns
    offsets[0] += side < 0 and -1  # an instant belongs to what follows it
    found = sampled([moving], time_ns + offsets)[:, 0]
    weights = side * np.array([-11.0, 18.0, -9.0, 2.0]) / (6.0 * h_ns * 1e-9)
    turns = (Rotation.from_quat(found[0, 3:]).inv() * Rotation.from_quat(found[:, 3:])).as_rotvec()
    return np.concatenate([weights @ found[:, :3], weights @ turns])


def assert_no_corner(moving: Motion, instants: Sequence[int]) -> None:
    for time_ns in instants:
        before, after = (one_sided_velocity(moving, int(time_ns), side) for side in (-1, 1))
        np.testing.assert_allclose(before, after, rtol=0, atol=2e-3 * (1.0 + np.abs(before).max()))


@pytest.mark.parametrize("kind", CURVED)
@pytest.mark.parametrize("seed", only(range(4), 0))
def test_a_curve_has_no_corner_at_keyframes_nor_at_a_loops_seam(seed: int, kind: str) -> None:
    """Velocities from both sides agree at every keyframe, over several laps both ways in time."""
    knots = poses(5, seed)
    knots[-1] = knots[0]
    moving = motion(UNEVEN, knots, kind, "loop", "loop")
    assert_no_corner(moving, [*UNEVEN, *(UNEVEN + 3 * 5_500 * MS), *(UNEVEN - 2 * 5_500 * MS)])


@pytest.mark.parametrize("kind", CURVED)
def test_a_seam_may_be_off_by_what_files_round_away(kind: str) -> None:
    """Seven digits say the same pose a little differently; the loop is closed all the same."""
    knots = poses(5)
    knots[-1] = knots[0]
    for error in (1e-9, 3e-8, 5e-7):
        knots[-1, :3] = knots[0, :3] + error
        knots[-1, 3:] = (Rotation.from_quat(knots[0, 3:]) * Rotation.from_rotvec([error, 0, 0])).as_quat()
        assert_no_corner(motion(UNEVEN, knots, kind, "hold", "loop"), [5_500 * MS])


@pytest.mark.parametrize("kind", CURVED)
@pytest.mark.parametrize("error", [1.5e-6, 2e-6, 3e-6, 1e-3, 1.0])
def test_a_loop_that_does_not_meet_itself_jumps(error: float, kind: str) -> None:
    """Whatever the gap: the keyframes are passed, nothing is bent to close it."""
    knots = poses(5)
    knots[-1] = knots[0]
    knots[-1, 3:] = (Rotation.from_quat(knots[0, 3:]) * Rotation.from_rotvec([error, 0, 0])).as_quat()
    moving = motion(UNEVEN, knots, kind, "hold", "loop")
    just_before, at_end = sampled([moving], np.array([5_500 * MS - 1, 5_500 * MS]))[:, 0]
    assert_same_pose(just_before, moving.poses[-1], 1e-7)
    assert_same_pose(at_end, moving.poses[0], 0.0)


@pytest.mark.parametrize("kind", only(CURVED, 0))
@pytest.mark.parametrize("ends", ["hold", "pingpong"])
def test_a_curve_comes_to_rest_where_it_is_held_or_turns_back(ends: str, kind: str) -> None:
    """No corner there either, over several turns."""
    moving = motion(UNEVEN, poses(5), kind, ends, ends)
    turns = [lap * 5_500 * MS for lap in range(-2, 4)]
    assert_no_corner(moving, [*UNEVEN, *turns])
    for turn in turns:
        for side in (-1, 1):
            np.testing.assert_allclose(one_sided_velocity(moving, turn, side), 0.0, rtol=0, atol=2e-3)


def least_dot_of_neighbours(motions: Sequence[Motion], times_ns: IntArray) -> float:
    """Over all motions; a quaternion that flips its sign is near -1 times the one before."""
    q = Motions(motions).at(times_ns)[:, :, 3:]
    return float(np.sum(q[1:] * q[:-1], axis=-1).min())


@pytest.mark.parametrize("turns", [0.5, 1.0, 2.0])
def test_no_quaternion_flips_over_many_laps(turns: float) -> None:
    """Whole turns end in -q of the start when their number is odd; the next lap goes on from there."""
    knots = about_z(np.linspace(0.0, 360.0 * turns, 9))
    if turns == 0.5:  # there and back, as a closed loop
        knots = np.vstack([knots, knots[-2::-1]])
    times = np.arange(len(knots)) * 100 * MS
    motions = [motion(times, knots, kind, *ends) for kind in ("slerp", *CURVED) for ends in ENDS]
    span = int(times[-1])
    assert least_dot_of_neighbours(motions, np.arange(-5 * span, 5 * span, span // 200)) > 0.99


# Takes seconds: make test has curves between keyframes against scipy.
@pytest.mark.nightly
@pytest.mark.parametrize("kind", only(CURVED, 1))
def test_a_curve_that_swings_wide_does_not_flip(kind: str) -> None:
    """Random knots far apart: an arc may come in at its end in the other hemisphere than the shortest one."""
    motions = []
    for seed in range(60):
        knots, spacing = poses(4, seed), np.random.default_rng(seed).integers(2, 20, 3)
        knots[-1] = knots[0]
        motions.append(motion(np.cumsum([0, *spacing]) * 100 * MS, knots, kind, "loop", "loop"))
    assert least_dot_of_neighbours(motions, np.arange(-8 * SECOND, 8 * SECOND, 2 * MS)) > 0.97


# The registry of engines


def test_a_world_without_motions_needs_no_engine() -> None:
    still = World("still", frames=(StaticFrame("a", "map", poses(1)[0]),))
    assert engines_for(still, lay_out(still), pose_columns(["map", "a"])) == {}


def test_a_world_with_motions_is_moved_by_keyframes() -> None:
    world = World("moving", time=TimeGrid(0, MS), motions=(motion(),))
    (moved,) = engines_for(world, lay_out(world), pose_columns(["map", "moving"])).values()
    assert isinstance(moved, KeyframeEngine)


def test_a_second_engine_of_one_name_is_refused_and_both_are_named() -> None:
    def opener(world: Any, layout: Any, columns: Any) -> Any:
        return None

    both = r"'keyframes': both sim_node\.simulation\.physics\.keyframes and .*test_keyframes"
    with pytest.raises(ValueError, match=both):
        engine("keyframes")(opener)
    assert ENGINES["keyframes"] is not opener
