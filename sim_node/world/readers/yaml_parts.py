"""Models of robots: world files that are parts of other worlds, shipped in config/models or beside a world."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from sim_node.text import did_you_mean
from sim_node.world.locate import shipped_models
from sim_node.world.model import World
from sim_node.world.readers.registry import read_file
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_section import Context
from sim_node.world.readers.yaml_values import Value
from sim_node.world.unsupported import no_such_model


def part_world(reference: Value, context: Context) -> World | None:
    """Return the world in a model's file: a shipped one by its name, or a path. Return None with the fault recorded."""
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
