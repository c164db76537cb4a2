"""Checks that a World can be laid out: names, parents, poses and numbers.

Each problem has the location of its value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sim_node import names
from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_STAMP_NS
from sim_node.world.declared import faults
from sim_node.world.model import MIN_STEP_NS, World
from sim_node.world.part import PARTS, FrameEntry, entries_of_kind, problems_of_kind
from sim_node.world.problems import NO_PLACE, Place, Problem, Where, quoted, shortened

# Comparing two similar names takes about 60 us: in a large world, only the first missing parents get a hint.
MAX_COMPARED = 10_000
# Maximum number of frames of a cycle that a message names.
MAX_IN_CYCLE = 8


def entries_of(world: World) -> list[FrameEntry]:
    """Return every frame of a world, the fixed frame first."""
    root = FrameEntry(world.fixed_frame, "", None, Place(Where(world.source), "fixed_frame"), NO_PLACE)
    return [root, *(entry for kind in PARTS.values() for entry in entries_of_kind(kind, world))]


def tree_problems(entries: Sequence[FrameEntry]) -> Iterator[Problem]:
    """Yield invalid names, duplicate names, missing parents, and frames below themselves."""
    first: dict[str, FrameEntry] = {}
    for entry in entries:
        fault = names.fault(entry.name)
        if fault:
            yield entry.problem(f"the name {quoted(entry.name)} {fault}")
            continue
        there = first.setdefault(entry.name, entry)
        if there is not entry:
            if there is entries[0]:
                yield entry.problem(f"{entry.name!r} is the fixed frame, which has no parent and no pose")
            else:
                at = f", the first is at {there.place.where}" if there.place.where.line else ""
                yield entry.problem(f"a second frame {entry.name!r}{at}")
    hints: dict[str, str] = {}
    for entry in entries[1:]:
        parent = entry.parent
        if parent in first:
            continue
        if parent not in hints:
            hints[parent] = did_you_mean(parent, first) if len(hints) * len(first) < MAX_COMPARED else ""
        yield entry.parent_problem(f"{quoted(parent)} is not a frame of this world{hints[parent]}")
    yield from _cycles(first)


def _cycles(entries: dict[str, FrameEntry]) -> Iterator[Problem]:
    """Yield one problem per loop, at its first frame."""
    seen: set[str] = set()
    for start in entries:
        walk: dict[str, int] = {}
        name = start
        while name in entries and name not in seen:
            seen.add(name)
            walk[name] = len(walk)
            name = entries[name].parent
        if name in walk:
            cycle = [*list(walk)[walk[name] :], name]
            if len(cycle) > MAX_IN_CYCLE:
                cycle[MAX_IN_CYCLE - 2 : -1] = [f"... {len(cycle) - MAX_IN_CYCLE + 1} more ..."]
            yield entries[name].parent_problem(f"{name!r} is its own ancestor: {' below '.join(map(shortened, cycle))}")


def number_problems(world: World) -> Iterator[Problem]:
    """Yield values that are out of range. Readers refuse them, but a World made in Python may have some."""
    start_ns, step_ns = world.time.start_ns, world.time.step_ns
    file = Where(world.source)
    if not 0 <= start_ns <= MAX_STAMP_NS:
        yield Problem(file, "time.start_ns", f"{start_ns} is out of range; allowed: 0 to {MAX_STAMP_NS}")
    if not MIN_STEP_NS <= step_ns <= MAX_STAMP_NS:
        yield Problem(file, "time.step_ns", f"{step_ns} is out of range; allowed: {MIN_STEP_NS} to {MAX_STAMP_NS}")
    for key, message in faults(world.origin) if world.origin else ():
        yield Problem(file, f"origin.{key}", message)
    for kind in PARTS.values():
        yield from problems_of_kind(kind, world)
