"""The rules of lookups, one by one; most are those of tf2 (geometry2, buffer_core and time_cache)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from sim_node.spatial.tree import (
    Disconnected,
    FutureExtrapolation,
    InvalidTransform,
    PastExtrapolation,
    TransformTree,
    UnknownFrame,
)

SECOND = 1_000_000_000
MILLI = 1_000_000
HALF = np.sqrt(0.5)


def at(
    x: float, y: float = 0.0, z: float = 0.0, q: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
) -> list[float]:
    return [float(x), float(y), float(z), *q]


def test_direct_and_inverse() -> None:
    """A quarter turn about z and a step along x, by hand."""
    tree = TransformTree()
    tree.set_transform("map", "car", 0, at(1, 2, 0, (0, 0, HALF, HALF)))
    np.testing.assert_allclose(tree.lookup("map", "car"), [1, 2, 0, 0, 0, HALF, HALF], atol=1e-15)
    np.testing.assert_allclose(tree.lookup("car", "map"), [-2, 1, 0, 0, 0, -HALF, HALF], atol=1e-15)


def test_siblings_need_no_transform_above_their_common_parent() -> None:
    """tf2 walks to the root and would answer too; here the root's edge is not even looked at."""
    tree = TransformTree(tolerance=0.0)
    tree.set_transform("earth", "map", 0, at(1000))
    for name, x in (("left", 1), ("right", -1)):
        tree.set_transform("map", name, 50 * SECOND, at(x))
    assert tree.lookup("left", "right", 50 * SECOND)[0] == -2


def test_latest_common_time_is_the_oldest_newest_stamp_of_the_dynamic_ones() -> None:
    tree = TransformTree()
    for stamp in (1, 2, 3):
        tree.set_transform("map", "odom", stamp * SECOND, at(stamp))
    for stamp in (1, 2):
        tree.set_transform("odom", "base", stamp * SECOND, at(10 * stamp))
    tree.set_transform("base", "camera", 99 * SECOND, at(100), static=True)
    assert tree.latest_common_time("map", "camera") == 2 * SECOND
    common, pose = tree.lookup_stamped("map", "camera")
    assert (common, pose[0]) == (2 * SECOND, 122)
    assert tree.latest_common_time("base", "camera") is None


def test_static_holds_at_every_time() -> None:
    tree = TransformTree(tolerance=0.0)
    tree.set_transform("map", "mast", 5 * SECOND, at(3), static=True)
    for stamp in (-(10**18), 0, 5 * SECOND, 10**18):
        assert tree.lookup("map", "mast", stamp)[0] == 3


def test_what_was_static_can_become_dynamic_and_back() -> None:
    """The kind of the last transform counts, as in tf2."""
    tree = TransformTree(tolerance=0.0)
    tree.set_transform("map", "mast", 0, at(1), static=True)
    tree.set_transform("map", "mast", SECOND, at(2))
    assert not tree.can_lookup("map", "mast", 5 * SECOND)
    tree.set_transform("map", "mast", 0, at(3), static=True)
    assert tree.lookup("map", "mast", 5 * SECOND)[0] == 3


def test_positions_go_straight_and_rotations_along_the_shorter_arc() -> None:
    """A third of the way of 90 degrees about z is 30 degrees; q and -q are one rotation."""
    for sign in (1, -1):
        tree = TransformTree()
        tree.set_transform("map", "car", 0, at(0))
        tree.set_transform("map", "car", 3 * SECOND, at(3, 6, 9, (0, 0, sign * HALF, sign * HALF)))
        found = tree.lookup("map", "car", SECOND)
        angle = np.radians(30) / 2
        np.testing.assert_allclose(found, [1, 2, 3, 0, 0, np.sin(angle), np.cos(angle)], atol=1e-15)


def test_rotation_is_interpolated_exactly_where_arcs_are_small() -> None:
    """cos and sin of u * angle, on both sides of where the kernel changes its formula (0.14 rad)."""
    for angle in (1e-9, 1e-5, 1e-3, 0.05, 0.13, 0.2819, 0.2833, 0.3, 1.0, 3.0):
        tree = TransformTree()
        tree.set_transform("map", "car", 0, at(0))
        tree.set_transform("map", "car", 1000, at(0, 0, 0, (np.sin(angle / 2), 0, 0, np.cos(angle / 2))))
        for stamp in (1, 250, 500, 999):
            found = tree.lookup("map", "car", stamp)
            part = angle / 2 * stamp / 1000
            np.testing.assert_allclose(found[[3, 6]], [np.sin(part), np.cos(part)], rtol=0, atol=4e-16)


