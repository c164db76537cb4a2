"""The systems of a world as one flat table: rows of frames, rows of connectors, and the two chains of each mate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.text import did_you_mean
from sim_node.world.bodies import Body
from sim_node.world.mates import Mate, MateConnector, RedirectedMateConnector, connector_poses
from sim_node.world.model import Motion, StaticFrame, World
from sim_node.world.problems import Place, Problem, quoted, shown_key
from sim_node.world.systems import RigidBody, System

Frame = System | RigidBody | StaticFrame | Motion | Body | None
MAX_COMPARED = 10_000
# Default tolerance with which loops are closed, rad and fractions of a mechanism's size.
CLOSED = 1e-10


@dataclass(frozen=True, eq=False)
class AssemblyTable:
    """The frames, connectors and mates of an assembly. Rows: N frames (owners first), C connectors, M mates.

    Attributes:
        names: Names of the frames (N).
        parents: Rows of the frames' parents (N,), -1 for a root: the fixed frame, or a frame that moves in the world.
        poses: Poses (N, 7) of the frames in their parents, m.
        known: Whether each frame's pose is given (N).
        of: The system, body, frame or motion that each frame belongs to (N).
        connector_names: Names of the connectors (C).
        owners: Rows of the frames that own the connectors (C).
        carriers: Rows of the frames that move with the connectors (C), -1 for a connector that is fixed in the world.
        connectors: Poses (C, 7) of the connectors in their owners, m.
        adaptive: Whether each connector adapts to the other one of its mate (C).
        mate_names: Names of the mates (M).
        mates: The mates (M).
        tolerances: Tolerance of each mate if it closes a loop, rad and fractions of the mechanism's size.
        ends: The two connectors of each mate (M, 2).
        nodes: Rows of frames, to which `chains` refers (K,).
        chains: For each mate and side, first and last (exclusive) entry in `nodes` (M, 2, 2) of the connector's owner
            and its ancestors, up to the nearest common ancestor of both sides.
        apart: Rows of the mates whose connectors have different roots.
        still: Rows of the mates between two connectors that are fixed in the world.
    """

    names: tuple[str, ...]
    parents: IntArray
    poses: FloatArray
    known: tuple[bool, ...]
    of: tuple[Frame, ...]
    connector_names: tuple[str, ...]
    owners: tuple[int, ...]
    carriers: tuple[int, ...]
    connectors: FloatArray
    adaptive: tuple[bool, ...]
    mate_names: tuple[str, ...]
    mates: tuple[Mate, ...]
    tolerances: tuple[float, ...]
    ends: tuple[tuple[int, int], ...]
    nodes: IntArray
    chains: tuple[tuple[tuple[int, int], tuple[int, int]], ...]
    apart: frozenset[int]
    still: frozenset[int]


class UnionFind:
    """Disjoint groups of numbers that can be joined (union-find). Initially, each number is a group."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def of(self, item: int) -> int:
        """Return the number that represents the group of a number."""
        above = self._above
        while above.setdefault(item, item) != item:
            above[item] = above[above[item]]
            item = above[item]
        return item

    def join(self, item: int, other: int) -> bool:
        """Join the groups of two numbers. Return whether they were different."""
        first, second = self.of(item), self.of(other)
        self._above[first] = second
        return first != second


