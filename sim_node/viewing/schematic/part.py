"""The schematic as a part of a world: `schematic: file.kdl`, or its text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sim_node.viewing.schematic.model import Schematic
from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import Problem
from sim_node.world.readers.keys import text
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import Value

SUFFIX = ".kdl"


@section("schematic", text("A schematic: the name of a file in KDL, or its text."))
def read(value: Value, context: Context) -> None:
    """Read the name of a KDL file, or the text itself."""
    from sim_node.viewing.schematic.reader import (
        read_schematic,  # few worlds have one, and every world imports this module
    )

    errors = len(value.report.errors)
    given = value.text()
    if len(value.report.errors) > errors:
        return
    if "\n" not in given and given.rstrip().endswith(SUFFIX):
        found = context.find(value)
        if found is None:
            return
        path, shown = found
        try:
            content = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            value.error(f"cannot be read: {error}")
            return
        context.report.read.append(path)
        schematic = read_schematic(content, str(shown), path=path, roots=context.roots, report=context.report)
        schematic = replace(schematic, file=path)
    else:
        at = _before(value, context)
        schematic = read_schematic(
            given, context.report.file, path=context.path, roots=context.roots, report=context.report, at=at
        )
    schematic = replace(schematic, place=value.place)
    context.add(schematic)
    value.sets(schematic, "schematic")


def _before(value: Value, context: Context) -> tuple[int, int]:
    """Return the number of lines and columns of the file before the text."""
    node = value.node
    assert isinstance(node, Scalar)
    try:
        lines = context.path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):  # a world from a text, such as in a bag
        lines = []
    if node.line <= len(lines) and lines[node.line - 1][node.column - 1 : node.column] in ("|", ">"):
        first = next((line for line in lines[node.line :] if line.strip()), "")
        return node.line, len(first) - len(first.lstrip())
    return node.line - 1, node.column - 1


@part("schematic", Schematic)
class TheSchematic(Kind[Schematic]):
    """The schematic, at most one in a world."""

    single = True

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add its file, or its text."""
        for each in self.parts(world):
            sections[self.section] = self.data(each, refer)

    def data(self, part: Schematic, refer: Refer) -> Any:
        """Return its file, or its text."""
        return part.text if part.file is None else refer(part.file)

    def problems(self, world: World) -> Iterator[Problem]:
        """Return nothing, because names in formulas are looked up where the world is shown."""
        return iter(())

    def remarks(self, world: World) -> Iterator[Problem]:
        """Return that the world's origin takes precedence, if a schematic states another one."""
        for each in self.parts(world):
            yield from unused_origin(each, world)

    def renamed(self, part: Schematic, rename: Rename) -> None:
        """Return None, because the schematic of the including world applies."""


def unused_origin(schematic: Schematic, world: World) -> Iterator[Problem]:
    """Yield a remark if a schematic states another origin on Earth than its world, which takes precedence."""
    if schematic.origin is None or world.origin is None:
        return
    there = (world.origin.latitude, world.origin.longitude, world.origin.altitude)
    if schematic.origin != there:
        stated, used = (", ".join(f"{part:.9g}" for part in each) for each in (schematic.origin, there))
        yield schematic.origin_place.problem(f"lat, lon, alt {stated} have no effect; the world's origin is {used}")