def test_exact_stamps_give_exact_poses() -> None:
    """Bit for bit, where the quaternion is unit to the last place."""
    rng = np.random.default_rng(1)
    tree = TransformTree()
    poses = rng.normal(size=(50, 7))
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    for i, pose in enumerate(poses):
        tree.set_transform("map", "car", i * 10 * MILLI, pose)
    for i, pose in enumerate(poses):
        found = tree.lookup("map", "car", i * 10 * MILLI)
        np.testing.assert_array_equal(found[:3], pose[:3])
        np.testing.assert_allclose(found[3:], pose[3:], rtol=0, atol=2.3e-16)


def test_tolerance_holds_the_nearest_end() -> None:
    tree = TransformTree(tolerance=0.1)
    tree.set_transform("map", "car", SECOND, at(1))
    tree.set_transform("map", "car", 2 * SECOND, at(2))
    assert tree.lookup("map", "car", SECOND - 100 * MILLI)[0] == 1
    assert tree.lookup("map", "car", 2 * SECOND + 100 * MILLI)[0] == 2
    with pytest.raises(PastExtrapolation):
        tree.lookup("map", "car", SECOND - 100 * MILLI - 1)
    with pytest.raises(FutureExtrapolation):
        tree.lookup("map", "car", 2 * SECOND + 100 * MILLI + 1)
    assert tree.lookup("map", "car", 3 * SECOND, tolerance_ns=SECOND)[0] == 2
    with pytest.raises(FutureExtrapolation):
        tree.lookup("map", "car", 2 * SECOND + 1, tolerance_ns=0)


