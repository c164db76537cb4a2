"""Worlds from Python files. The file is executed, so only files that the user names are read."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sim_node.extensions.elodin.capture import Captured
from sim_node.extensions.elodin.conversions import unit_poses
from sim_node.extensions.elodin.frame_names import FIXED_FRAME, WORLD, WORLD_POS, frame_name
from sim_node.extensions.elodin.part import EntityFrame, PythonWorld, beside_file, processes_of
from sim_node.spatial.geometry.poses import IDENTITY
from sim_node.world.bounds import MAX_STAMP_NS
from sim_node.world.fields import nanoseconds
from sim_node.world.locate import PROGRAMS
from sim_node.world.model import MIN_STEP_NS, Origin, StaticFrame, TimeGrid, World
from sim_node.world.problems import Place, Problem, WorldError
from sim_node.world.processes import Process
from sim_node.world.readers.files import Roots
from sim_node.world.readers.registry import reader
from sim_node.world.readers.report import WHOLE_FILE, Report

if TYPE_CHECKING:
    from sim_node.viewing.schematic.model import Schematic


@reader(*PROGRAMS)
def read_python(
    path: Path, shown: Path, roots: Roots, report: Report, including: tuple[Path, ...] = ()
) -> World | None:
    """Run a script, and return the world that it passes to World.run. On errors, return None; they are in `report`."""
    if including:
        report.error("is not included, because it would run as a program; give its path to a command")
        return None
    from sim_node.extensions.elodin.script import (
        captured_world,  # here: every world imports this module to know its suffix
    )

    try:
        captured, files = captured_world(path)
    except WorldError as error:
        report.errors.extend(error.problems)
        return None
    report.files.extend(files[1:])
    report.read.extend(files)
    return world_of(captured, path, str(shown), roots, report)


def world_of(captured: Captured, path: Path, shown: str, roots: Roots, report: Report) -> World | None:
    """Return the world that a script passed to World.run. On errors, return None; they are in `report`."""
    if captured.source is not None:
        report.read.extend(captured.source.files)
        world = beside_file(captured.source, captured, path)
        schematic = _schematic(captured, path, roots, report)
        world = world if schematic is None else replace(world, schematic=schematic)
        return replace(world, processes=(*world.processes, *_recipes(captured, report)))
    time = _time(captured, report)
    if time is None:
        return None
    frames = _frames(captured)
    reference, at = captured.reference, getattr(captured.entities, "origin", None)
    also: tuple[StaticFrame, ...] = ()
    if not reference.is_root:
        also = (StaticFrame(reference.name, FIXED_FRAME, reference.pose),)
    elif not any(frame.name == WORLD for frame in frames):
        also = (StaticFrame(WORLD, FIXED_FRAME, IDENTITY),)
    schematic = _schematic(captured, path, roots, report)
    return World(
        path.stem,
        FIXED_FRAME,
        origin=None if at is None else Origin(*at),
        time=time,
        frames=also,
        python=PythonWorld(path, captured, frames),
        processes=_recipes(captured, report),
        schematic=schematic,
        source=shown,
    )


def _time(captured: Captured, report: Report) -> TimeGrid | None:
    """Return the time grid of a run: the step in whole nanoseconds, from the start given by the script, or from 0."""
    step = captured.program.structure.step
    if not math.isfinite(step) or not MIN_STEP_NS <= nanoseconds(step) <= MAX_STAMP_NS:
        allowed = f"{MIN_STEP_NS * 1e-9:g} to {MAX_STAMP_NS * 1e-9:g} s"
        report.error(f"found {step:g} s; allowed: {allowed}", key="sim_time_step")
        return None
    if captured.start_us < 0:
        told = "is before 1970, when times of worlds begin: those of the run count from 0, those of callbacks from it"
        report.warning(told, WHOLE_FILE, "start_timestamp")
    return TimeGrid(max(captured.start_us, 0) * 1000, nanoseconds(step))


def _frames(captured: Captured) -> tuple[EntityFrame, ...]:
    structure = captured.program.structure
    entities = structure.entities.get(WORLD_POS, ())
    if not entities or captured.program.start[WORLD_POS].shape[1:] != (7,):
        return ()
    places = captured.entities.places
    parent = "" if captured.reference.is_root else captured.reference.name
    poses = unit_poses(np.asarray(captured.program.start[WORLD_POS]))
    return tuple(
        EntityFrame(frame_name(structure.names[entity]), pose, Place(places[entity], structure.names[entity]), parent)
        for entity, pose in zip(entities, poses, strict=True)
    )


def _schematic(captured: Captured, path: Path, roots: Roots, report: Report) -> Schematic | None:
    """Return the schematic of a script. Errors, and elements that are not drawn, go to `report`."""
    # Imported here: these modules import JAX, which would slow down the reading of every world file.
    from sim_node.extensions.elodin.scenery import Scenery
    from sim_node.extensions.elodin.schematics import schematic_of

    if not isinstance(captured.entities, Scenery):
        return None
    try:
        return schematic_of(captured.entities, path, roots, report, captured.reference)
    except WorldError as error:
        report.errors.extend(error.problems)
        return None


def _recipes(captured: Captured, report: Report) -> tuple[Process, ...]:
    """Return the recipes of a script as processes, which only start if the user requests it."""
    recipes = getattr(captured.entities, "recipes", ())
    for each in recipes:
        if each.ready is not None or each.depends_on:
            given = "ready" if each.ready is not None else "depends_on"
            message = f"{given} acts when the script runs by itself; processes of sim_node run start together"
            report.warnings.append(Problem(each.where, f"recipe {each.name()!r}", message))
    return processes_of(recipes)
