"""Conversion of an assembly to moving bodies: joints along a spanning tree of the mates, loop closures for the rest."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sim_node.assembly.assembly_log import Assembly
from sim_node.assembly.masses import masses_of, share_of, with_mass
from sim_node.assembly.mate_motion import given_values, positions_of
from sim_node.assembly.table import UnionFind
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.start_up import collection_paused
from sim_node.world.bodies import Body
from sim_node.world.joint_motion import RELAXATION
from sim_node.world.joints import JOINTS
from sim_node.world.loops import LoopClosure
from sim_node.world.mate_types import MateType
from sim_node.world.mates import Mate
from sim_node.world.model import Motion, StaticFrame
from sim_node.world.problems import Problem
from sim_node.world.systems import RigidBody, System

# Tolerance of assembled positions at their limits, m or rad.
ROUNDING = 1e-7


class CarriedMate(NamedTuple):
    """A mate between two carriers, which are rows of bodies or of roots that represent the world; its ends in them."""

    mate: int
    carriers: tuple[int, int]
    ends: FloatArray


class TreeEdge(NamedTuple):
    """A body's joint: the row of its carrier, and the link whose end `side` is on the body."""

    carrier: int
    link: CarriedMate
    side: int


def floating(assembly: Assembly, row: int, body: RigidBody) -> dict[str, Any]:
    """Return the parent and the free joint of a body, relative to its owner."""
    pose = assembly.poses[row]
    speed = np.zeros(6) if body.speed is None else np.array(body.speed)
    # A ball's angular velocity is about the body's axes.
    speed[3:] = quaternions.rotate(quaternions.conjugate(pose[3:]), speed[3:])
    return {"parent": owner_of(assembly, row), "joint": "free", "q": pose, "qd": speed}


def jointed(assembly: Assembly, row: int, edge: TreeEdge, roots: list[int]) -> dict[str, Any]:
    """Return the joint of the mate that carries a body, at the mate's end on the body and at its assembled positions.

    With A and B the ends of the mate in the carrier and in the body, the pose of the body is A J B^-1 =
    (A B^-1) (B J B^-1): in the joint frame A B^-1, it moves along and about the axes of B.
    """
    table, on = assembly.table, edge.carrier
    mate = table.mates[edge.link.mate]
    near, far = edge.link.ends[1 - edge.side], edge.link.ends[edge.side]
    mount = pose_math.compose(near, pose_math.invert(far))
    here, there = assembly.in_roots[[on, row]]
    parent = table.names[on]
    if on == roots[row]:  # relative to the owner, which is fixed in the root as well
        parent = owner_of(assembly, row)
        mount = pose_math.relative(assembly.in_roots[int(table.parents[row])], pose_math.compose(here, mount))
    joint = JOINTS[mate.type.joint]
    if not joint.parts:
        return {"parent": parent, "pose": mount}
    between = pose_math.relative(pose_math.compose(here, near), pose_math.compose(there, far))
    q = _turns_as_given(mate, positions_of(mate.type, between))
    rates = _rates(assembly, edge.link.mate)
    sign = 1.0
    if not edge.side and _goes_back_the_same_way(mate):
        # The second connector is on the carrier: invert the axes and keep the positions.
        q, sign = -q, -1.0
    elif not edge.side:
        rates = _seen_from_the_other(mate, between, rates)
    axes = quaternions.rotate(far[3:], sign * _axes(mate.type))
    if mate.type.parts[-1].kind == "ball":
        # Convert from the connector's axes to the body's.
        q[-4:] = quaternions.multiply(quaternions.multiply(far[3:], q[-4:]), quaternions.conjugate(far[3:]))
        rates[-3:] = quaternions.rotate(far[3:], rates[-3:])
    return {
        "parent": parent,
        "pose": mount,
        "joint": joint.name,
        "axes": axes,
        "anchor": far[:3],
        "q": q,
        "qd": rates,
        "damping": np.full(joint.qd_size, mate.damping) if mate.damping else None,
        "limits": None if mate.limits is None else np.array(mate.limits),
        "stop": mate.stop if mate.limits is not None else None,
        "friction_loss": None if mate.friction_loss is None else np.array(mate.friction_loss),
    }