def test_between_two_parents_the_older_transform_holds() -> None:
    """tf2's TimeCache.getData: entries with different parents are not interpolated."""
    tree = TransformTree()
    tree.set_transform("map", "gripper", 0, at(100), static=True)
    tree.set_transform("map", "box", 1 * SECOND, at(1))
    tree.set_transform("map", "box", 2 * SECOND, at(2))
    tree.set_transform("gripper", "box", 3 * SECOND, at(-3))
    tree.set_transform("gripper", "box", 4 * SECOND, at(-4))
    assert tree.lookup("map", "box", 3 * SECOND // 2)[0] == 1.5
    assert tree.lookup("map", "box", 5 * SECOND // 2)[0] == 2
    assert tree.lookup("map", "box", 7 * SECOND // 2)[0] == 96.5
    assert tree.parent("box", 5 * SECOND // 2) == "map"
    assert tree.parent("box") == "gripper"
    assert tree.chain("map", "box", 2 * SECOND) == ("box", "map")
    assert tree.chain("map", "box", 4 * SECOND) == ("box", "gripper", "map")
    found = tree.lookup_many("map", "box", [4 * SECOND, 3 * SECOND // 2, 5 * SECOND // 2])
    np.testing.assert_array_equal(found[:, 0], [96, 1.5, 2])


def test_a_parent_inserted_late_lands_in_its_place() -> None:
    tree = TransformTree()
    tree.set_transform("map", "gripper", 0, at(100), static=True)
    for stamp in (1, 2, 4, 5):
        tree.set_transform("map", "box", stamp * SECOND, at(stamp))
    tree.set_transform("gripper", "box", 3 * SECOND, at(0))
    assert tree.lookup("map", "box", 5 * SECOND // 2)[0] == 2
    assert tree.lookup("map", "box", 7 * SECOND // 2)[0] == 100
    assert tree.lookup("map", "box", 9 * SECOND // 2)[0] == 4.5


def test_a_tree_turned_round_in_time() -> None:
    """Until 3 s a carries b, from then on b, which has let go of it, carries a: all are right at their times."""
    tree = TransformTree(tolerance=0.1)
    tree.set_transform("a", "b", 1 * SECOND, at(1))
    tree.set_transform("a", "b", 2 * SECOND, at(1))
    tree.set_transform("map", "b", 3 * SECOND, at(7))
    tree.set_transform("b", "a", 3 * SECOND, at(-5))
    assert tree.lookup("a", "b", 2 * SECOND)[0] == 1
    assert tree.lookup("b", "a", 3 * SECOND)[0] == -5
    assert tree.lookup("map", "a")[0] == 2


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("static", [False, True])
def test_a_batch_turns_a_chain_round_in_any_order(order: Sequence[int], static: bool) -> None:
    """map -> a -> b -> c becomes map -> c -> b -> a; rows of one message have no order among them."""
    tree = TransformTree()
    tree.set_transforms(["map", "a", "b"], ["a", "b", "c"], 0, [at(1)] * 3, static)
    rows = [("map", "c"), ("c", "b"), ("b", "a")]
    parents, children = zip(*(rows[i] for i in order), strict=True)
    tree.set_transforms(parents, children, SECOND, [at(10)] * 3, static)
    assert tree.chain("map", "a") == ("a", "b", "c", "map")
    assert tree.lookup("map", "a")[0] == 30


def test_identity_of_a_known_frame() -> None:
    tree = TransformTree()
    tree.set_transform("map", "car", SECOND, at(1))
    np.testing.assert_array_equal(tree.lookup("car", "car", 10**18), [0, 0, 0, 0, 0, 0, 1])
    assert tree.latest_common_time("car", "car") == SECOND
    with pytest.raises(UnknownFrame):
        tree.lookup("cat", "cat")


def test_full_lookup_of_a_moving_car() -> None:
    """Where is now what was 5 m ahead a second ago, at 3 m/s: 2 m ahead."""
    tree = TransformTree()
    for stamp in range(5):
        tree.set_transform("map", "car", stamp * SECOND, at(3 * stamp))
    tree.set_transform("car", "ahead", 0, at(5), static=True)
    found = tree.lookup_full("car", 2 * SECOND, "ahead", SECOND, "map")
    np.testing.assert_allclose(found, at(2), atol=1e-15)


def test_full_lookup_tells_an_unknown_frame_before_a_stamp_that_is_missing() -> None:
    """As tf2 does: waiting for the stamp would not help."""
    tree = TransformTree()
    tree.set_transform("map", "car", SECOND, at(1))
    with pytest.raises(UnknownFrame, match="cat"):
        tree.lookup_full("cat", SECOND, "car", 5 * SECOND, "map")


@pytest.mark.parametrize(
    ("parent", "child", "pose", "reason"),
    [
        ("car", "car", at(0), "cannot be its own parent"),
        ("car", "/car", at(0), "cannot be its own parent"),
        ("", "car", at(0), "name of a frame is empty"),
        ("map", "/", at(0), "name of a frame is empty"),
        ("map", "car", at(np.nan), "not finite"),
        ("map", "car", at(0, np.inf), "not finite"),
        ("map", "car", at(0, 0, 0, (0, 0, 0, np.nan)), "not finite"),
        ("map", "car", at(0, 0, 0, (0, 0, 0, 0)), "norm is 0, a rotation needs 1"),
        ("map", "car", at(0, 0, 0, (0.5, 0.5, 0.5, 0.48)), "norm is 0.990152"),
        ("wheel", "map", at(0), "closes the loop map -> body -> wheel -> map"),
    ],
)
def test_nothing_invalid_is_stored_and_nothing_is_dropped_in_silence(
    parent: str, child: str, pose: Sequence[float], reason: str
) -> None:
    tree = TransformTree()
    tree.set_transform("map", "body", 0, at(1))
    tree.set_transform("body", "wheel", 0, at(1))
    before = tree.as_dict()
    with pytest.raises(InvalidTransform, match=reason):
        tree.set_transform(parent, child, 0, pose)
    assert tree.as_dict() == before
    assert child.strip("/") not in tree or child == "map"


def test_a_quaternion_that_is_nearly_unit_is_scaled() -> None:
    tree = TransformTree()
    tree.set_transform("map", "car", 0, at(0, 0, 0, (0, 0, 0, 1.004)))
    np.testing.assert_array_equal(tree.lookup("map", "car"), at(0))


def test_the_good_rows_of_a_batch_are_stored() -> None:
    tree = TransformTree()
    poses = np.array([at(i) for i in range(6)])
    poses[2, 0], poses[4, 6] = np.nan, 0.0
    with pytest.raises(InvalidTransform) as error:
        tree.set_transforms(["map"] * 6, [f"f{i}" for i in range(6)], 7, poses)
    assert [(refusal.row, refusal.child, refusal.stamp_ns) for refusal in error.value.refusals] == [
        (2, "f2", 7),
        (4, "f4", 7),
    ]
    assert error.value.of == 6
    assert tree.frames == ("map", "f0", "f1", "f3", "f5")


@pytest.mark.parametrize("static", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("later", [0, 50 * MILLI, 100 * SECOND])
def test_two_publishers_that_each_carry_the_other_are_reported_so(static: Sequence[bool], later: int) -> None:
    """However much later the second one comes, the newest of the first holds until there is a newer one."""
    tree = TransformTree()
    tree.set_transform("map", "a", 0, at(1), static[0])
    tree.set_transform("a", "b", 0, at(1), static[0])
    tree.set_transform("b", "c", 0, at(1), static[0])
    with pytest.raises(InvalidTransform, match=re.escape("c -> a at") + ".*" + re.escape("loop a -> b -> c -> a")):
        tree.set_transform("c", "a", later, at(1), static[1])
    assert tree.chain("map", "c") == ("c", "b", "a", "map")


def test_a_batch_that_closes_a_loop_with_itself_keeps_the_rest() -> None:
    tree = TransformTree()
    with pytest.raises(InvalidTransform) as error:
        tree.set_transforms(["map", "a", "b", "c"], ["d", "b", "c", "a"], 0, [at(1)] * 4)
    assert [(each.row, each.reason) for each in error.value.refusals] == [(3, "closes the loop a -> b -> c -> a")]
    assert tree.chain("a", "c") == ("c", "b", "a")
    assert tree.parent("d") == "map"


def test_a_transform_that_comes_late_may_not_close_a_loop_of_its_time() -> None:
    """From 2 s to 4 s b carried a: that a carried b from 1 s on goes only where b let go of it before 2 s."""
    tree = TransformTree(cache_duration=100.0)
    for stamp, parent in ((0, "map"), (2, "b"), (4, "map")):
        tree.set_transform(parent, "a", stamp * SECOND, at(1))
    tree.set_transform("map", "b", 5 * SECOND, at(1))
    with pytest.raises(InvalidTransform, match="closes the loop b -> a -> b at 2 s"):
        tree.set_transform("a", "b", SECOND, at(1))
    tree.set_transform("map", "b", 3 * SECOND // 2, at(1))
    tree.set_transform("a", "b", SECOND, at(1))
    assert tree.chain("map", "b", SECOND) == ("b", "a", "map")
    assert tree.chain("map", "a", 3 * SECOND) == ("a", "b", "map")


def test_indices_serve_instead_of_names() -> None:
    tree = TransformTree()
    parents, children = tree.indices(["map", "map"]), tree.indices(["a", "b"])
    assert "a" not in tree
    tree.set_transforms(parents, children, [1, 2], np.array([at(1), at(2)]))
    assert tree.lookup("a", "b")[0] == 1
    np.testing.assert_array_equal(tree.indices(["a", "b"]), children)
    with pytest.raises(InvalidTransform, match="index"):
        tree.set_transforms(parents, np.array([1, 99], np.int32), 1, np.array([at(1), at(2)]))


def test_wrong_calls_are_named() -> None:
    tree = TransformTree()
    tree.set_transform("map", "car", 0, at(1))
    with pytest.raises(TypeError):
        tree.lookup("map", "car", 1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs integers"):
        tree.lookup_many("map", "car", [0.5])
    with pytest.raises(TypeError, match="needs integers"):
        tree.set_transforms(["map"], ["car"], 0.5, [at(1)])
    with pytest.raises(ValueError, match=r"2 parents, 1 children, poses \(1, 7\)"):
        tree.set_transforms(["map", "map"], ["car"], 0, [at(1)])
    with pytest.raises(TypeError, match="sequence of names"):
        tree.set_transforms("map", "car", 0, [at(1)])
    with pytest.raises(ValueError, match="needs a contiguous, writeable"):
        tree.lookup("map", "car", out=np.empty(6))
    with pytest.raises(ValueError, match="cache_duration is -1"):
        TransformTree(cache_duration=-1)


def test_out_is_written_and_returned() -> None:
    tree = TransformTree()
    tree.set_transform("map", "car", 0, at(1))
    out = np.zeros(7)
    assert tree.lookup("map", "car", out=out) is out
    np.testing.assert_array_equal(out, at(1))
    assert tree.lookup("map", "car", 0, quantised=True, out=out) is out


def test_disconnected_names_both_roots() -> None:
    tree = TransformTree()
    tree.set_transform("map", "car", 0, at(1))
    tree.set_transform("moon", "rover", 0, at(1))
    with pytest.raises(Disconnected) as error:
        tree.lookup("car", "rover")
    assert (error.value.target_root, error.value.source_root) == ("map", "moon")


def test_a_parent_that_is_not_known_for_that_time_is_an_extrapolation() -> None:
    """The box's first parent is not known before 1 s, so no common root can be named."""
    tree = TransformTree(tolerance=0.0)
    tree.set_transform("map", "box", SECOND, at(1))
    tree.set_transform("map", "belt", 0, at(1), static=True)
    tree.set_transform("belt", "box", 2 * SECOND, at(1))
    with pytest.raises(PastExtrapolation) as error:
        tree.lookup("map", "box", 0)
    assert (error.value.frame, error.value.by_ns) == ("box", SECOND)
