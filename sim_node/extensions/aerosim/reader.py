"""Worlds from JSON: scene graphs, and AeroSim's configurations of a simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.extensions.aerosim.coordinates import consistent
from sim_node.extensions.aerosim.fmu_models import FmuModels, moved_by_fmus, read_fmu_models
from sim_node.extensions.aerosim.json_text import compose_json
from sim_node.extensions.aerosim.reading import read_graph
from sim_node.extensions.aerosim.sim_config import Trajectory, read_scenario, read_sim_config
from sim_node.extensions.aerosim.to_world import EFFECTOR_CONVENTIONS, ROOTS, Asset, Options, world_of
from sim_node.world.layout import with_default_parents
from sim_node.world.mesh_files import MESHES, MESHES_SHOWN, mesh_fault
from sim_node.world.model import Motion, World
from sim_node.world.problems import WorldError, counted, quoted
from sim_node.world.readers.files import Roots, read_text
from sim_node.world.readers.keys import Keys, by_name, choice, flag, text
from sim_node.world.readers.registry import read_file, reader
from sim_node.world.readers.report import Report
from sim_node.world.readers.unread import report_unread, unread
from sim_node.world.readers.yaml_include import include_reader
from sim_node.world.readers.yaml_nodes import Mapping
from sim_node.world.readers.yaml_section import Context
from sim_node.world.readers.yaml_values import Table, Value

MODELS = (".urdf", ".xml", ".mjcf")
# Not read: usd-core, a wheel of 29 MB under a licence of its own, would be needed for what other programs export.
USD = (".usd", ".usda", ".usdc", ".usdz")


@reader(".json")
def read_json(path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = ()) -> World | None:
    """Return the world of a scene graph, or None with the faults in `report`."""
    return _read(path, shown, roots, report, Options())


@include_reader(
    ".json",
    keys=Keys(
        {
            "convention": choice("Axes of a scene graph's root.", ROOTS),
            "effectors": choice("Axes of a scene graph's effectors.", EFFECTOR_CONVENTIONS),
            "scaled_children": flag("Whether the scale of an entity is that of what is below it, too."),
            "assets": by_name("Meshes and models by the names of a scene graph's assets.", text("A file.")),
        }
    ),
)
def read_included(path: Path, shown: Path, report: Report, table: Table, context: Context) -> World | None:
    """Return the world of an included scene graph, with the conventions and assets of the include."""
    options = Options(
        convention=table.choice("convention", ROOTS, "NED"),
        effectors="" if table.get("effectors") is None else table.choice("effectors", EFFECTOR_CONVENTIONS, "FRD"),
        assets=_assets(table.get("assets"), context),
        scaled_children=False if (scaled := table.get("scaled_children")) is None else scaled.flag(False),
    )
    return _read(path, shown, context.roots, report, options)


def _read(path: Path, shown: Path, roots: Roots, report: Report, options: Options) -> World | None:
    text = read_text(path, report)
    if text is None:
        return None
    errors = len(report.errors)
    try:
        root = compose_json(text, report)
    except WorldError as error:
        report.errors.extend(error.problems)
        return None
    keys = root.entries if isinstance(root, Mapping) else {}
    trajectories: dict[str, Trajectory] = {}
    models = FmuModels()
    if "actors" in keys and "entities" not in keys:
        scenario = read_scenario(root, path, roots, report)
        graph, trajectories = (None, {}) if scenario is None else scenario
        options = replace(options, convention="NED")
    else:
        is_config = "entities" not in keys and "world" in keys
        models = read_fmu_models(root, path, roots, report) if is_config else models
        graph = read_sim_config(root, report) if is_config else read_graph(root, report)
    if graph is None or len(report.errors) > errors:
        return None
    report_unread(unread(root), report)
    graph, differences = consistent(graph)
    report.warnings.extend(differences)
    found = world_of(graph, path.stem, options)
    report.errors.extend(found.errors)
    report.warnings.extend(found.warnings)
    if len(report.errors) > errors:
        return None
    world = moved_by_fmus(_moving(found.world, trajectories), root, models)
    return with_default_parents(replace(world, source=str(shown)))


def _moving(world: World, trajectories: dict[str, Trajectory]) -> World:
    """Return the world with the frames of actors on their trajectories, at the attitudes that they have."""
    still = [frame for frame in world.frames if frame.name not in trajectories]
    motions = []
    for frame in world.frames:
        if (along := trajectories.get(frame.name)) is not None:
            turns = np.tile(frame.pose[3:], (len(along.times_ns), 1))
            own: dict[str, Any] = {"scale": frame.scale, "place": frame.place, "parent_place": frame.parent_place}
            motions.append(Motion(frame.name, frame.parent, along.times_ns, np.hstack([along.positions, turns]), **own))
    return replace(world, frames=tuple(still), motions=(*world.motions, *motions)) if motions else world


def _assets(value: Value | None, context: Context) -> dict[str, Asset]:
    """Read the table of assets: meshes and models by the names of assets, beside the world file."""
    assets: dict[str, Asset] = {}
    if value is None:
        return assets
    for name, _, each in value.named("of assets to files"):
        found = context.find(each)
        if found is None:
            continue
        path, shown = found
        suffix = path.suffix.lower()
        if suffix in MODELS:
            roots = context.roots.around(path)
            world = read_file(path, shown, roots, context.report, (*context.including, path.resolve()))
            if world is not None and len(world.models) != 1:
                each.error(f"{quoted(path.name)} has {counted(len(world.models), 'model')}; an asset is one")
            elif world is not None:
                assets[name] = Asset(path, world, each.place)
        elif suffix not in (*MESHES, *MESHES_SHOWN):
            allowed = ", ".join((*MESHES, *MESHES_SHOWN, *MODELS))
            hint = "; USD is not read: export it as .glb, for instance from Blender" if suffix in USD else ""
            each.error(f"{quoted(path.name)} cannot stand for an asset; allowed: {allowed}{hint}")
        elif fault := mesh_fault(path):
            each.error(fault)
        else:
            context.report.read.append(path)
            assets[name] = Asset(path, None, each.place)
    return assets