@cache
def _axes(mate: MateType) -> FloatArray:
    """Return the axes (K, 3) of a mate's slides and hinges."""
    return np.array([part.axis for part in mate.parts if part.axis is not None]).reshape(-1, 3)


def _turns_as_given(mate: Mate, q: FloatArray) -> FloatArray:
    """Return positions with the same whole turns of hinges as the given values, clipped to limits within rounding."""
    if mate.type.parts and mate.type.parts[-1].kind == "ball":
        return q
    for k, value in zip(mate.type.valued, mate.values or (), strict=False):
        if value is not None and mate.type.parts[k].kind == "hinge":
            q[k] += 2.0 * np.pi * np.rint((value - q[k]) / (2.0 * np.pi))
    for k, (low, high) in enumerate(mate.limits or ()):
        inside = min(max(q[k], low), high)
        if abs(q[k] - inside) < ROUNDING:
            q[k] = inside
    return q


def _goes_back_the_same_way(mate: Mate) -> bool:
    """Return whether the inverse motion is along the same axes: false for two slides that a hinge rotates."""
    return all(part.kind != "ball" for part in mate.type.parts) and len(mate.type.parts) < 3


def _rates(assembly: Assembly, m: int) -> FloatArray:
    """Return a mate's rates at the start, for each of its parts' degrees of freedom."""
    mate = assembly.table.mates[m]
    if m in assembly.rates:
        return np.array(assembly.rates[m])
    rates = np.zeros(mate.type.qd_size)
    sizes = [part.qd_size for part in mate.type.parts]
    for k, speed in zip(mate.type.valued, mate.speeds or (), strict=False):
        rates[sum(sizes[:k])] = speed
    return rates


def _seen_from_the_other(mate: Mate, between: FloatArray, rates: FloatArray) -> FloatArray:
    """Return the rates of a ball or planar mate with its connectors swapped. between (7,): the first in the second."""
    if mate.type.parts[-1].kind == "ball":
        return -quaternions.rotate(quaternions.conjugate(between[3:]), rates)
    spin, (x, y) = rates[2], between[:2]
    back = quaternions.rotate(between[3:], (rates[0], rates[1], 0.0))
    return np.array([spin * y - back[0], -spin * x - back[1], -spin])


def owner_of(assembly: Assembly, row: int) -> str:
    """Return the name of the frame that a row belongs to."""
    return assembly.table.names[int(assembly.table.parents[row])]


@dataclass(frozen=True)
class Moving:
    """The parts that systems become: static frames, bodies on joints, loop closures, and pairs without contact.

    joints: names by which actuators refer to the joints of mates, by name of the mate (MATE#K for value K of several).
    """

    frames: tuple[StaticFrame, ...]
    bodies: tuple[Body, ...]
    loop_closures: tuple[LoopClosure, ...]
    contact_exclusions: tuple[tuple[str, str], ...]
    joints: dict[str, str]


@collection_paused()
def set_in_motion(assembly: Assembly, driven: frozenset[str] = frozenset()) -> tuple[Moving, list[Problem]]:
    """Return the parts of an assembly, and the faults of loops that cannot be simulated.

    driven: names of mates that actuators move. These become joints, if there is a choice.
    """
    table = assembly.table
    roots = _roots(table.parents.tolist())
    links = list(_links(assembly, roots))
    tree, rest = _spanning_tree(assembly, links, roots, driven)
    edges = _tree_edges(assembly, tree, roots)
    standing = _standing(assembly, edges)
    frames: list[StaticFrame] = []
    bodies: list[Body] = []
    for row, of in enumerate(table.of):
        if isinstance(of, System):
            _add_system(assembly, row, of, roots, frames, bodies)
        elif isinstance(of, RigidBody):
            _add_body(assembly, row, of, edges.get(row), row in standing, roots, frames, bodies)
    closures, problems = _loop_closures(assembly, rest, tree, roots, bodies)
    exclusions = tuple(_contact_exclusions(assembly, links, bodies))
    return Moving(tuple(frames), tuple(bodies), closures, exclusions, _joint_names(assembly, edges)), problems