class _Rows:
    """A table under construction."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.parents: list[int] = []
        self.poses: list[FloatArray | None] = []
        self.of: list[Frame] = []
        self.row: dict[str, int] = {}
        self.connectors: dict[str, int] = {}
        self.owners: list[int] = []
        self.carriers: list[int] = []
        self.connector: list[MateConnector] = []
        self.redirected: list[tuple[int, str, RedirectedMateConnector]] = []
        self.mates: list[tuple[str, str, Mate]] = []
        self.tolerances: dict[str, float] = {}
        self.problems: list[Problem] = []

    def frame(self, name: str, parent: int, pose: FloatArray | None, of: Frame) -> int:
        self.row[name] = len(self.names)
        self.names.append(name)
        self.parents.append(parent)
        self.poses.append(pose)
        self.of.append(of)
        return len(self.names) - 1

    def connect(self, owner: int, path: str, connectors: Iterable[MateConnector], *, moves: bool) -> None:
        for connector in connectors:
            name = f"{path}/{connector.name}"
            if isinstance(connector, RedirectedMateConnector):
                self.redirected.append((len(self.owners), path, connector))
            self.connectors[name] = len(self.owners)
            self.owners.append(owner)
            self.carriers.append(owner if moves else -1)
            self.connector.append(connector)

    def system(self, name: str, parent: int, system: System, pose: FloatArray | None, tolerance: float) -> None:
        tolerance = tolerance if system.tolerance is None else system.tolerance
        row = self.frame(name, parent, pose, system)
        self.connect(row, name, system.connectors, moves=False)
        for body in system.bodies:
            path = f"{name}/{body.name}"
            self.connect(self.frame(path, row, body.pose, body), path, body.connectors, moves=True)
        for inner in system.systems:
            self.system(f"{name}/{inner.name}", row, inner, inner.pose, tolerance)
        self.mates.extend((f"{name}/{mate.name}", name, mate) for mate in system.mates if mate.enabled)
        self.tolerances[name] = tolerance


def tabulate(world: World) -> tuple[AssemblyTable, list[Problem]]:
    """Return the table of a world with a valid tree, and the faults of its mates' references.

    Mates with such a fault, and disabled ones, are omitted.
    """
    rows = _Rows()
    _add_world(rows, world)
    for system in world.systems:
        parent = rows.row.get(system.parent or world.fixed_frame, 0)
        pose = np.array(pose_math.IDENTITY) if system.pose is None else system.pose
        rows.system(system.name, parent, system, pose, CLOSED)
    for attachment in world.attachments:
        rows.connect(rows.row[attachment.frame], attachment.frame, [attachment.connector], moves=True)
        rows.mates.append((f"{attachment.frame}/{attachment.mate.name}", "", attachment.mate))
    for index, path, connector in rows.redirected:
        body = rows.row.get(f"{path}/{connector.body}")
        if body is None or not isinstance(rows.of[body], RigidBody):
            rows.problems.append(_no_body(connector, path, rows))
        else:
            rows.carriers[index] = body
    return _finished(rows), rows.problems


def _add_world(rows: _Rows, world: World) -> None:
    """Add the frames that systems may be attached to, parents first; each moving frame is a root."""
    attached = {attachment.frame for attachment in world.attachments}
    rows.frame(world.fixed_frame, -1, np.array(pose_math.IDENTITY), None)
    children: dict[str, list[tuple[str, Frame]]] = {}
    for frame in (*world.frames, *world.sensors):
        children.setdefault(frame.parent, []).append((frame.name, frame))
    for motion in world.motions:
        children.setdefault(motion.parent, []).append((motion.frame, motion))
    for body in world.bodies:
        children.setdefault(body.parent, []).append((body.name, body))
    stack = [0]
    while stack:
        row = stack.pop()
        for name, of in children.get(rows.names[row], ()):
            if isinstance(of, StaticFrame):
                stack.append(rows.frame(name, row, None if name in attached else of.pose, of))
            elif isinstance(of, Body) and not of.type.parts:
                stack.append(rows.frame(name, row, of.pose, of))
            else:
                stack.append(rows.frame(name, -1, np.array(pose_math.IDENTITY), of))


def _finished(rows: _Rows) -> AssemblyTable:
    names: list[str] = []
    mates: list[Mate] = []
    tolerances: list[float] = []
    ends: list[tuple[int, int]] = []
    for name, path, mate in rows.mates:
        found = [_connector(rows, path, mate, side) for side in (0, 1)]
        if None not in found:
            names.append(name)
            mates.append(mate)
            tolerances.append(rows.tolerances.get(path, CLOSED))
            ends.append((found[0], found[1]))  # type: ignore[arg-type]
    nodes, chains, apart = _chains(rows, ends)
    still = frozenset(m for m, (a, b) in enumerate(ends) if rows.carriers[a] < 0 and rows.carriers[b] < 0)
    poses = np.array([pose_math.IDENTITY if pose is None else pose for pose in rows.poses]).reshape(-1, 7)
    return AssemblyTable(
        tuple(rows.names),
        np.array(rows.parents, dtype=np.int64),
        poses,
        tuple(pose is not None for pose in rows.poses),
        tuple(rows.of),
        tuple(rows.connectors),
        tuple(rows.owners),
        tuple(rows.carriers),
        connector_poses(rows.connector),
        tuple(connector.adaptive for connector in rows.connector),
        tuple(names),
        tuple(mates),
        tuple(tolerances),
        tuple(ends),
        nodes,
        chains,
        frozenset(apart),
        still,
    )


def _chains(
    rows: _Rows, ends: list[tuple[int, int]]
) -> tuple[IntArray, tuple[tuple[tuple[int, int], tuple[int, int]], ...], list[int]]:
    """Return the two chains of each mate, and the mates whose connectors have no common ancestor."""
    depth = [0] * len(rows.parents)
    for row, parent in enumerate(rows.parents):
        depth[row] = 0 if parent < 0 else depth[parent] + 1
    nodes: list[int] = []
    chains: list[tuple[tuple[int, int], tuple[int, int]]] = []
    apart: list[int] = []
    for mate, (first, second) in enumerate(ends):
        up, other, met = climb(rows.owners[first], rows.owners[second], depth, rows.parents)
        if not met:
            apart.append(mate)
        at = len(nodes)
        middle = at + len(up)
        nodes += up + other
        chains.append(((at, middle), (middle, len(nodes))))
    return np.array(nodes, dtype=np.int64), tuple(chains), apart


def climb(a: int, b: int, depth: Sequence[int], parents: Sequence[int]) -> tuple[list[int], list[int], bool]:
    """Return the rows from each of two rows upwards, below their nearest common ancestor, and whether there is one.

    Args:
        a: The first row.
        b: The second row.
        depth: The number of ancestors of each row.
        parents: The parent of each row; -1 for a root.
    """
    up, other = list[int](), list[int]()
    while a != b and a >= 0 and b >= 0:
        if depth[a] >= depth[b]:
            up.append(a)
            a = parents[a]
        else:
            other.append(b)
            b = parents[b]
    return up, other, a == b


def _connector(rows: _Rows, path: str, mate: Mate, side: int) -> int | None:
    """Return the row of a mate's connector, or None if there is a fault, which is recorded."""
    reference = mate.connectors[side]
    found = rows.connectors.get(f"{path}/{reference}" if path else reference)
    if found is None:
        below = path and f"{path}/"
        known = [name.removeprefix(below) for name in rows.connectors if name.startswith(below)]
        hint = did_you_mean(reference, known) if len(rows.problems) * len(known) < MAX_COMPARED else ""
        place = mate.connector_places[side]
        message = f"no connector {quoted(reference)}" + (f" in {path}" if path else "") + hint
        rows.problems.append(_problem(place, mate.place, mate.name, message))
    return found


