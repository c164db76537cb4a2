"""Changes of a world as pure functions: add, include, attach, detach, place. Each returns a new World."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node import names
from sim_node.names import SENSOR_PATTERNS
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.bodies import Body
from sim_node.world.checks import entries_of, tree_problems
from sim_node.world.layout import lay_out, with_default_parents
from sim_node.world.load import load
from sim_node.world.locate import LocateError, is_program, locate
from sim_node.world.model import Motion, Sensor, StaticFrame, World
from sim_node.world.part import Rename, all_parts, kind_of
from sim_node.world.problems import WorldError, quoted, refuse, refuse_any
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_start import START_KEYS, read_start
from sim_node.world.readers.yaml_values import Value
from sim_node.world.readers.yaml_world import node_of


def with_part(world: World, *parts: object) -> World:
    """Add parts of any kind: frames, bodies, sensors, vehicles, forces, models, a ground, ...

    Args:
        world: The world.
        parts: The parts. A frame without a parent gets the default one.

    Returns:
        The world with the parts after its own.

    Raises:
        WorldError: A frame has a name that is in use or a parent that does not exist, or the world can have only one
            part of the kind and has it.
        TypeError: An argument is not a part of a world.
    """
    kinds: dict[str, tuple[Any, ...]] = dict(world.parts)
    for part in parts:
        kind = kind_of(type(part))
        if kind.single and kinds.get(kind.name):
            refuse(kind.name, f"the world has a {kind.name} already; it can have one")
        kinds[kind.name] = (*kinds.get(kind.name, ()), part)
    return _checked(replace(world, parts=kinds))


def with_include(
    world: World,
    file: str | Path,
    prefix: str = "",
    pose: npt.ArrayLike | None = None,
    *,
    parent: str = "",
    allow: Iterable[str | Path] = (),
    model: str | None = None,
    start: Mapping[str, Any] | None = None,
) -> World:
    """Add the world or the model of a file: YAML, MJCF, URDF, x_xy, OpenPLX, ...

    Args:
        world: The world.
        file: A path, a package:// URI, or the name of a shipped world.
        prefix: Goes before all names of the file.
        pose: Pose (7,) of its fixed frame in `parent`, m; None for the identity.
        parent: The frame below which it is added; empty for the fixed frame.
        allow: Folders that the file may refer to, in addition to its own.
        model: Which model to load from a file with several.
        start: How a MJCF or URDF model starts: free, keyframe and q, as in an include of a world file.

    Returns:
        The world with the parts of the file. Its time, physics, ground, lights, wind and processes are left out.

    Raises:
        WorldError: The file is invalid, a Python program, or does not fit the world.
    """
    try:
        path = locate(file)
    except LocateError as error:
        refuse("", str(error))
    if is_program(path):
        refuse("", f"{path.name} is not included, because it would run as a program")
    return with_world(world, load(path, allow, model), prefix, pose, parent=parent, start=start)


def with_world(
    world: World,
    other: World,
    prefix: str = "",
    pose: npt.ArrayLike | None = None,
    *,
    parent: str = "",
    start: Mapping[str, Any] | None = None,
) -> World:
    """Add the parts of another world; see `with_include`."""
    if prefix and (fault := names.fault(prefix.removesuffix("/"))):
        refuse("prefix", f"the prefix {quoted(prefix)} {fault}")
    if start:
        report = Report("")
        other = read_start(other, Value(node_of(start), report).table(START_KEYS))
        refuse_any(report.errors)
    above, root = parent or world.fixed_frame, names.prefixed(prefix, other.fixed_frame)
    kinds: dict[str, tuple[Any, ...]] = dict(world.parts)
    if pose is None:
        root = above
    elif root == above:
        refuse("prefix", f"a pose needs a prefix, too: both worlds have a frame {quoted(root)}")
    else:
        kinds["frames"] = (*kinds.get("frames", ()), StaticFrame(root, above, _pose(pose)))
    rename = Rename(prefix, other.fixed_frame, root)
    for kind, part in all_parts(other):
        renamed = kind.renamed(part, rename)
        if renamed is not None:
            kinds[kind.name] = (*kinds.get(kind.name, ()), renamed)
    patterns = world.static_patterns
    if other.static_patterns != SENSOR_PATTERNS:
        patterns = tuple(dict.fromkeys(patterns + other.static_patterns))
    files = tuple(dict.fromkeys((*world.files, *other.files)))
    return _checked(replace(world, parts=kinds, static_patterns=patterns, files=files))


def attached(world: World, child: str, parent: str, pose: npt.ArrayLike | None = None) -> World:
    """Fix a free-floating body, such as a payload, to a frame, such as a gripper.

    Args:
        world: The world.
        child: The body.
        parent: The frame.
        pose: Pose (7,) of the body in the frame, m; None for their relative pose at the start of the world.

    Returns:
        The world in which the body is fixed to the frame.

    Raises:
        WorldError: There is no such body or frame, the body does not float free, or the frame is below the body.
    """
    body = _body(world, child)
    if body.joint not in ("free", "frozen"):
        refuse(child, f"is on a {body.joint} joint; only a body that floats free, or is attached, can be attached")
    layout = lay_out(world)
    if layout.frames.index(child) in layout.frames.chain(_row(world, parent)):
        refuse(child, f"cannot be attached to {quoted(parent)}, which hangs on it")
    relative = layout.frames.lookup(layout.poses, parent, child) if pose is None else _pose(pose)
    return _checked(_with_body(world, body, Body(child, parent, "frozen", relative, **_substance(body))))


def detached(world: World, name: str, pose: npt.ArrayLike | None = None) -> World:
    """Release a body that is fixed to a frame, so that it floats free.

    Args:
        world: The world.
        name: The body.
        pose: Initial pose (7,) in the fixed frame, m; None for its pose at the start of the world.

    Returns:
        The world in which the body floats free.

    Raises:
        WorldError: There is no such body, it is on a joint, or it has no mass.
    """
    body = _body(world, name)
    if body.joint != "frozen":
        refuse(name, f"is on a {body.joint} joint; only a body that is attached can be detached")
    if not body.own_mass() > 0.0:
        refuse(name, "has no mass, and would not float")
    if pose is None:
        layout = lay_out(world)
        start = layout.frames.lookup(layout.poses, world.fixed_frame, name)
    else:
        start = _pose(pose)
    return _checked(_with_body(world, body, Body(name, world.fixed_frame, "free", q=start, **_substance(body))))


def placed(world: World, name: str, pose: npt.ArrayLike) -> World:
    """Move a frame, a sensor or a fixed body that no joint moves.

    Args:
        world: The world.
        name: The frame.
        pose: Its pose (7,) in its parent, m.

    Returns:
        The world with the frame at the pose.

    Raises:
        WorldError: There is no such frame, or a joint, keyframes or a model's file determine its pose.
    """
    _row(world, name)
    for kind in (kind_of(each) for each in (StaticFrame, Sensor, Body)):
        found = world.parts.get(kind.name, ())
        for index, part in enumerate(found):
            if part.name == name and (not isinstance(part, Body) or part.joint == "frozen"):
                moved = (*found[:index], replace(part, pose=_pose(pose)), *found[index + 1 :])
                return replace(world, parts={**world.parts, kind.name: moved})
    reason = "is moved by keyframes" if any(each.frame == name for each in world.of(Motion)) else "is not placed freely"
    refuse(name, f"{reason}; frames, sensors and bodies without a joint can be placed")


def _substance(body: Body) -> dict[str, Any]:
    """Return the fields of a body that do not depend on its joint."""
    kept = ("geometry", "inertial", "marker", "place", "parent_place")
    return {key: getattr(body, key) for key in kept}


def _with_body(world: World, old: Body, new: Body) -> World:
    bodies = tuple(new if body is old else body for body in world.bodies)
    return replace(world, parts={**world.parts, "bodies": bodies})


def _body(world: World, name: str) -> Body:
    for body in world.bodies:
        if body.name == name:
            return body
    if any(name == model.full_name(link.name) for model in world.models for link in model.links):
        refuse(name, "is a link of a model, whose joints are those of its file")
    refuse(name, f"there is no body of this name{did_you_mean(name, [body.name for body in world.bodies])}")


def _row(world: World, name: str) -> int:
    known = [entry.name for entry in entries_of(world)]
    if name not in known:
        refuse(name, f"there is no frame of this name{did_you_mean(name, known)}")
    return lay_out(world).frames.index(name)


def _pose(pose: npt.ArrayLike) -> FloatArray:
    """Return a pose (7,), or a position (3,) without a rotation, with a unit quaternion. Raises WorldError."""
    try:
        given = np.asarray(pose, dtype=np.float64)
    except (TypeError, ValueError):
        refuse("pose", f"7 numbers are needed, found {pose!r:.60}")
    if given.shape == (3,):
        given = np.concatenate([given, poses.IDENTITY[3:]])
    if given.shape != (7,):
        refuse("pose", f"7 numbers [x y z qx qy qz qw] are needed, found shape {given.shape}")
    return given


def _checked(world: World) -> World:
    """Return a world with parents for all frames. Raises WorldError for names and parents that do not fit."""
    world = with_default_parents(world)
    if problems := list(tree_problems(entries_of(world))):
        raise WorldError(problems)
    return world
