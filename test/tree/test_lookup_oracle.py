"""Lookups in random trees with random histories against a slow, obvious oracle: longdouble matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.tree import (
    Disconnected,
    Extrapolation,
    FutureExtrapolation,
    PastExtrapolation,
    TransformError,
    TransformTree,
)

LD = np.longdouble
SECOND = 1_000_000_000


def matrix(position: npt.NDArray[Any], q: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The 4x4 matrix of a pose: Diebel, Representing attitude, 2006, equation 125."""
    x, y, z, w = (LD(c) for c in q)
    m = np.eye(4, dtype=LD)
    m[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    m[:3, 3] = position
    return m


def inverse(m: npt.NDArray[Any]) -> npt.NDArray[Any]:
    back = np.eye(4, dtype=LD)
    back[:3, :3] = m[:3, :3].T
    back[:3, 3] = -(m[:3, :3].T @ m[:3, 3])
    return back


def slerp(a: npt.NDArray[Any], b: npt.NDArray[Any], u: Any) -> npt.NDArray[Any]:
    if a @ b < 0:
        b = -b
    angle = np.arccos(min(a @ b, LD(1)))
    if angle < LD(1e-9):
        return np.asarray(a + u * (b - a))
    return np.asarray((np.sin((1 - u) * angle) * a + np.sin(u * angle) * b) / np.sin(angle))


@dataclass(repr=False)
class Oracle:
    """entries: child -> list of (stamp, parent, pose), by stamp; static: child -> (parent, pose)."""

    entries: dict[str, list[tuple[int, str, FloatArray]]] = field(default_factory=dict)
    static: dict[str, tuple[str, FloatArray]] = field(default_factory=dict)

    def end(self, frame: str, stamp: int, tolerance: int) -> type[Extrapolation] | None:
        """None inside the history, or the error that a stamp outside it is."""
        history = self.entries[frame]
        if stamp < history[0][0] - tolerance:
            return PastExtrapolation
        return FutureExtrapolation if stamp > history[-1][0] + tolerance else None

    def parent(self, frame: str, stamp: int, tolerance: int) -> str | None:
        if frame in self.static:
            return self.static[frame][0]
        if frame not in self.entries:
            return None
        history = self.entries[frame]
        if self.end(frame, stamp, tolerance):
            return None
        return next((parent for at, parent, _ in reversed(history) if at <= stamp), history[0][1])

    def edge(self, frame: str, stamp: int, tolerance: int) -> npt.NDArray[Any]:
        if frame in self.static:
            pose = self.static[frame][1]
            return matrix(pose[:3], pose[3:])
        if error := self.end(frame, stamp, tolerance):
            raise error("t", "s", "f", 0, 0, 0, 0)
        history = self.entries[frame]
        before = [entry for entry in history if entry[0] <= stamp]
        after = [entry for entry in history if entry[0] > stamp]
        if not before or not after or before[-1][0] == stamp or before[-1][1] != after[0][1]:
            pose = (before[-1] if before else after[0])[2]
            return matrix(pose[:3], pose[3:])
        (t0, _, a), (t1, _, b) = before[-1], after[0]
        c, d, u = a.astype(LD), b.astype(LD), LD(stamp - t0) / LD(t1 - t0)
        return matrix(c[:3] + u * (d[:3] - c[:3]), slerp(c[3:], d[3:], u))

    def line(self, frame: str, stamp: int, tolerance: int) -> list[str]:
        line = [frame]
        while (parent := self.parent(line[-1], stamp, tolerance)) is not None:
            line.append(parent)
        return line

    def latest_line(self, frame: str) -> list[str]:
        return self.line(frame, 10**18, 2 * 10**18)

    def latest(self, target: str, source: str) -> int:
        on_the_way = set(self.latest_line(source)) ^ set(self.latest_line(target))
        newest = [self.entries[frame][-1][0] for frame in on_the_way if frame in self.entries]
        return min(newest, default=0)

    def lookup(self, target: str, source: str, stamp: int, tolerance: int) -> npt.NDArray[Any]:
        up, down = self.line(source, stamp, tolerance), self.line(target, stamp, tolerance)
        common = next((frame for frame in up if frame in down), None)
        if common is None:
            connected = set(self.latest_line(target)) & set(self.latest_line(source))
            cut_short = up[-1] in self.entries or down[-1] in self.entries
            raise (
                PastExtrapolation("t", "s", "f", 0, 0, 0, 0)
                if connected and cut_short
                else Disconnected("t", "s", "a", "b")
            )
        there = np.eye(4, dtype=LD)
        for frame in up[: up.index(common)]:
            there = self.edge(frame, stamp, tolerance) @ there
        back = np.eye(4, dtype=LD)
        for frame in down[: down.index(common)]:
            back = self.edge(frame, stamp, tolerance) @ back
        return inverse(back) @ there


@dataclass(repr=False)
class Case:
    tree: TransformTree
    oracle: Oracle
    names: list[str]


@st.composite
def cases(draw: st.DrawFn, reparenting: bool = True) -> Case:
    """A tree of up to ten frames, some static, some that hang now here and now there, stored in random order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.integers(2, 10))
    names = [f"frame{i}" for i in range(count)]
    oracle, tree = Oracle(), TransformTree()
    rows = []
    for child in range(draw(st.integers(1, 2)) if count > 2 else 1, count):
        parent = int(rng.integers(child))
        if rng.random() < 0.25:
            pose = random_pose(rng)
            oracle.static[names[child]] = (names[parent], pose)
            tree.set_transform(names[parent], names[child], 0, pose, static=True)
            continue
        stamps = np.unique(rng.integers(0, 3 * SECOND, rng.integers(1, 100)))
        pose, history = random_pose(rng), []
        for stamp in stamps.tolist():
            if reparenting and rng.random() < 0.1:
                parent = int(rng.integers(child))
            history.append((stamp, names[parent], pose))
            rows.append((names[parent], names[child], stamp, pose))
            pose = nearby(pose, rng) if rng.random() < 0.9 else random_pose(rng)
        oracle.entries[names[child]] = history
    order = (
        sorted(rows, key=lambda row: row[2]) if rng.random() < 0.5 else [rows[i] for i in rng.permutation(len(rows))]
    )
    if order:
        parents, children, times, poses = zip(*order, strict=True)
        tree.set_transforms(parents, children, np.array(times), np.array(poses))
    known = sorted(set(oracle.static) | set(oracle.entries))
    known = sorted(set(known) | {p for p, _ in oracle.static.values()})
    known = sorted(set(known) | {p for history in oracle.entries.values() for _, p, _ in history})
    return Case(tree, oracle, known)


def random_pose(rng: np.random.Generator) -> FloatArray:
    q = rng.normal(size=4)
    return np.concatenate([rng.normal(size=3), q / np.linalg.norm(q)])


def nearby(pose: FloatArray, rng: np.random.Generator) -> FloatArray:
    moved = pose + 0.01 * rng.normal(size=7)
    moved[3:] /= np.linalg.norm(moved[3:]) * rng.choice([-1, 1])
    return moved


def assert_same(pose: FloatArray, expected: npt.NDArray[Any]) -> None:
    found = matrix(pose[:3], pose[3:])
    assert abs(np.linalg.norm(pose[3:]) - 1) < 1e-14
    np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=0, atol=1e-12)


@given(case=cases(), stamp=st.integers(-SECOND // 4, 13 * SECOND // 4), data=st.data())
def test_lookup_equals_the_matrix_product(case: Case, stamp: int, data: st.DataObject) -> None:
    target, source = (data.draw(st.sampled_from(case.names)) for _ in range(2))
    tolerance = data.draw(st.sampled_from([0, SECOND // 10, SECOND]))
    try:
        expected = case.oracle.lookup(target, source, stamp, tolerance)
    except TransformError as refusal:
        is_disconnected = isinstance(refusal, Disconnected)
        assert not case.tree.can_lookup(target, source, stamp, tolerance)
        with pytest.raises(TransformError) as found:
            case.tree.lookup(target, source, stamp, tolerance)
        assert isinstance(found.value, Disconnected) == is_disconnected
        if isinstance(found.value, Extrapolation):
            history = case.oracle.entries[found.value.frame]
            assert (found.value.oldest_ns, found.value.newest_ns) == (history[0][0], history[-1][0])
            assert case.oracle.end(found.value.frame, stamp, tolerance) is type(found.value)
        return
    assert case.tree.can_lookup(target, source, stamp, tolerance)
    assert_same(case.tree.lookup(target, source, stamp, tolerance), expected)


@given(case=cases(reparenting=False), data=st.data())
def test_without_a_stamp_it_is_the_latest_common_time(case: Case, data: st.DataObject) -> None:
    target, source = (data.draw(st.sampled_from(case.names)) for _ in range(2))
    stamp = case.oracle.latest(target, source)
    try:
        expected = case.oracle.lookup(target, source, stamp, SECOND // 10)
    except TransformError as error:
        with pytest.raises(type(error)):
            case.tree.lookup(target, source)
        return
    assert_same(case.tree.lookup(target, source), expected)


@given(case=cases(), stamps=st.lists(st.integers(0, 3 * SECOND), max_size=40), data=st.data())
def test_many_lookups_equal_one_by_one(case: Case, stamps: Sequence[int], data: st.DataObject) -> None:
    target, source = (data.draw(st.sampled_from(case.names)) for _ in range(2))
    tolerance = 3 * SECOND
    try:
        expected = [case.oracle.lookup(target, source, stamp, tolerance) for stamp in stamps]
    except TransformError as error:
        with pytest.raises(type(error)):
            case.tree.lookup_many(target, source, stamps, tolerance)
        return
    found = case.tree.lookup_many(target, source, stamps, tolerance)
    assert found.shape == (len(stamps), 7)
    for pose, matrix_ in zip(found, expected, strict=True):
        assert_same(pose, matrix_)


@given(case=cases(), stamps=st.tuples(*[st.integers(0, 3 * SECOND)] * 2), data=st.data())
def test_full_lookup_goes_through_the_fixed_frame(case: Case, stamps: tuple[int, int], data: st.DataObject) -> None:
    target, source, fixed = (data.draw(st.sampled_from(case.names)) for _ in range(3))
    at_target, at_source = stamps
    tolerance = case.tree.tolerance_ns
    try:
        there = case.oracle.lookup(fixed, source, at_source, tolerance)
        back = case.oracle.lookup(target, fixed, at_target, tolerance)
    except TransformError:
        with pytest.raises(TransformError):
            case.tree.lookup_full(target, at_target, source, at_source, fixed)
        return
    assert_same(case.tree.lookup_full(target, at_target, source, at_source, fixed), back @ there)


@given(case=cases(), stamp=st.integers(0, 3 * SECOND), data=st.data())
def test_a_lookup_and_its_inverse_cancel(case: Case, stamp: int, data: st.DataObject) -> None:
    target, source = (data.draw(st.sampled_from(case.names)) for _ in range(2))
    if case.tree.can_lookup(target, source, stamp):
        there, back = case.tree.lookup(target, source, stamp), case.tree.lookup(source, target, stamp)
        product = matrix(there[:3], there[3:]) @ matrix(back[:3], back[3:])
        np.testing.assert_allclose(product.astype(float), np.eye(4), rtol=0, atol=1e-13)


def test_a_chain_of_a_thousand_frames() -> None:
    """Depth has no limit; a screw of N equal steps about z has the closed form of the N-gon."""
    n, angle = 1000, 0.01
    tree = TransformTree()
    step = [1.0, 0.0, 0.0, 0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2)]
    names = [f"link{i}" for i in range(n + 1)]
    tree.set_transforms(names[:-1], names[1:], 0, np.tile(step, (n, 1)))
    end = np.exp(1j * angle * n)
    position = (1 - end) / (1 - np.exp(1j * angle))
    found = tree.lookup("link0", f"link{n}")
    np.testing.assert_allclose(found[:2], [position.real, position.imag], atol=1e-10)
    np.testing.assert_allclose(found[5:], [np.sin(n * angle / 2), np.cos(n * angle / 2)], atol=1e-12)