def _no_body(connector: RedirectedMateConnector, path: str, rows: _Rows) -> Problem:
    known: Iterator[str] = (
        name.removeprefix(f"{path}/")
        for name, of in zip(rows.names, rows.of, strict=True)
        if isinstance(of, RigidBody) and name.startswith(f"{path}/")
    )
    message = f"no body {quoted(connector.body)} in {path}{did_you_mean(connector.body, known)}"
    return _problem(connector.place, connector.place, connector.name, message)


def _problem(place: Place, otherwise: Place, name: str, message: str) -> Problem:
    at = place if place.where.line or place.key else otherwise
    return Problem(at.where, at.key or shown_key(name), message)


def floating_parts(table: AssemblyTable) -> int:
    """Return the number of groups of mated bodies that are not connected with anything fixed."""
    groups, mated = UnionFind(), set[int]()
    for m, ends in enumerate(table.ends):
        if m in table.still or m in table.apart:
            continue
        bodies = [_moving(table, table.carriers[end]) for end in ends]
        mated.update(bodies)
        groups.join(*bodies)
    return len({groups.of(row) for row in mated} - {groups.of(0)})


def _moving(table: AssemblyTable, carrier: int) -> int:
    """Return the row of a connector's body, or 0 if it is fixed in the world or moves by itself."""
    of = table.of[carrier] if carrier >= 0 else None
    return carrier if isinstance(of, RigidBody) and not of.held else 0
