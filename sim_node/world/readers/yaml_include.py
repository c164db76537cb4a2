"""The `include` section: other worlds as parts of this one, under a prefix, at a place."""

from __future__ import annotations

from dataclasses import replace

from sim_node.world import names
from sim_node.world.locate import LocateError
from sim_node.world.model import StaticFrame, World
from sim_node.world.readers.registry import read_file
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_poses import read_pose
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import Value

INCLUDE_KEYS = ("file", "prefix", "parent", "pose")


@section("include")
def read_include(value: Value, context: Context) -> None:
    """A list of world files: a path each, or file with prefix, parent and pose."""
    for entry in value.items():
        if isinstance(entry.node, Scalar):
            included = _load(entry, context)
            if included is not None:
                _take_in(included, "", context.fixed_frame, None, entry, context)
            continue
        table = entry.table(INCLUDE_KEYS, required=("file",))
        file = table.get("file")
        prefix = table.text("prefix")
        parent = context.frame_name(table, "parent") or context.fixed_frame
        placed = StaticFrame("", "", *read_pose(table.get("pose"))) if "pose" in table else None
        included = None if file is None else _load(file, context)
        if prefix and names.fault(prefix.rstrip("/")):
            entry.error(f"prefix {prefix!r} {names.fault(prefix.rstrip('/'))}")
        elif included is not None:
            _take_in(included, prefix, parent, placed, entry, context)


def _load(reference: Value, context: Context) -> World | None:
    try:
        path = context.roots.resolve(reference.text(), context.path)
    except LocateError as error:
        reference.error(str(error))
        return None
    if path.resolve() in context.including:
        loop = " -> ".join(part.name for part in (*context.including, path))
        reference.error(f"includes itself: {loop}")
        return None
    return read_file(path, context.shown.parent / reference.text(), context.roots, context.report, context.including)


def _take_in(
    world: World, prefix: str, parent: str, placed: StaticFrame | None, entry: Value, context: Context
) -> None:
    """Adds a world's frames under `prefix`. Its fixed frame becomes a frame at the given pose below `parent`,
    or, where no pose is given, is `parent` itself."""
    root = names.prefixed(prefix, world.fixed_frame)
    if placed is None:
        root = parent
    else:
        if root == parent:
            entry.error(f"a pose needs a prefix too: both worlds have a frame {root}")
            return
        context.frames.append(replace(placed, name=root, parent=parent, where=entry.where))

    def renamed(name: str) -> str:
        return root if name == world.fixed_frame else names.prefixed(prefix, name)

    context.frames += [replace(f, name=renamed(f.name), parent=renamed(f.parent)) for f in world.frames]
    context.sensors += [replace(s, name=renamed(s.name), parent=renamed(s.parent)) for s in world.sensors]
    context.motions += [replace(m, frame=renamed(m.frame), parent=renamed(m.parent)) for m in world.motions]
    context.static_patterns = tuple(dict.fromkeys(context.static_patterns + world.static_patterns))
