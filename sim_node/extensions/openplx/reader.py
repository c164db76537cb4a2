"""Worlds from OpenPLX files: one of their systems, evaluated to an object."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.extensions.openplx.evaluate import evaluate
from sim_node.extensions.openplx.library import Definition, Library
from sim_node.extensions.openplx.models import Fault, Models
from sim_node.extensions.openplx.objects import Instances, Object
from sim_node.extensions.openplx.parts import value_of
from sim_node.extensions.openplx.physics3d import mechanism_of
from sim_node.extensions.openplx.tree import BODY, SYSTEM
from sim_node.extensions.openplx.unread_lines import unread_lines
from sim_node.extensions.openplx.values import components
from sim_node.text import did_you_mean
from sim_node.world.forces import PointGravity
from sim_node.world.model import World
from sim_node.world.physics import Physics
from sim_node.world.problems import quoted
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report, Setting
from sim_node.world.readers.unread import report_unread

FIXED_FRAME = "world"
ENVIRONMENT, UNIFORM_GRAVITY = "Simulation.Environment", "Simulation.UniformGravitationalField"
POINT_GRAVITY = "Simulation.PointGravitationalField"


def read_world(path: Path, shown: Path, roots: Roots, report: Report, model: str | None) -> World | None:
    """Return the world of a system; see read_openplx."""
    objects = read_objects(path, shown, roots, report)
    if objects is None or report.errors:
        return None
    chosen = _chosen(objects, model, report)
    if chosen is None:
        return None
    asked = chosen.instances.asked = []
    try:
        system, actuators, transmissions, pairs, signals, materials = mechanism_of(chosen, report)
        system = replace(system, parent=FIXED_FRAME, parent_place=system.place)
        physics, attraction = _gravity(chosen, report)
    except Fault as fault:
        _report_fault(fault, report)
        return None
    except RecursionError:
        report.error("its models are nested too deep")
        return None
    report_unread(unread_lines(chosen, asked), report)
    parts: dict[str, Any] = {
        "systems": (system,),
        "actuators": actuators,
        "transmissions": transmissions,
        "contact_exclusions": pairs,
        "signals": signals,
        "contact_materials": materials,
        "gravity_fields": attraction,
    }
    return World(name=path.stem, fixed_frame=FIXED_FRAME, physics=physics, parts=parts, source=str(shown))


def read_objects(path: Path, shown: Path, roots: Roots, report: Report) -> dict[str, Object] | None:
    """Return an object of each model in a file, by the model's name, or None if the file cannot be read."""
    library = Library(roots, report)
    source, namespace = library.open(path, shown)
    if source is None or report.errors:
        return None
    own = [found for found in namespace.definitions.values() if found.source is source]
    return check(own, Instances(Models(library), evaluate), report)


def check(own: Iterable[Definition], instances: Instances, report: Report) -> dict[str, Object]:
    """Return an object of each model by its name, with all of its lines evaluated. Faults are recorded.

    A trait may refer to attributes that only models with the trait have: its lines are evaluated in those models.
    """
    objects = {}
    for definition in own:
        try:
            if definition.statement.value is not None:
                instances.constant(definition, definition.place)
                continue
            model = instances.models.of(definition, definition.place)
        except Fault as fault:
            _report_fault(fault, report)
            continue
        if not model.trait:
            objects[definition.statement.path.parts[0]] = _evaluated(instances.root(model), report)
    return objects


def _evaluated(of: Object, report: Report) -> Object:
    file = of.place.where.file
    traits = [model for model in of.model.lineage if model.trait and model.place.where.file == file]
    for entry in (entry for model in (*traits, of.model) for entry in model.own):
        try:
            of.at(entry.path)
        except Fault as fault:  # noqa: PERF203  evaluate each line
            _report_fault(fault, report)
        except RecursionError:
            _report_fault(Fault(entry.place(), "values refer to each other too deeply"), report)
    return of


def _chosen(objects: dict[str, Object], name: str | None, report: Report) -> Object | None:
    systems = {key: of for key, of in objects.items() if of.is_a(SYSTEM)}
    systems = systems or {key: of for key, of in objects.items() if of.is_a(BODY)}
    if name is None and systems:
        return systems[list(systems)[-1]]
    if not systems:
        report.error(f"it has no {SYSTEM}, so there is nothing to simulate")
        report.errors.extend(report.warnings)  # an unknown type may be the reason
    elif name not in systems:
        known = ", ".join(systems)
        report.error(f"no system {quoted(str(name))} in it{did_you_mean(str(name), systems)} (known: {known})")
    else:
        return systems[name]
    return None


def _gravity(root: Object, report: Report) -> tuple[Physics, tuple[PointGravity, ...]]:
    """Return the physics and the centres of gravity of an Environment, or the default."""
    field = root.value("gravity") if root.is_a(ENVIRONMENT) else None
    if not isinstance(field, Object):
        return Physics(), ()
    if field.is_a(UNIFORM_GRAVITY):
        physics = Physics(gravity=np.array(components(value_of(field, "vector"))))
        report.settings.append(Setting(field.place, ("physics", "gravity"), physics.gravity))
        return physics, ()
    if field.is_a(POINT_GRAVITY):
        # Of the same magnitude everywhere, as OpenPLX defines it.
        centre, magnitude = np.array(components(value_of(field, "center"))), float(value_of(field, "magnitude"))
        point = PointGravity(centre, acceleration=magnitude, place=field.place)
        report.settings.append(Setting(field.place, ("gravity_fields",), (point,)))
        return Physics(gravity=np.zeros(3)), (point,)
    if field.kind != "Simulation.GravitationalField":
        where = field.place.where
        report.about(where.file).warning(
            f"a {field.kind} is not simulated; it is ignored", (where.line, where.column), field.path
        )
    return Physics(), ()


def _report_fault(fault: Fault, report: Report) -> None:
    where = fault.place.where
    report.about(where.file).error(fault.message, (where.line, where.column), fault.place.key)
