"""The `include` section: other worlds as parts of this one, under a prefix, at a place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sim_node import names
from sim_node.names import SENSOR_PATTERNS
from sim_node.world.bodies import Body
from sim_node.world.model import Motion, StaticFrame, World
from sim_node.world.models import Model
from sim_node.world.problems import Place, quoted
from sim_node.world.readers.registry import read_file
from sim_node.world.readers.yaml_models import MODEL_KEYS, read_start
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_poses import read_pose
from sim_node.world.readers.yaml_section import Context, frame_name, section
from sim_node.world.readers.yaml_values import Value
from sim_node.world.systems import Attachment, System

# Files that a world may consist of, and includes one within the other: a few small files could include each other
# more often than any machine can read.
MOST_FILES, DEEPEST = 1000, 32
INCLUDE_KEYS = ("file", "prefix", "parent", "pose", *MODEL_KEYS)


@section("include")
def read_include(value: Value, context: Context) -> None:
    """A list of world files: a path each, or file with prefix, parent and pose."""
    for entry in value.items():
        if isinstance(entry.node, Scalar):
            included = _load(entry, context)
            if included is None:
                context.report.missing.append(entry.path)
            else:
                _take_in(included, "", context.fixed_frame, entry.place, None, context)
        else:
            _read_entry(entry, context)


def _read_entry(entry: Value, context: Context) -> None:
    """Without a pose the included world's fixed frame is `parent` itself, with one it is a frame below `parent`."""
    table = entry.table(INCLUDE_KEYS, required=("file",))
    parent_value, pose_value = table.get("parent"), table.get("pose")
    parent = frame_name(parent_value) or context.fixed_frame
    parent_place = entry.place if parent_value is None else parent_value.place
    prefix = _prefix(table.get("prefix"))
    pose, scale = read_pose(pose_value)
    included = _load(table.get("file"), context)
    if included is None or prefix is None:
        context.report.missing.append(entry.path)
        return
    included = read_start(included, table)
    root = names.prefixed(prefix, included.fixed_frame)
    if pose_value is None:
        _take_in(included, prefix, parent, entry.place, parent_place, context)
    elif root == parent:
        pose_value.error(f"needs a prefix beside it: both worlds have a frame {root!r}")
    else:
        context.frames.append(StaticFrame(root, parent, pose, scale, entry.place, parent_place))
        _take_in(included, prefix, root, entry.place, None, context)


def _take_in(world: World, prefix: str, root: str, place: Place, root_place: Place | None, context: Context) -> None:
    """Adds a world's frames under `prefix`; its fixed frame becomes `root`, which is named at `root_place`.

    place: of the entry, where what its models have against this world is told.
    """

    def renamed(name: str) -> str:
        return root if name == world.fixed_frame else names.prefixed(prefix, name)

    def below(frame: StaticFrame | Motion | Body | Model | System) -> dict[str, Any]:
        on_root = frame.parent == world.fixed_frame and root_place is not None
        return {"parent": renamed(frame.parent), "parent_place": root_place if on_root else frame.parent_place}

    context.frames += [replace(f, name=renamed(f.name), **below(f)) for f in world.frames]
    context.sensors += [replace(s, name=renamed(s.name), **below(s)) for s in world.sensors]
    context.motions += [replace(m, frame=renamed(m.frame), **below(m)) for m in world.motions]
    context.models += [
        replace(m, prefix=names.prefixed(prefix, m.prefix).strip("/"), place=place, **below(m)) for m in world.models
    ]
    context.drives += [replace(d, joint=names.prefixed(prefix, d.joint)) for d in world.drives]
    context.bodies += [replace(b, name=renamed(b.name), **below(b)) for b in world.bodies]
    context.forces += [replace(f, body=renamed(f.body)) for f in world.forces]
    context.vehicles += [replace(v, name=names.prefixed(prefix, v.name), body=renamed(v.body)) for v in world.vehicles]
    context.systems += [replace(s, name=renamed(s.name), **below(s)) for s in world.systems]
    context.attachments += [_renamed(a, renamed) for a in world.attachments]
    if world.static_patterns != SENSOR_PATTERNS:
        context.static_patterns = tuple(dict.fromkeys(context.static_patterns + world.static_patterns))


def _renamed(attachment: Attachment, renamed: Callable[[str], str]) -> Attachment:
    mate = attachment.mate
    first, second = map(renamed, mate.connectors)
    return replace(attachment, frame=renamed(attachment.frame), mate=replace(mate, connectors=(first, second)))


def _prefix(value: Value | None) -> str | None:
    """The prefix, empty where there is none; None with the fault recorded."""
    if value is None:
        return ""
    errors = len(value.report.errors)
    prefix = value.text()
    fault = names.fault(prefix.removesuffix("/"))
    if fault and prefix:
        value.error(f"the prefix {quoted(prefix)} {fault}")
    return prefix if len(value.report.errors) == errors else None


def _load(reference: Value | None, context: Context) -> World | None:
    """The world that an entry names, its own faults recorded; None where there is none."""
    found = None if reference is None else context.find(reference)
    if reference is None or found is None:
        return None
    path, shown = found
    if path.resolve() in context.including:
        loop = " -> ".join(part.name for part in (*context.including, path))
        reference.error(f"includes itself: {loop}")
        return None
    if len(context.including) >= DEEPEST or len(context.report.files) >= MOST_FILES:
        reference.error(f"one include too many; allowed: {DEEPEST} deep, {MOST_FILES} files in a world")
        return None
    world = read_file(path, shown, context.roots.around(path), context.report, context.including)
    if world is not None and world.recipes:
        names = ", ".join(recipe.name for recipe in world.recipes)
        reference.warning(f"its recipes ({names}) are left out: programs are started by the file that is run")
    return world
