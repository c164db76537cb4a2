"""The section `include`: other worlds as parts of this one, with a prefix and a pose."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from sim_node import names
from sim_node.names import SENSOR_PATTERNS
from sim_node.registry import Registry
from sim_node.text import did_you_mean
from sim_node.world.locate import is_program, shipped_models
from sim_node.world.model import StaticFrame, World
from sim_node.world.part import PARTS, Rename, all_parts
from sim_node.world.problems import Place, quoted
from sim_node.world.readers.keys import Keys, either, frame, listing, text
from sim_node.world.readers.registry import read_file
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_poses import POSE_KEYS, read_pose
from sim_node.world.readers.yaml_section import Context, frame_name, section
from sim_node.world.readers.yaml_start import START_KEYS, read_start
from sim_node.world.readers.yaml_values import Table, Value
from sim_node.world.unsupported import no_such_model

# Number of files of a world, and depth of includes: a few small files could include each other
# more often than any machine could read.
MAX_FILES, MAX_DEPTH = 1000, 32
INCLUDE_KEYS = Keys(
    {
        "file": text("A world or model, relative to this file."),
        "prefix": text("What the names of its frames begin with here."),
        "parent": frame("The frame that its fixed frame becomes, or is placed in."),
        "pose": POSE_KEYS,
        **START_KEYS,
    },
    required=("file",),
)


class IncludeReader(NamedTuple):
    """A reader of included files that supports additional keys of the include: these keys, and the function."""

    keys: Keys
    read: Callable[[Path, Path, Report, Table, Context], World | None]


INCLUDE_READERS: Registry[str, IncludeReader] = Registry(
    "reader of includes",
    shipped=("sim_node.formats.urdf_files",),
    group="sim_node.readers",
)


def include_reader(*suffixes: str, keys: Keys) -> Callable[[Callable[..., World | None]], Callable[..., World | None]]:
    """Register how files with a suffix are included, in addition to `reader`, with additional keys of the include."""

    def enter(read: Callable[..., World | None]) -> Callable[..., World | None]:
        INCLUDE_READERS.add(*suffixes, module=read.__module__)(IncludeReader(keys, read))
        return read

    return enter


def include_keys() -> Keys:
    """Return the keys of an include, with those of all formats."""
    further = {key: form for each in INCLUDE_READERS.values() for key, form in each.keys.items()}
    return Keys({**INCLUDE_KEYS, **further}, required=INCLUDE_KEYS.required)


INCLUDES = listing("Other worlds and models, as parts of this one.", either("", text("A path."), include_keys))


@section("include", INCLUDES)
def read_include(value: Value, context: Context) -> None:
    """Read a list of included files: each a path, or a mapping of file, prefix, parent and pose."""
    for entry in value.items():
        if isinstance(entry.node, Scalar):
            included = _load(entry, context)
            if included is None:
                context.report.missing.append(entry.path)
            else:
                _merge(included, "", context.fixed_frame, entry.place, None, context)
        else:
            _read_entry(entry, context)


def _read_entry(entry: Value, context: Context) -> None:
    """Read an include given as a mapping.

    Without a pose, the included world's fixed frame is `parent` itself; otherwise, it is a frame below `parent`.
    """
    table = entry.table(include_keys())
    parent_value, pose_value = table.get("parent"), table.get("pose")
    parent = frame_name(parent_value) or context.fixed_frame
    parent_place = entry.place if parent_value is None else parent_value.place
    prefix = _prefix(table.get("prefix"))
    pose, scale = read_pose(pose_value)
    if scale is not None and pose_value is not None:
        pose_value.error("an included world has no scale; give it to its frames")
    included = _load(table.get("file"), context, table)
    if included is None or prefix is None:
        context.report.missing.append(entry.path)
        return
    included = read_start(included, table)
    root = names.prefixed(prefix, included.fixed_frame)
    if pose_value is None:
        _merge(included, prefix, parent, entry.place, parent_place, context)
    elif root == parent:
        pose_value.error(f"needs a prefix, too: both worlds have a frame {root!r}")
    else:
        context.add(StaticFrame(root, parent, pose, None, entry.place, parent_place))
        _merge(included, prefix, root, entry.place, None, context)


def _merge(world: World, prefix: str, root: str, place: Place, root_place: Place | None, context: Context) -> None:
    """Add a world's parts below `prefix`. Its fixed frame becomes `root`, which is given at `root_place`.

    place: location of the entry, where problems of its models in this world are reported.
    """
    # Files of other formats are meant to be run alone: without an origin of its own, this world adopts theirs.
    if context.origin is None and root == context.fixed_frame and Path(world.source).suffix.lower() in INCLUDE_READERS:
        context.origin = world.origin
    rename = Rename(prefix, world.fixed_frame, root, place, root_place)
    for kind, part in all_parts(world):
        renamed = kind.renamed(part, rename)
        PARTS.expect(kind.name, renamed, (kind.type, type(None)), f"from renamed(), a {kind.type.__name__} or None")
        if renamed is not None:
            context.add(renamed)
    if world.static_patterns != SENSOR_PATTERNS:
        context.static_patterns = tuple(dict.fromkeys(context.static_patterns + world.static_patterns))


def _prefix(value: Value | None) -> str | None:
    """Read the prefix; empty if there is none, or None if there is a fault, which is recorded."""
    if value is None:
        return ""
    prefix = value.text_or_none()
    if prefix and (fault := names.fault(prefix.removesuffix("/"))):
        value.error(f"the prefix {quoted(prefix)} {fault}")
        return None
    return prefix


def _load(reference: Value | None, context: Context, table: Table | None = None) -> World | None:
    """Load the world of an entry and record its faults. Return None if it is invalid. table: the entry's keys."""
    found = None if reference is None else context.find(reference)
    if reference is None or found is None:
        return None
    path, shown = found
    if not _may_include(reference, path, context):
        return None
    how = INCLUDE_READERS.get(path.suffix.lower())
    if table is not None:
        _refuse_keys_of_others(table, how)
    if how is not None and table is not None:
        context.report.files.append(path)
        world = how.read(path, shown, context.report.about(str(shown)), table, context)
    else:
        world = read_file(path, shown, context.roots.around(path), context.report, context.including)
    for kind in PARTS.values():
        if world is not None and kind.starts_programs and (started := kind.parts(world)):
            names = ", ".join(each.name for each in started)
            reference.warning(f"its {kind.name} ({names}) are ignored: only the file that is run starts processes")
    return world


