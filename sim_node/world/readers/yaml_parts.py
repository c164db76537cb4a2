"""Models of robots: world files that are parts of other worlds, shipped in config/models or beside a world."""

from __future__ import annotations

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
    found = _file(reference, context)
    if found is None:
        return None
    path, shown = found
    if path.resolve() in context.including:
        reference.error("includes itself")
        return None
    return read_file(path, shown, context.roots.around(path), context.report, context.including)


def _file(reference: Value, context: Context) -> tuple[Path, Path] | None:
    name = reference.node.text if isinstance(reference.node, Scalar) else ""
    if "/" in name or Path(name).suffix:
        return context.find(reference)
    models = shipped_models()
    if name in models:
        return models[name], models[name]
    allowed = f"{', '.join(models)}, or the path of a world file"
    hint = did_you_mean(name, models) or no_such_model(name)
    reference.error(f"found {reference.found()}; allowed: {allowed}{hint}")
    return None
