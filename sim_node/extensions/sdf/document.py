"""Reading of SDF files to scopes: models, includes and their names, with the differences between format versions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from sim_node.extensions.sdf import uris
from sim_node.extensions.sdf.elements import SdfReading, child, text, text_of
from sim_node.extensions.sdf.scopes import MERGED, MODEL, WORLD, ScopeEntry, ScopeFault, SdfScope, own_pose, pose_in
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.locate import LocateError
from sim_node.world.problems import quoted
from sim_node.world.readers.files import read_text
from sim_node.world.readers.xml_elements import Element, XmlAttribute, compose_xml

NEWEST = (1, 12)
MAX_DEPTH, MAX_FILES = 32, 1000
_COMMENT = re.compile(r"<!\[CDATA\[.*?\]\]>|<!--(.*?)-->", re.DOTALL)
_DECLARED, _NO_BREAK = re.compile(r"\s*<?\?xml[^>]*>"), re.compile(r"[^\n]")
# Reserved names.
RESERVED = (WORLD, "__root__", MODEL)
KINDS = {"link": "link", "joint": "joint", "frame": "frame", "model": "model"}


@dataclass(frozen=True)
class File:
    """An SDF file: its path, the path in messages, its format version, and the files that include it."""

    path: Path
    shown: Path
    version: tuple[int, ...]
    including: tuple[Path, ...] = ()


def version_of(reading: SdfReading, root: Element) -> tuple[int, ...]:
    """Return the format version of a file, such as (1, 9). Newer versions are read as the newest known one."""
    words = root.get("version") or "1.4"
    parts = words.split(".")
    if not all(part.isdecimal() and len(part) < 4 for part in parts) or len(parts) < 2:
        reading.error(root, f"a version as 1.9 is needed, found {quoted(words)}", "version")
        return NEWEST
    version = tuple(map(int, parts))
    if version > NEWEST:
        reading.report.about(root.file).warning(
            f"format {words} is newer than {NEWEST[0]}.{NEWEST[1]}; what it shares with that is read",
            root.attributes["version"].at,
            "sdf.version",
        )
    return version


def read_scope(reading: SdfReading, element: Element, file: File, above: SdfScope | None, name: str = "") -> SdfScope:
    """Return the scope of a <model> or <world>, with everything in it. Faults are recorded.

    Args:
        reading: What is being read.
        element: The <model> or <world>.
        file: Its file.
        above: The scope that contains it, if any.
        name: The name given by an include, if any.
    """
    given = element.get("name")
    if not given:
        reading.error(element, "name is missing")
    scope = SdfScope(
        name or given or element.tag,
        element,
        file.version,
        above,
        static=above is not None and reading.flag(element, "static"),
        placement=element.get("placement_frame"),
        canonical=element.get("canonical_link"),
    )
    add_children(reading, element, scope, file)
    return scope


def add_children(reading: SdfReading, element: Element, scope: SdfScope, file: File) -> None:
    """Add the links, joints, frames, models and includes of an element to a scope, in order."""
    for part in element.children:
        kind = KINDS.get(part.tag)
        if part.tag == "include":
            _include(reading, part, scope, file)
        elif kind is not None and not (kind == "link" and scope.is_world):
            part.read = True
            inner = read_scope(reading, part, file, scope) if kind == "model" else None
            add(reading, scope, _entry(reading, part, kind, inner, file))


def _entry(reading: SdfReading, part: Element, kind: str, inner: SdfScope | None, file: File) -> ScopeEntry:
    pose = child(part, "pose")
    attached = part.get("attached_to") if kind == "frame" else text(part, "child") if kind == "joint" else ""
    return ScopeEntry(
        part.get("name"), kind, part, reading.pose(pose), relative_to(pose, file.version), attached, inner
    )


def relative_to(pose: Element | None, version: tuple[int, ...]) -> str:
    """Return the reference frame of a <pose>; empty for the default. Before 1.7 the attribute was called frame."""
    if pose is None:
        return ""
    return pose.get("relative_to") or (pose.get("frame") if version < (1, 7) else "")


def part_pose(reading: SdfReading, scope: SdfScope, entry: ScopeEntry | None, element: Element) -> FloatArray:
    """Return the pose (7,) of a collision, visual or sensor in its link or joint, or of a light in its world.

    A reference frame that does not exist is ignored with a warning, as in gz-sim (SdfEntityCreator.cc, ResolveSdfPose);
    libsdformat does not check such frames when it loads a file. Raises ScopeFault for other faults.
    """
    given = child(element, "pose")
    pose, frame = reading.pose(given), relative_to(given, scope.version)
    if given is None or not frame:
        return pose
    try:
        there = poses.compose(pose_in(scope, frame, element), pose)
    except ScopeFault as fault:
        if fault.element is not element:
            raise
        kind = "world" if entry is None else entry.kind
        reading.approximate(given, f"{fault.message}; the pose is in the {kind}, as in Gazebo")
        return pose
    return there if entry is None else poses.relative(own_pose(scope, entry), there)


def add(reading: SdfReading, scope: SdfScope, entry: ScopeEntry) -> None:
    """Add an entry to a scope. An invalid name is reported."""
    name, element = entry.name, entry.element
    if entry.inner is not None:
        entry.inner.entry = entry
    if not name:
        if entry.inner is None:
            reading.error(element, "name is missing")
    elif name in RESERVED or (name.startswith("__") and name.endswith("__")):
        reading.error(element, f"the name {quoted(name)} is reserved", "name")
    elif name in scope.entries and _may_rename(entry, scope.entries[name]):
        new = next(each for each in _numbered(f"{name}_{entry.kind}") if each not in scope.entries)
        reading.approximate(
            element, f"{quoted(name)} is also the name of a {scope.entries[name].kind}; the {entry.kind} is {new}"
        )
        scope.entries[new] = replace(entry, name=new)
    elif name in scope.entries or name in scope.aliases:
        noun = scope.entries[name].kind if name in scope.entries else "part of a merged model"
        reading.error(element, f"the name {quoted(name)} is that of a {noun} already", "name")
    else:
        scope.entries[name] = entry


def _may_rename(entry: ScopeEntry, other: ScopeEntry) -> bool:
    """Return whether an entry may be renamed: a joint or a frame with the name of an entry of another kind."""
    return entry.kind in ("joint", "frame") and entry.kind != other.kind


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}{number}" for number in count(1))


def _include(reading: SdfReading, include: Element, scope: SdfScope, file: File) -> None:
    include.read = True
    opened = open_model(reading, include, file)
    if opened is None:
        return
    element, its, includes = opened
    if element.tag != "model":
        # Lights and actors are read together with those of the world.
        for each, _ in reversed(includes):
            _place(reading, each, element)
        include.children.append(element)
        return
    inner = read_scope(reading, element, its, scope, text_of(_outermost(includes, "name")))
    inner.merged = reading.truth(include, include.get("merge"), False, "merge")
    static = _outermost(includes, "static")
    inner.static = inner.static if static is None else reading.truth(static, text_of(static), inner.static)
    inner.placement = text_of(_outermost(includes, "placement_frame"), inner.placement)
    for each, _ in includes:
        if (placement := child(each, "placement_frame")) is not None and child(each, "pose") is None:
            reading.error(placement, "an include with a placement_frame needs a <pose>")
    # The outermost pose applies, in the reference frame of the include.
    poses = [
        (reading.pose(pose), relative_to(pose, by.version))
        for each, by in (*includes, (element, its))
        if (pose := child(each, "pose")) is not None
    ]
    entry = ScopeEntry(inner.name, "model", include, *(poses or [(reading.pose(None), "")])[0], "", inner)
    for each, _ in reversed(includes):
        element.children.extend(each.all("plugin"))
    if inner.merged:
        _merge(reading, scope, inner, entry)
    else:
        add(reading, scope, entry)


def _outermost(includes: list[tuple[Element, File]], tag: str) -> Element | None:
    """Return the child with a tag of the outermost include that has one. Overridden children are marked as read."""
    found = [each for include, _ in includes if (each := child(include, tag)) is not None and text_of(each)]
    return next(iter(found), None)


def _merge(reading: SdfReading, scope: SdfScope, inner: SdfScope, entry: ScopeEntry) -> None:
    """Add the names of a merged model to the scope that includes it."""
    hidden = f"{MERGED}{len(scope.entries)}_{inner.name}"
    inner.static = False
    scope.entries[hidden] = inner.entry = replace(entry, name=hidden)
    for name in [*inner.entries, *inner.aliases]:
        if name in scope.entries or name in scope.aliases:
            reading.error(entry.element, f"the merged model has a {quoted(name)}, and so has {quoted(scope.name)}")
        elif not name.startswith(MERGED):
            scope.aliases[name] = hidden


def _place(reading: SdfReading, include: Element, element: Element) -> None:
    """Apply the name and the pose of an include to the included light or actor."""
    if name := text(include, "name"):
        element.attributes["name"] = XmlAttribute(name, include.at)
    pose = child(include, "pose")
    if pose is not None:
        element.children[:] = [pose, *(each for each in element.children if each.tag != "pose")]


def open_model(
    reading: SdfReading, include: Element, file: File
) -> tuple[Element, File, list[tuple[Element, File]]] | None:
    """Return the model, light or actor of an include, its file, and the includes that lead to it, each with its file.

    There are several includes, outermost first, if a file has no model but includes one. On errors, report them and
    return None.
    """
    uri = child(include, "uri")
    if uri is None or not text_of(uri):
        reading.error(include, "uri is missing")
        return None
    try:
        path = uris.find(text_of(uri), file.path, reading.roots)
        if path.is_dir():
            path = uris.model_file(path, reading.report)
    except LocateError as error:
        reading.error(uri, str(error))
        return None
    resolved = path.resolve()
    if resolved in file.including:
        reading.error(uri, f"includes itself: {' -> '.join(each.name for each in (*file.including, path))}")
        return None
    if len(file.including) >= MAX_DEPTH or len(reading.opened) >= MAX_FILES:
        reading.error(uri, f"too many includes; allowed: {MAX_DEPTH} levels, {MAX_FILES} files in a world")
        return None
    opened = open_file(reading, path, (*file.including, resolved))
    if opened is None:
        return None
    root, its = opened
    if root.tag != "sdf":
        reading.error(uri, f"{path.name} has the root element <{root.tag}>; an include needs a model in SDF")
        return None
    for tag in ("model", "actor", "light"):
        if (element := child(root, tag)) is not None:
            return element, its, [(include, file)]
    if (inner := child(root, "include")) is not None:
        found = open_model(reading, inner, its)
        return None if found is None else (*found[:2], [(include, file), *found[2]])
    reading.error(uri, f"{path.name} has no model")
    return None


def open_file(
    reading: SdfReading, path: Path, including: tuple[Path, ...], shown: Path | None = None
) -> tuple[Element, File] | None:
    """Return the root element of a file, and the file. On errors, report them and return None."""
    shown = path if shown is None else shown
    report = reading.report.about(str(shown))
    reading.paths[str(shown)] = path
    if path not in report.files:
        report.files.append(path)
    content = read_text(path, report)
    root = None if content is None else compose_xml(as_xml(content), report)
    if root is None:
        return None
    root.read = True
    reading.opened.append(root)
    reading.report.roots.append(root)
    version = version_of(reading, root) if root.tag == "sdf" else NEWEST
    return root, File(path, shown, version, including)


def as_xml(content: str) -> str:
    """Convert text that Gazebo's parser accepts but XML does not allow to valid XML, without moving any element.

    This concerns -- in comments, and a declaration after white space or without its <.
    """
    content = _COMMENT.sub(lambda found: found[0] if found[1] is None else f"<!--{_plain(found[1])}-->", content)
    declared = _DECLARED.match(content)
    return content if declared is None else _NO_BREAK.sub(" ", declared[0]) + content[declared.end() :]


def _plain(comment: str) -> str:
    return comment.replace("--", "==").removesuffix("-") + ("=" if comment.replace("--", "==").endswith("-") else "")


def root_of(reading: SdfReading, root: Element, file: File) -> SdfScope | None:
    """Return the world of a file, or a world around its model. On errors, report them and return None."""
    if root.tag != "sdf":
        hint = did_you_mean(root.tag, ("sdf",))
        reading.error(root, f"the root element is <{root.tag}>; <sdf> is needed{hint}")
        return None
    worlds = root.all("world")
    if worlds:
        for more in worlds[1:]:
            reading.leave_out(more, "only the first world of a file is read")
        return read_scope(reading, worlds[0], file, None)
    parts = [part for part in root.children if part.tag in ("model", "light", "actor", "include")]
    if not parts:
        reading.error(root, "it has no world and no model")
        return None
    scope = SdfScope(parts[0].get("name") or file.path.stem, root, file.version)
    add_children(reading, root, scope, file)
    return scope