def _roots(parents: list[int]) -> list[int]:
    """Return the root of the tree of each row."""
    roots: list[int] = []
    for row, parent in enumerate(parents):
        roots.append(row if parent < 0 else roots[parent])
    return roots


def _links(assembly: Assembly, roots: list[int]) -> Iterator[CarriedMate]:
    """Return the mates that hold bodies. A fixed connector belongs to the root, a redirected one to its body."""
    table = assembly.table
    mates = [m for m in range(len(table.mates)) if m not in table.still and m not in table.apart]
    ends = [end for m in mates for end in table.ends[m]]
    owners = [table.owners[end] for end in ends]
    carriers = [
        carrier if carrier >= 0 and isinstance(table.of[carrier], RigidBody) else roots[owner]
        for carrier, owner in zip([table.carriers[end] for end in ends], owners, strict=True)
    ]
    # Computed for all mates together: separate numpy calls would take a fifth of the total time.
    in_root = pose_math.compose(assembly.in_roots[owners], table.connectors[ends])
    on_carriers = pose_math.relative(assembly.in_roots[carriers], in_root).reshape(-1, 2, 7)
    for m, first, second, both in zip(mates, carriers[::2], carriers[1::2], on_carriers, strict=True):
        if first != second:
            yield CarriedMate(m, (first, second), both)


def _spanning_tree(
    assembly: Assembly, links: list[CarriedMate], roots: list[int], driven: frozenset[str]
) -> tuple[list[CarriedMate], list[CarriedMate]]:
    """Return the links that become joints, and those that close loops.

    Locks take precedence, so that no loop is within one rigid part; then links with slides, for which equality
    constraints are poor; then those that are driven or limited; then those that placed a body in the assembly.
    """
    groups = _held(assembly, roots)
    placed = set(assembly.tree)

    def rank(link: CarriedMate) -> tuple[int, bool, bool]:
        of = assembly.table.mates[link.mate]
        mate = of.type
        if mate.distance:
            return 3, True, True
        slides = any(part.kind == "slide" for part in mate.parts)
        free = not (of.is_driven or assembly.table.mate_names[link.mate] in driven)
        return (0 if not mate.parts else 1 if slides else 2), free, link.mate not in placed

    tree: list[CarriedMate] = []
    rest: list[CarriedMate] = []
    for link in sorted(links, key=rank):
        carries = not assembly.table.mates[link.mate].type.distance and groups.join(*link.carriers)
        (tree if carries else rest).append(link)
    return tree, rest


def _held(assembly: Assembly, roots: list[int]) -> UnionFind:
    """Return groups in which bodies that no mate moves are joined with their roots."""
    groups = UnionFind()
    for row, of in enumerate(assembly.table.of):
        if isinstance(of, RigidBody) and of.held:
            groups.join(row, roots[row])
    return groups


