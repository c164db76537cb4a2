"""Tools for the files of the folder: listing worlds, writing worlds, reading text."""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from sim_node.extensions.assistants.commands import staged
from sim_node.extensions.assistants.registry import ToolCall, ToolRefused, TypedDict, tool
from sim_node.extensions.assistants.topics import DATA
from sim_node.world.locate import PROGRAMS, first_comment, is_program, shipped_robots, shipped_vehicles, shipped_worlds
from sim_node.world.readers.registry import READERS

MAX_LISTED, MAX_VISITED = 500, 20_000
METADATA = "metadata.yaml"  # of bags
# Maximum size of a world to write, and of one part of a file to read, bytes.
MAX_WRITTEN, MAX_READ = 1_000_000, 64_000


class ListedWorld(TypedDict):
    """A world: by a shipped name, or by its path within the folder. A vehicle or a model can only be spawned."""

    name: str
    kind: Literal["world", "model", "vehicle", "file"]
    about: str


class WorldList(TypedDict):
    """Worlds and what can be spawned. left_out: how many files of the folder are not listed."""

    worlds: list[ListedWorld]
    left_out: int


class Written(TypedDict):
    """A file within the folder, and its size in bytes."""

    file: str
    bytes: int


class TextPart(TypedDict, total=False):
    """Part of a file as text. bytes: size of the file; next_offset: where to go on, absent at the end."""

    note: str
    text: str
    bytes: int
    next_offset: int


@tool("list_worlds")
def list_worlds(call: ToolCall) -> WorldList:
    """Return the shipped worlds, models and vehicles, and the files of the folder that may be worlds.

    The names are what check_world, run_world, render_picture and spawn take.
    """
    shipped: list[tuple[Literal["world", "model", "vehicle"], dict[str, Path]]] = [
        ("world", shipped_worlds()),
        ("model", shipped_robots()),
        ("vehicle", shipped_vehicles()),
    ]
    found = [
        ListedWorld(name=name, kind=kind, about=first_comment(path))
        for kind, paths in shipped
        for name, path in paths.items()
    ]
    folder = call.access.folder.resolve()
    own = list(_worlds_below(folder))
    found += [
        ListedWorld(name=str(path.relative_to(folder)), kind="file", about=first_comment(path))
        for path in own[:MAX_LISTED]
    ]
    return {"worlds": found, "left_out": max(len(own) - MAX_LISTED, 0)}


@tool("write_world", changes=True)
def write_world(
    call: ToolCall,
    *,
    file: Annotated[str, "name of a new file, such as yard.yaml; its suffix determines the format"],
    text: Annotated[str, f"the world, up to {MAX_WRITTEN} bytes of UTF-8; see the resource schema://world"],
) -> Written:
    """Write a world to a new file of the folder. Check it with check_world."""
    path = call.access.new_path(file, tuple(suffix for suffix in READERS if suffix not in PROGRAMS))
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_WRITTEN:
        raise ToolRefused(f"the text has {len(data)} bytes; allowed: {MAX_WRITTEN}")
    with staged(path) as aside:
        aside.write_bytes(data)
    return {"file": str(path.relative_to(call.access.folder.resolve())), "bytes": len(data)}


@tool("read_file")
def read_file(
    call: ToolCall,
    *,
    file: Annotated[str, "path of a text file within the folder"],
    offset: Annotated[int, "bytes to skip: next_offset of the part before"] = 0,
    limit: Annotated[int, f"bytes to read, 1 to {MAX_READ}"] = MAX_READ,
) -> TextPart:
    """Return a text file of the folder, or a part of it. Contents of bags are for bag_info, bag_query and plot."""
    if not 1 <= limit <= MAX_READ:
        raise ToolRefused(f"limit is {limit}; needs 1 to {MAX_READ} bytes")
    if offset < 0:
        raise ToolRefused(f"offset is {offset}; needs 0 or more")
    path = call.access.path(file)
    if not path.is_file():
        raise ToolRefused(f"no file {file!r} in the folder")
    try:
        with path.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            opened.seek(offset)
            data = opened.read(limit)
    except OSError as error:
        raise ToolRefused(f"{file!r} cannot be read: {error.strerror}") from None
    if b"\0" in data:
        raise ToolRefused(f"{file!r} is not a text")
    end = offset + len(data)
    decoder = getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data, final=end >= size)
    if text:  # do not split a character: its first bytes are read again with the next part
        end -= len(decoder.getstate()[0])
    else:
        text = data.decode("utf-8", "replace")
    found: TextPart = {"note": DATA, "text": text, "bytes": size}
    if end < size and data:
        found["next_offset"] = end
    return found


def _worlds_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder with the suffix of a world, sorted, except those in hidden folders."""
    visited = 0
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            visited += 1
            path = Path(above, name)
            known = path.suffix.lower() in READERS and not is_program(path) and name != METADATA
            if known and path.is_file() and path.resolve().is_relative_to(folder):
                yield path
        if visited > MAX_VISITED:
            return
