"""A world with another one in it: what is spawned becomes part of the world of a run."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from sim_node.assembly import assemble
from sim_node.names import prefixed
from sim_node.session.entities import Rejected
from sim_node.simulation.changes import with_world
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.autopilots import autopiloted
from sim_node.world.bases import Base
from sim_node.world.bodies import Body
from sim_node.world.model import World
from sim_node.world.models import Model
from sim_node.world.vehicles import BUILTIN

_TURN = slice(3, 7)


def joined(world: World, part: World, name: str, pose: FloatArray, *, named: bool = False) -> World:
    """Return a world that contains another one.

    What floats free starts at the pose, below the fixed frame itself; all else hangs on a frame at the pose. A model
    of a base is that base: it has the name itself, as where a world lists it among its bases.

    Args:
        world: The world.
        part: What it is to contain. Its ground, lights, sky, physics and processes are left out, as in an include.
        name: Goes before all names of the part.
        pose: Pose (7,) of the part's fixed frame in the world's, m.
        named: Whether the part's names begin with `name` already.

    Returns:
        The world with both.

    Raises:
        Rejected: The part has an autopilot that does not start with the run (FEATURE_UNSUPPORTED).
        WorldError: The part cannot be assembled, or its names do not fit.
    """
    part = assemble(part)
    if not all(autopilot.type == BUILTIN and autopilot.start for _, autopilot in autopiloted(part)):
        # The run would wait for a program that nobody has started.
        message = f"only vehicles with a pilot, or an autopilot {BUILTIN} that the run starts, can be added to a run"
        raise Rejected("FEATURE_UNSUPPORTED", message)
    root = world.fixed_frame if named else prefixed(name, part.fixed_frame)
    both = with_world(world, part, *(() if named else (name, pose)))
    known = {id(each) for each in (*world.bodies, *world.models)}

    def freed(each: Any) -> Any:
        return each if id(each) in known else _free(each, root, world.fixed_frame, pose)

    parts: dict[str, tuple[Any, ...]] = dict(both.parts)
    for kind in ("bodies", "models"):
        if kind in parts:
            parts[kind] = tuple(map(freed, parts[kind]))
    if not named and [base.body.count("/") for base in part.of(Base)] == [0]:
        # A model of a base, whose own name does not come between: its topics and its odometry begin with `name`.
        *before, base = parts["bases"]
        parts["bases"] = (*before, replace(base, name=name))
    if not named and not any(getattr(each, "parent", "") == root for each in chain.from_iterable(parts.values())):
        parts["frames"] = tuple(each for each in parts["frames"] if each.name != root)
    return replace(both, parts=parts)


def _free(part: Any, root: str, fixed_frame: str, pose: FloatArray) -> Any:
    """Return a part that floats free below the fixed frame, at the pose; others as they are."""
    if part.parent != root:
        return part
    if isinstance(part, Body) and part.joint == "free":
        start = poses.compose(pose, poses.compose(part.pose, part.start()))
        qd = part.qd
        if qd is not None:  # its linear part is along the parent's axes
            turn = quaternions.multiply(pose[_TURN], part.pose[_TURN])
            qd = np.concatenate([quaternions.rotate(turn, qd[:3]), qd[3:]])
        return replace(part, parent=fixed_frame, pose=np.array(poses.IDENTITY), q=start, qd=qd)
    if isinstance(part, Model) and part.floats():
        starts = part.starts()
        q = {joint.name: poses.compose(pose, starts[joint.name]) for joint in part.joints() if joint.kind == "free"}
        followers = {name: value for name, value in part.start.followers.items() if name not in q}
        begin = replace(part.start, q={**part.start.q, **q}, followers=followers)
        return replace(part, parent=fixed_frame, start=begin)
    return part
