"""No tree ever has a loop, at no time: random reparenting against an oracle that looks at every instant there is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim_node.spatial.tree import InvalidTransform, TransformTree

FRAMES = "abcde"
STAMPS = 12
POSE = np.array([1.0, 0, 0, 0, 0, 0, 1])


@dataclass
class Oracle:
    """What is stored: child -> {stamp: parent}; a static one has the parent alone."""

    moving: dict[str, dict[int, str]] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)

    def parent(self, frame: str, stamp: int) -> str | None:
        if frame in self.static:
            return self.static[frame]
        before = [at for at in self.moving.get(frame, {}) if at <= stamp]
        return self.moving[frame][max(before)] if before else None

    def has_loop(self) -> bool:
        """At some instant, the last of which is after all stamps."""
        for stamp in range(-1, STAMPS + 1):
            for frame in FRAMES:
                at: str | None = frame
                for _ in FRAMES:
                    at = None if at is None else self.parent(at, stamp)
                if at is not None:  # five edges up, and still not at a root
                    return True
        return False

    def copy(self) -> Oracle:
        return Oracle({frame: dict(history) for frame, history in self.moving.items()}, dict(self.static))

    def store(self, parent: str, child: str, stamp: int, static: bool) -> bool:
        """Whether it is stored."""
        before = self.copy()
        if static:
            self.moving.pop(child, None)
            self.static[child] = parent
        else:
            if self.static.pop(child, None) is not None:
                self.moving.pop(child, None)
            self.moving.setdefault(child, {})[stamp] = parent
        if parent == child or self.has_loop():
            self.moving, self.static = before.moving, before.static
            return False
        return True


# Parent, child, stamp.
Row = tuple[str, str, int]
transforms = st.tuples(st.sampled_from(FRAMES), st.sampled_from(FRAMES), st.integers(0, STAMPS - 1))
# One in eight is static: a static one stands in the way of most others.
moves = st.tuples(transforms, st.integers(0, 7).map(lambda n: n == 0))


@given(st.lists(moves, max_size=40))
def test_what_would_close_a_loop_at_any_instant_is_refused_and_nothing_else(
    moves: list[tuple[Row, bool]],
) -> None:
    tree, oracle = TransformTree(cache_duration=1e6, tolerance=0.0), Oracle()
    for (parent, child, stamp), static in moves:
        stored = True
        try:
            tree.set_transform(parent, child, stamp, POSE, static)
        except InvalidTransform:
            stored = False
        assert stored == oracle.store(parent, child, stamp, static), (parent, child, stamp, static)
    for stamp in range(STAMPS):
        for frame in FRAMES:
            if frame in oracle.static or (frame in oracle.moving and stamp <= max(oracle.moving[frame])):
                assert tree.parent(frame, stamp) == oracle.parent(frame, stamp)
    for frame in FRAMES:
        for other in FRAMES:
            tree.can_lookup(frame, other)  # ends


@given(st.lists(st.lists(transforms, min_size=1, max_size=6), max_size=8))
def test_the_order_of_a_batch_of_one_stamp_does_not_matter_where_all_of_it_fits(
    batches: list[list[Row]],
) -> None:
    """Two trees, one given each batch backwards: where either stores all of it, so does the other."""
    there, back = (TransformTree(cache_duration=1e6, tolerance=0.0) for _ in range(2))
    for stamp, batch in enumerate(batches):
        rows = list({child: (parent, child) for parent, child, _ in batch}.values())
        stored = []
        for tree, ordered in ((there, rows), (back, rows[::-1])):
            parents, children = zip(*ordered, strict=True)
            try:
                tree.set_transforms(parents, children, stamp, np.tile(POSE, (len(rows), 1)))
                stored.append(True)
            except InvalidTransform:
                stored.append(False)
        assert stored[0] == stored[1]
        if not stored[0]:
            return
        assert {frame: there.parent(frame) for frame in there.frames} == {
            frame: back.parent(frame) for frame in back.frames
        }