def _tree_edges(assembly: Assembly, tree: list[CarriedMate], roots: list[int]) -> dict[int, TreeEdge]:
    """Return the carrier of each body on a joint, outwards from what is fixed or moves by itself."""
    links_of: dict[int, list[CarriedMate]] = {}
    for link in tree:
        for row in link.carriers:
            links_of.setdefault(row, []).append(link)
    table = assembly.table
    fixed = [
        row for row, of in enumerate(table.of) if table.parents[row] < 0 or (isinstance(of, RigidBody) and of.held)
    ]
    floating = [row for row, of in enumerate(table.of) if isinstance(of, RigidBody) and not of.held]
    edges: dict[int, TreeEdge] = {}
    seen = set(fixed)
    floating.sort(key=lambda row: _massless(table.of[row]))  # type: ignore[arg-type]
    # A part that is fixed to nothing floats freely with its first body with mass.
    for start in (fixed, *([row] for row in floating)):
        queue = deque(start if start is fixed else [row for row in start if row not in seen])
        seen.update(queue)
        while queue:
            on = queue.popleft()
            for link in links_of.get(on, ()):
                side = 1 if link.carriers[0] == on else 0
                row = link.carriers[side]
                if row not in seen:
                    seen.add(row)
                    edges[row] = TreeEdge(on, link, side)
                    queue.append(row)
    return edges


def _standing(assembly: Assembly, edges: dict[int, TreeEdge]) -> set[int]:
    """Return the bodies fixed in their root: static ones, massless ones without mates, and those locked to either."""
    table = assembly.table
    standing = {row for row, parent in enumerate(table.parents.tolist()) if parent < 0}
    for row, of in enumerate(table.of):
        if isinstance(of, RigidBody) and not of.kinematic and (of.static or (row not in edges and _massless(of))):
            standing.add(row)
    for row, edge in edges.items():  # carriers before what they carry
        if edge.carrier in standing and not table.mates[edge.link.mate].type.parts:
            standing.add(row)
    return standing


def _add_system(
    assembly: Assembly, row: int, system: System, roots: list[int], frames: list[StaticFrame], bodies: list[Body]
) -> None:
    """Add a system: a frame, and a static body if it has shapes."""
    name, parent, pose = assembly.table.names[row], owner_of(assembly, row), assembly.poses[row]
    if system.geometries and not _is_moving(assembly, roots[row]):
        shapes = tuple(map(with_mass, system.geometries))
        bodies.append(
            Body(name, parent, pose=pose, geometry=shapes, place=system.place, parent_place=system.parent_place)
        )
    else:
        frames.append(StaticFrame(name, parent, pose, None, system.place, system.parent_place))


def _add_body(
    assembly: Assembly,
    row: int,
    body: RigidBody,
    edge: TreeEdge | None,
    stands: bool,
    roots: list[int],
    frames: list[StaticFrame],
    bodies: list[Body],
) -> None:
    name = assembly.table.names[row]
    geometry, inertial = masses_of(body)
    # The parent follows from the mates and is not in the file.
    at: dict[str, Any] = {"place": body.place, "parent_place": body.place}
    if stands:
        parent, pose = owner_of(assembly, row), assembly.poses[row]
        if not geometry or _is_moving(assembly, roots[row]):
            frames.append(StaticFrame(name, parent, pose, None, body.place, body.place))
        else:
            bodies.append(Body(name, parent, pose=pose, geometry=geometry, inertial=inertial, **at))
        return
    mounting = floating(assembly, row, body) if edge is None else jointed(assembly, row, edge, roots)
    mounting["kinematic"] = body.kinematic
    bodies.append(Body(name, geometry=geometry, inertial=inertial, **at, **mounting))


def _joint_names(assembly: Assembly, edges: dict[int, TreeEdge]) -> dict[str, str]:
    found: dict[str, str] = {}
    for row, edge in edges.items():
        body, mate = assembly.table.names[row], assembly.table.mates[edge.link.mate]
        name, values = assembly.table.mate_names[edge.link.mate], mate.type.valued
        if mate.type.qd_size == 1 and values:
            found[name] = body
        found.update({f"{name}#{k}": f"{body}#{k}" if len(values) > 1 else body for k in values})
    return found


