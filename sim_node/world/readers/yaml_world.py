"""World files in YAML: the sections of one file, one after the other."""

from __future__ import annotations

from pathlib import Path

from sim_node.world.model import World
from sim_node.world.parents import with_default_parents
from sim_node.world.problems import WorldError
from sim_node.world.readers.files import Roots, read_text
from sim_node.world.readers.registry import reader
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import compose
from sim_node.world.readers.yaml_section import SECTIONS, Context
from sim_node.world.readers.yaml_values import Value


@reader(".yaml", ".yml")
def read_yaml(path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = ()) -> World | None:
    """The world of one YAML file, or None with the faults in `report`."""
    text = read_text(path, report)
    if text is None:
        return None
    try:
        root = compose(text, report)
    except WorldError as error:
        report.errors.extend(error.problems)
        return None
    if root is None:
        report.error("is empty; a world has at least a name")
        return None
    context = Context(path, shown, roots, report, (*including, path.resolve()))
    table = Value(root, report).table(tuple(SECTIONS))
    for key, read in SECTIONS.items():
        value = table.get(key)
        if value is not None:
            read(value, context)
    return with_default_parents(context.world())
