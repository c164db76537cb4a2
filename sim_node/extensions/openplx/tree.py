"""The object tree of a model: the owned objects that belong to a world, and their owners."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim_node.extensions.openplx.drives import SHAFT, SHAFT_ACTUATOR
from sim_node.extensions.openplx.library import Source
from sim_node.extensions.openplx.models import Fault
from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.values import with_article

SYSTEM, BODY = "Physics3D.System", "Physics3D.Bodies.Body"
GEOMETRY = "Physics3D.Geometries.ContactGeometry"
CONNECTOR, REDIRECTED = "Physics3D.Interactions.MateConnector", "Physics3D.Interactions.RedirectedMateConnector"
MATE, INTERACTION = "Physics3D.Interactions.Mate", "Physics.Interactions.Interaction"
VISUAL = "Visuals.Geometries.Geometry"
VACUUM_GRIPPER = "Robotics.EndEffectors.VacuumGripper"
COLLISION_PAIR = "Simulation.DisableCollisionPair"
CONTACT_MODEL = "Physics.Interactions.SurfaceContact.Model"
# Bundles whose types declare objects that would act on a world or report on it, but have no effect here.
BUNDLES = (
    "Physics",
    "Physics1D",
    "Physics3D",
    "DriveTrain",
    "Robotics",
    "Simulation",
    "Vehicles",
    "Terrain",
    "Sensors",
)
# Bundles whose values are only defaults of their types, not written for a particular world.
STANDARD = frozenset({*BUNDLES, "Math", "Visuals"})
INERT = ("Physics.Signals.", "Terrain.", "Sensors.", "Vehicles.Tracks.")
PHYSICAL = {
    SYSTEM,
    BODY,
    GEOMETRY,
    CONNECTOR,
    INTERACTION,
    SHAFT,
    SHAFT_ACTUATOR,
    COLLISION_PAIR,
    CONTACT_MODEL,
    VISUAL,
    VACUUM_GRIPPER,
}


def owned_of(of: Object) -> Iterator[Object]:
    """Yield the owned objects that a physics tree can contain, in order."""
    # Most attributes are not such objects. The answer is cached per model, unless a line of an owner concerns them.
    known = of.model.learned.setdefault("physical", {})
    for name in of.names():
        if name in of.outer or name not in known:
            physical = _is_part(of, name)
            if name not in of.outer:
                known[name] = physical
        else:
            physical = known[name]
        if not physical:
            continue
        value = of.value(name)
        if isinstance(value, Object) and value.owner is of and value.name == name:
            _refuse_itself(value)
            yield value


def _is_part(of: Object, name: str) -> bool:
    """Return whether an attribute is an object of the tree that no type of the known bundles declares by itself."""
    type_ = of.slot_type(name)
    if type_ is None or type_.array or not _physical(type_.kinds):
        return False
    declares = type_.entry.model
    of_a_type = declares is not None and declares.name.partition(".")[0] in BUNDLES and "." in declares.name
    return not of_a_type or any(getattr(kind, "ancestors", frozenset()) & PHYSICAL for kind in type_.kinds)


def _physical(kinds: tuple[Any, ...]) -> bool:
    return any(_acts(getattr(kind, "ancestors", frozenset())) for kind in kinds)


def _acts(ancestors: frozenset[str]) -> bool:
    """Return whether objects of a type matter to a world: because they become part of it, or must be reported."""
    return bool(ancestors & PHYSICAL) or any(name.startswith(INERT) for name in ancestors)


def _refuse_itself(of: Object) -> None:
    if any(owner.model is of.model for owner in of.owners() if owner is not of):
        raise Fault(of.place, f"{with_article(of.kind)} within {with_article(of.kind)} is infinitely nested")


def is_standard(source: Source) -> bool:
    """Return whether a file belongs to a standard bundle."""
    return source.scope[-1].name.partition(".")[0] in STANDARD


def path_below(of: Object, root: Object) -> str | None:
    """Return the path NAME/NAME from a system down to an object in it; None if the object is not in it."""
    names: list[str] = []
    for at in of.owners():
        if at is root:
            return "/".join(reversed(names))
        names.append(at.name)
    return None
