"""World files in YAML: read the sections of a file, or of plain data."""

from __future__ import annotations

import decimal
from collections.abc import Mapping as AnyMapping
from pathlib import Path
from typing import Any

from sim_node.world.layout import with_default_parents
from sim_node.world.model import World
from sim_node.world.readers.files import Roots
from sim_node.world.readers.registry import reader
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import Mapping, Node, Scalar, Sequence
from sim_node.world.readers.yaml_section import SECTION_ALIASES, SECTIONS, Context
from sim_node.world.readers.yaml_values import Value, root_of


def read_data(data: AnyMapping[str, Any], world: World) -> tuple[Context, Report]:
    """Read sections from plain data, as in the file of a world. Return the context and the report.

    The fixed frame is that of the world. Paths are not restricted, since they were checked when they were first read.
    """
    report = Report("")
    path = Path(world.source or f"{world.name}.yaml")
    context = Context(path, path, Roots((Path("/"),)), report, fixed_frame=world.fixed_frame)
    table = Value(node_of(data), report).table(tuple(SECTIONS))
    for key, read in SECTIONS.items():
        value = table.get(key)
        if value is not None:
            read(value, context)
    return context, report


def node_of(data: Any) -> Node:
    """Return plain data as the nodes of a file, without locations."""
    if isinstance(data, AnyMapping):
        return Mapping({key: (Scalar(key, True, 0, 0), node_of(value)) for key, value in data.items()}, 0, 0)
    if isinstance(data, (list, tuple)):
        return Sequence([node_of(value) for value in data], 0, 0)
    return Scalar(_text(data), not isinstance(data, str), 0, 0)


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return repr(float(value))
    return format(value, "f") if isinstance(value, decimal.Decimal) else str(value)


@reader(".yaml", ".yml")
def read_yaml(path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = ()) -> World | None:
    """Return the world of a YAML file, or None with the faults in `report`."""
    root = root_of(path, report, "a world needs at least a name")
    if root is None:
        return None
    context = Context(path, shown, roots, report, (*including, path.resolve()))
    table = root.table(tuple(SECTIONS), aliases=SECTION_ALIASES)
    for key, read in SECTIONS.items():
        value = table.get(key)
        if value is not None:
            read(value, context)
    return with_default_parents(context.world())
