"""The reader of worlds from OpenPLX files: evaluates one of their systems to an object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from sim_node.extensions.openplx.evaluate import evaluate
from sim_node.extensions.openplx.library import Definition, Library
from sim_node.extensions.openplx.models import Entry, Fault, Models, ObjectModel
from sim_node.extensions.openplx.objects import Asked, Bound, Instances, Object, declares
from sim_node.extensions.openplx.parts import value_of
from sim_node.extensions.openplx.physics3d import mechanism_of
from sim_node.extensions.openplx.tree import BODY, SYSTEM, is_standard
from sim_node.extensions.openplx.values import OPAQUE, components
from sim_node.text import did_you_mean
from sim_node.world.forces import PointGravity
from sim_node.world.model import World
from sim_node.world.physics import Physics
from sim_node.world.problems import quoted
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report, Setting
from sim_node.world.readers.unread import Inner, report_unread

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
        parts = mechanism_of(chosen, report)
        [system] = parts["systems"]
        parts["systems"] = (replace(system, parent=FIXED_FRAME, parent_place=system.place),)
        physics, parts["gravity_fields"] = _gravity(chosen, report)
    except Fault as fault:
        _report_fault(fault, report)
        return None
    except RecursionError:
        report.error("its models are nested too deep")
        return None
    report_unread(unread_lines(chosen, asked), report)
    return World(name=path.stem, fixed_frame=FIXED_FRAME, physics=physics, parts=parts, source=str(shown))


def read_objects(path: Path, shown: Path, roots: Roots, report: Report) -> dict[str, Object] | None:
    """Return an object for each model in a file, by the model's name, or None if the file cannot be read."""
    library = Library(roots, report)
    source, namespace = library.open(path, shown)
    if source is None or report.errors:
        return None
    own = [found for found in namespace.definitions.values() if found.source is source]
    return check(own, Instances(Models(library), evaluate), report)


def check(own: Iterable[Definition], instances: Instances, report: Report) -> dict[str, Object]:
    """Return an object for each model by name, with all of its lines evaluated. Faults are recorded in `report`.

    A trait may refer to attributes that only models with the trait have, so its lines are evaluated in those models.
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
    """Return the physics settings and point gravity fields of an Environment, or the defaults."""
    field = root.value("gravity") if root.is_a(ENVIRONMENT) else None
    if not isinstance(field, Object):
        return Physics(), ()
    if field.is_a(UNIFORM_GRAVITY):
        physics = Physics(gravity=np.array(components(value_of(field, "vector"))))
        report.settings.append(Setting(field.place, ("physics", "gravity"), physics.gravity))
        return physics, ()
    if field.is_a(POINT_GRAVITY):
        # The magnitude is the same everywhere, as OpenPLX defines it.
        centre, magnitude = np.array(components(value_of(field, "center"))), float(value_of(field, "magnitude"))
        point = PointGravity(centre, acceleration=magnitude, place=field.place)
        report.settings.append(Setting(field.place, ("gravity_fields",), (point,)))
        return Physics(gravity=np.zeros(3)), (point,)
    if field.kind != "Simulation.GravitationalField":
        where, message = field.place.where, f"a {field.kind} is not simulated; it is ignored"
        report.about(where.file).warning(message, where[1:], field.path)
    return Physics(), ()


def _report_fault(fault: Fault, report: Report) -> None:
    where = fault.place.where
    report.about(where.file).error(fault.message, where[1:], fault.place.key)


def unread_lines(root: Object, asked: Asked) -> Iterator[Inner]:
    """Yield the unused lines of files outside the standard bundles.

    A line is used if its attribute was requested, or one that was computed from it. For an object that was not
    requested, only its declaration is yielded. Objects that were already reported as a whole are skipped.

    Args:
        root: The system.
        asked: The attributes from which the world was made.
    """
    used = _with_sources(asked)
    for of, name in used:
        inside = isinstance(of.known(name), Object)
        for entry, _, depth in of.lines(name):
            # Lines about attributes of an object are marked when those attributes are used.
            if not inside or len(entry.path) == depth + 1:
                entry.read = True
    found: dict[Entry, None] = {}
    stack = [root]
    while stack:
        of = stack.pop()
        for name in {**of.model.heads, **of.outer}:
            value = of.known(name)
            if value is OPAQUE:  # of an unknown type, which was already reported
                continue
            if (of, name) not in used:
                found |= dict.fromkeys(_stated(of.lines(name), root))
            elif isinstance(value, Object) and value.owner is of and value.name == name and not value.reported:
                stack.append(value)
    for entry in found:
        where = entry.place().where
        yield Inner(entry.key, (where.line, where.column), entry, where.file)


def _with_sources(asked: Asked) -> dict[tuple[Object, str], None]:
    """Return attributes, with all attributes from which their values were computed."""
    found: dict[tuple[Object, str], None] = {}
    stack = list(asked)
    while stack:
        each = stack.pop()
        if each not in found:
            found[each] = None
            stack += each[0].sources(each[1])
    return found


def _stated(lines: list[Bound], root: Object) -> list[Entry]:
    """Return the unused lines of an attribute that matter: its declaration as an object, or its values."""
    own = [line for line in lines if not line[0].read and _is_own(line[0], root)]
    declaring = [line[0] for line in own if declares(line)]
    if declaring:
        return [entry for entry in declaring if entry.value is not None or _is_object(entry, root)]
    return [entry for entry, _, _ in own if entry.value is not None or _is_object(entry, root)]


def _is_own(entry: Entry, root: Object) -> bool:
    return not is_standard(entry.source) or entry.source.shown == root.place.where.file


def _is_object(entry: Entry, root: Object) -> bool:
    if entry.declaration is None:
        return False
    type_ = root.instances.models.slot_type(entry)
    return not (type_.array or type_.optional or type_.reference) and any(
        isinstance(k, ObjectModel) for k in type_.kinds
    )
