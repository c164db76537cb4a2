"""Errors carry numbers, say what a person needs, and survive a trip to another process."""

from __future__ import annotations

import pickle

import pytest

from sim_node.spatial.tree import (
    CyclicTree,
    Disconnected,
    Extrapolation,
    FutureExtrapolation,
    InvalidTransform,
    PastExtrapolation,
    TransformError,
    TransformTree,
    UnknownFrame,
)

SECOND = 1_000_000_000


@pytest.fixture
def tree() -> TransformTree:
    tree = TransformTree(tolerance=0.1)
    tree.set_transform("map", "base_link", 1_700_000_000_123_456_789, [0, 0, 0, 0, 0, 0, 1])
    tree.set_transform("base_link", "gripper_left", 0, [0, 0, 0, 0, 0, 0, 1], static=True)
    return tree


def test_unknown_frame_names_the_nearest(tree: TransformTree) -> None:
    with pytest.raises(UnknownFrame, match="frame 'base_lnk' does not exist; did you mean base_link"):
        tree.lookup("map", "base_lnk")
    with pytest.raises(UnknownFrame) as error:
        tree.lookup("map", "/base_link")
    assert error.value.nearest == ("base_link",)
    with pytest.raises(UnknownFrame, match="'zzz' does not exist among 3 known frames"):
        tree.lookup("zzz", "map")


def test_extrapolation_tells_past_from_future_to_the_nanosecond(tree: TransformTree) -> None:
    newest = 1_700_000_000_123_456_789
    with pytest.raises(FutureExtrapolation) as future:
        tree.lookup("map", "gripper_left", newest + 2 * SECOND + 1)
    assert (future.value.requested_ns, future.value.newest_ns) == (newest + 2 * SECOND + 1, newest)
    assert (future.value.by_ns, future.value.frame) == (2 * SECOND + 1, "base_link")
    assert str(future.value) == (
        "extrapolation into the future: 'gripper_left' in 'map' at 1700000002.12345679 s is 2.000000001 s after the "
        "newest transform of 'base_link' (history 1700000000.123456789 s to 1700000000.123456789 s, tolerance 0.1 s)"
    )
    with pytest.raises(PastExtrapolation, match=r"into the past.* is 2 s before the oldest"):
        tree.lookup("map", "gripper_left", newest - 2 * SECOND)
    with pytest.raises(PastExtrapolation):
        tree.lookup_many("map", "gripper_left", [newest, 0])


def test_many_refusals_are_cut_short() -> None:
    tree = TransformTree()
    with pytest.raises(InvalidTransform) as error:
        tree.set_transforms(["a"] * 9, ["b"] * 9, 0, [[0] * 7] * 9)
    assert str(error.value).startswith("9 of 9 transforms refused: [0] a -> b at 0 s: the quaternion's norm is 0")
    assert str(error.value).endswith("; 4 more")


@pytest.mark.parametrize(
    "error",
    [
        UnknownFrame("a", ("b",), 3),
        Disconnected("a", "b", "c", "d"),
        PastExtrapolation("a", "b", "c", 1, 2, 3, 4),
        CyclicTree("a", ("a", "b", "a")),
        InvalidTransform((), 2),
    ],
)
def test_errors_can_be_pickled(error: TransformError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, TransformError)
    assert type(copy) is type(error)
    assert (vars(copy), str(copy)) == (vars(error), str(error))


# Colours, a title of the terminal, a line end with a line of a log behind it, marks of writing direction, a NUL.
HOSTILE = [
    "\x1b[2J\x1b[31mred",
    "\x1b]0;title\x07",
    "a\n[ERROR] forged",
    "gpj.\u202exe",
    "\u2028\u2066x",
    "nul\0",
    "\x9b1m",
]


@pytest.mark.parametrize("name", [*HOSTILE, "x" * 1000, "\x1b" * 1000, "\U000e0001" * 1000])
def test_messages_escape_and_cut_names_that_any_publisher_chooses(name: str) -> None:
    tree = TransformTree(tolerance=0.0)
    pose = [0.0, 0, 0, 0, 0, 0, 1]
    tree.set_transform("map", name, SECOND, pose)
    tree.set_transform(name, "tool", SECOND, pose)
    tree.set_transform("island", "palm", SECOND, pose)
    errors: list[TransformError] = []
    for target, source, stamp in (
        ("map", name + "?", None), ("island", name, None), ("map", name, 9 * SECOND), (name + "s", "map", None),
    ):  # fmt: skip
        with pytest.raises(TransformError) as error:
            tree.lookup(target, source, stamp)
        errors.append(error.value)
    for parent, child, at in ((name, name, pose), ("map", name, [float("nan")] * 7), ("tool", name, pose)):
        with pytest.raises(InvalidTransform) as refused:
            tree.set_transform(parent, child, 2 * SECOND, at)
        errors.append(refused.value)
    errors += [
        CyclicTree(name, (name, "b") * 500),
        Disconnected(name, name, name, name),
        UnknownFrame(name, (name,), 3),
    ]
    for each in errors:
        assert str(each).isprintable()
        assert len(str(each)) < 2000
        assert pickle.loads(pickle.dumps(each)).args == each.args  # the attributes are as they were


def test_a_loop_of_many_frames_is_shown_by_its_ends() -> None:
    tree = TransformTree()
    pose = [0.0, 0, 0, 0, 0, 0, 1]
    for at in range(2000):
        tree.set_transform(f"f{at}", f"f{at + 1}", 0, pose, static=True)
    with pytest.raises(InvalidTransform) as refused:
        tree.set_transform("f2000", "f0", 0, pose, static=True)
    assert len(str(refused.value)) < 500
    assert "(1992 more)" in str(refused.value)


@pytest.mark.parametrize(
    ("stamps_s", "at_s", "said"),
    [
        (
            1795493593,
            12,
            "'arm' in 'map': transforms of 'arm' are stamped by the wall clock (1795493593 s), the lookup is at 12 s "
            "of simulation time; does a publisher lack use_sim_time?",
        ),
        (
            12,
            1795493593,
            "'arm' in 'map': transforms of 'arm' are stamped by simulation time (12 s), the lookup is at 1795493593 s "
            "of the wall clock; does a publisher lack use_sim_time?",
        ),
    ],
)
def test_stamps_of_another_clock_are_said_to_be_that(stamps_s: int, at_s: int, said: str) -> None:
    tree = TransformTree()
    tree.set_transform("map", "arm", stamps_s * 10**9, [0, 0, 0, 0, 0, 0, 1])
    with pytest.raises(Extrapolation) as error:
        tree.lookup("map", "arm", at_s * 10**9)
    assert str(error.value) == said


def test_a_chain_with_a_foreign_transform_has_no_latest_common_time() -> None:
    """As of a driver beside a simulation that does not use /clock: the latest common time is the simulation's."""
    tree = TransformTree()
    tree.set_transform("map", "base", 12 * 10**9, [0, 0, 0, 0, 0, 0, 1])
    tree.set_transform("base", "arm", 1795493593 * 10**9, [0, 0, 0, 0, 0, 0, 1])
    with pytest.raises(Extrapolation, match="transforms of 'arm' are stamped by the wall clock"):
        tree.lookup("map", "arm")