def _loop_closures(
    assembly: Assembly, rest: list[CarriedMate], tree: list[CarriedMate], roots: list[int], bodies: list[Body]
) -> tuple[tuple[LoopClosure, ...], list[Problem]]:
    """Return loop closures for the links that are not joints, except for those within one rigid part.

    There are none between bodies that are fixed or move by themselves, which such mates only place.

    MuJoCo has no equality constraint for sliding. The mate therefore becomes the joint of a slider, a body with almost
    no mass that is locked to the body that the mate holds. Sliders are added to `bodies`.
    """
    table, rigid = assembly.table, _held(assembly, roots)
    for link in tree:
        if not table.mates[link.mate].type.parts:
            rigid.join(*link.carriers)
    closures: list[LoopClosure] = []
    problems: list[Problem] = []
    for link in rest:
        mate, name = table.mates[link.mate], table.mate_names[link.mate]
        if mate.is_driven and not mate.type.distance:
            message = f"closes a loop, where a {mate.kind} mate has no limits or friction; put them on another mate"
            problems.append(Problem(mate.place.where, mate.place.key or name, message))
        if rigid.of(link.carriers[0]) == rigid.of(link.carriers[1]):
            continue
        if not mate.type.distance and any(part.kind == "slide" for part in mate.type.parts):
            slider, closure = _slider(assembly, link, roots, bodies)
            bodies.append(slider)
            closures.append(closure)
            continue
        begins = float(given_values(mate)[0] or 0.0) if mate.type.distance else 0.0
        distance = begins if mate.target is None else mate.target
        relaxation = 0.0 if distance == begins else RELAXATION
        frames = (table.names[link.carriers[0]], table.names[link.carriers[1]])
        closures.append(LoopClosure(name, mate.kind, frames, link.ends, distance, relaxation, mate.place))
    return tuple(closures), problems


def _slider(assembly: Assembly, link: CarriedMate, roots: list[int], bodies: list[Body]) -> tuple[Body, LoopClosure]:
    """Return a slider on a mate's joint, and the lock between it and the body that the mate holds."""
    table, mate = assembly.table, assembly.table.mates[link.mate]
    names = {body.name: body for body in bodies}
    side = 1 if table.names[link.carriers[1]] in names and _moves(assembly, link.carriers[1]) else 0
    row, on = link.carriers[side], link.carriers[1 - side]
    held = names[table.names[row]]
    mounting = jointed(assembly, row, TreeEdge(on, link, side), roots)
    name = table.mate_names[link.mate]
    while name in table.names or name in names:
        name += "_slider"
    slider = Body(name, inertial=share_of(held), place=mate.place, parent_place=mate.place, **mounting)
    both = np.tile(pose_math.IDENTITY, (2, 1))
    return slider, LoopClosure(f"{name}/lock", "lock", (name, held.name), both, place=mate.place)


def _moves(assembly: Assembly, row: int) -> bool:
    of = assembly.table.of[row]
    return isinstance(of, RigidBody) and not of.held


def _contact_exclusions(assembly: Assembly, links: list[CarriedMate], bodies: list[Body]) -> Iterator[tuple[str, str]]:
    """Yield mated pairs of bodies, or of a body and the system of a connector, whose shapes overlap where they meet."""
    table = assembly.table
    shaped = {body.name for body in bodies}
    seen: set[tuple[str, str]] = set()
    for link in links:
        rows = [
            carrier if isinstance(table.of[carrier], RigidBody) else table.owners[end]
            for carrier, end in zip(link.carriers, table.ends[link.mate], strict=True)
        ]
        pair = (table.names[min(rows)], table.names[max(rows)])
        if shaped.issuperset(pair) and pair not in seen:
            seen.add(pair)
            yield pair


def _massless(body: RigidBody) -> bool:
    return not body.mass and body.inertia is None and not any(with_mass(part).mass for part in body.geometries)


def _is_moving(assembly: Assembly, root: int) -> bool:
    """Return whether keyframes move a root, to which no static body can be attached then."""
    return isinstance(assembly.table.of[root], Motion)
