"""Worlds from JSON files: scene graphs, and AeroSim's simulation configurations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.extensions.aerosim.coordinates import consistent
from sim_node.extensions.aerosim.fmu_models import FmuModels, moved_by_fmus, read_fmu_models
from sim_node.extensions.aerosim.json_text import compose_json
from sim_node.extensions.aerosim.options import Options
from sim_node.extensions.aerosim.reading import read_graph
from sim_node.extensions.aerosim.sim_config import Trajectory, read_scenario, read_sim_config
from sim_node.extensions.aerosim.to_world import world_of
from sim_node.world.layout import with_default_parents
from sim_node.world.model import Motion, World
from sim_node.world.problems import WorldError
from sim_node.world.readers.files import Roots, read_text
from sim_node.world.readers.report import Report
from sim_node.world.readers.unread import report_unread, unread
from sim_node.world.readers.yaml_nodes import Mapping


def read_world(path: Path, shown: Path, roots: Roots, report: Report, options: Options) -> World | None:
    """Return the world of a file. On errors, return None; they are in `report`."""
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
    """Return the world with the frames of actors moving on their trajectories, at constant attitude."""
    still = [frame for frame in world.frames if frame.name not in trajectories]
    motions = []
    for frame in world.frames:
        if (along := trajectories.get(frame.name)) is not None:
            turns = np.tile(frame.pose[3:], (len(along.times_ns), 1))
            own: dict[str, Any] = {"scale": frame.scale, "place": frame.place, "parent_place": frame.parent_place}
            motions.append(Motion(frame.name, frame.parent, along.times_ns, np.hstack([along.positions, turns]), **own))
    return replace(world, frames=tuple(still), motions=(*world.motions, *motions)) if motions else world