def _may_include(reference: Value, path: Path, context: Context) -> bool:
    """Return whether a file may be included here; record the fault if not."""
    if is_program(path):
        reference.error(f"{path.name} is not included, because it would run as a program; give its path to a command")
    elif path.resolve() in context.including:
        loop = " -> ".join(part.name for part in (*context.including, path))
        reference.error(f"includes itself: {loop}")
    elif len(context.including) >= MAX_DEPTH or len(context.report.files) >= MAX_FILES:
        reference.error(f"too many includes; allowed: {MAX_DEPTH} levels, {MAX_FILES} files in a world")
    else:
        return True
    return False


def _refuse_keys_of_others(table: Table, how: IncludeReader | None) -> None:
    """Record faults for keys that only apply to other formats."""
    known = set() if how is None else set(how.keys)
    for key in dict.fromkeys(key for each in INCLUDE_READERS.values() for key in each.keys if key not in known):
        value = table.get(key)
        if value is not None:
            suffixes = ", ".join(suffix for suffix, each in INCLUDE_READERS.items() if key in each.keys)
            value.error(f"applies only to {suffixes} files")


def part_world(reference: Value, context: Context) -> World | None:
    """Return the world in a model file, given as a shipped name or a path; None if there is a fault, recorded."""
    found = model_file(reference, context, shipped_models(), "world file")
    if found is None:
        return None
    path, shown = found
    if path.resolve() in context.including:
        reference.error("includes itself")
        return None
    return read_file(path, shown, context.roots.around(path), context.report, context.including)


def model_file(
    reference: Value, context: Context, shipped: Mapping[str, Path], what: str, suffixes: Collection[str] = ()
) -> tuple[Path, Path] | None:
    """Return the file of a model, and how to show it: a shipped one by its name, or a path.

    what: the file, for the fault. suffixes: those of paths without a slash; by default any. Return None with the fault
    recorded.
    """
    name = reference.node.text if isinstance(reference.node, Scalar) else ""
    suffix = Path(name).suffix
    if "/" in name or (suffix and suffix in (suffixes or (suffix,))):
        return context.find(reference)
    if name in shipped:
        return shipped[name], shipped[name]
    hint = did_you_mean(name, shipped) or no_such_model(name)
    reference.error(f"found {reference.found()}; allowed: {', '.join(shipped)}, or the path of a {what}{hint}")
    return None
