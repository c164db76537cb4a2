"""Conversion of inputs and outputs of a model to signals of its mates, shafts, drives, gear boxes and bodies."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sim_node.extensions.openplx.drives import ModelDrives
from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.parts import place_of
from sim_node.world.signals import AXES, SELECTION, NamedSignal

_SIGNALS = "Physics.Signals."
INPUT, OUTPUT = "Physics.Signals.Input", "Physics.Signals.Output"
# The type of actuator whose target a signal sets or reports.
TARGETS = {
    "AngularVelocity1D": "velocity",
    "LinearVelocity1D": "velocity",
    "Angle": "position",
    "Position1D": "position",
    "Torque1D": "effort",
    "Force1D": "effort",
}
ENGAGEMENTS = {INPUT: ("FractionInput", "EngageInput"), OUTPUT: ("FractionOutput", "EngagedOutput")}
_ACTING = (
    f"{_SIGNALS}ActivateInput",
    *(f"{_SIGNALS}{name}Input" for name in TARGETS),
    *(f"{_SIGNALS}{name}" for name in ENGAGEMENTS[INPUT]),
)
# The motion of a mate and its quantity that an output reports.
MEASURED = {
    "AngleOutput": ("rotational", "position"),
    "Position1DOutput": ("linear", "position"),
    "AngularVelocity1DOutput": ("rotational", "velocity"),
    "LinearVelocity1DOutput": ("linear", "velocity"),
}
# The parts of a signal of a range of forces or torques, and their quantities.
_RANGES = (("low", "least_force"), ("high", "most_force"))
PARTS = {f"{_SIGNALS}{kind}Range{end}put": _RANGES for kind in ("Torque", "Force") for end in ("In", "Out")}
OF_BODIES = {
    "Physics3D.Signals.Position3DOutput": "position",
    "Physics3D.Signals.RPYOutput": "rpy",
    **{
        f"Physics3D.Signals.{kind}Velocity3D{end}put": f"{kind.lower()}_velocity"
        for kind in ("Linear", "Angular")
        for end in ("In", "Out")
    },
}
SELECTIONS = (f"{_SIGNALS}IntInput", f"{_SIGNALS}IntOutput")
BODY = "Physics3D.Bodies.Body"


def declared(of: Object, kind: str) -> Iterator[Object]:
    """Yield the inputs, or the enabled outputs, that a type of mate, motor, shaft or body declares."""
    for name in of.names():
        if _is_signal(of, name, kind) if of.is_stated(name) else of.learn(kind, name, partial(_acts, of, name, kind)):
            found = of.value(name)
            if not isinstance(found, Object) or found.owner is not of or found.name != name:
                continue
            if kind == INPUT or found.value("enabled") is True:
                yield found


def _is_signal(of: Object, name: str, kind: str) -> bool:
    type_ = of.slot_type(name)
    return type_ is not None and not type_.array and any(kind in getattr(each, "ancestors", ()) for each in type_.kinds)


def _acts(of: Object, name: str, kind: str) -> bool:
    """Return whether an attribute is an input that may have an effect, or an output that is enabled."""
    if not _is_signal(of, name, kind):
        return False
    found = of.value(name)
    if not isinstance(found, Object):
        return False
    return any(map(found.is_a, _ACTING)) if kind == INPUT else found.value("enabled") is True


def signals_of(of: Object, drives: ModelDrives) -> list[NamedSignal]:
    """Return the signals of an input or output; empty if its source has no counterpart in the world.

    The source is given explicitly or is the object that owns the signal. A signal of several numbers is split: NAME/x,
    or NAME/low. Call this after all drives are added.
    """
    source = source_of(of)
    if source is None:
        return []
    if of.is_a(INPUT) and not any(map(of.is_a, _ACTING)) and _is_by_its_id(of):
        of.get("reference_id")
    name = drives.name(of)
    own: dict[str, Any] = {"input": of.is_a(INPUT), "place": place_of(of)}
    for kind, parts in PARTS.items():
        if of.is_a(kind) and (actuator := drives.actuator_of(source)) is not None:
            return [NamedSignal(f"{name}/{part}", actuator.name, each, **own) for part, each in parts]
    if held := drives.grippers.get(source):
        ends = [""] if len(held) == 1 else [each.removeprefix(drives.name(source)) for each in held]
        switches = any(of.is_a(f"{_SIGNALS}{kind}") for kind in ("ActivateInput", "ActivatedOutput"))
        some = zip(ends, held, strict=True) if switches else ()
        return [NamedSignal(f"{name}{end}", each, "engagement", **own) for end, each in some]
    for kind, quantity in OF_BODIES.items():
        if of.is_a(kind) and source.is_a(BODY):
            body = drives.name(source)
            return [NamedSignal(f"{name}/{axis}", body, quantity, axis, **own) for axis in AXES]
    about = _about(of, source, drives)
    return [] if about is None else [NamedSignal(name, *about, **own)]


def _is_by_its_id(of: Object) -> bool:
    """Return whether an id is all that the model gives to an input."""
    lines = [] if of.owner is None else of.owner.lines(of.name)
    return {entry.path[depth + 1 :] for entry, _, depth in lines if not entry.is_of_bundle} == {("reference_id",)}


def has_motion_signals(of: Object) -> bool:
    """Return whether a body has inputs or outputs of its pose or velocity, and thus may move even if not dynamic."""
    return any(each.is_a(kind) for end in (INPUT, OUTPUT) for each in declared(of, end) for kind in OF_BODIES)


def source_of(of: Object) -> Object | None:
    """Return the object that an input or output refers to: its source, or its owner."""
    source = of.get("source")
    if not isinstance(source, Object) or source.owner is of:  # none, or the placeholder used without the bundle
        return of.owner
    return source


def shifts(of: Object) -> Object | None:
    """Return the gear box whose gear a signal selects or reports; None for any other signal."""
    source = source_of(of)
    gear = any(map(of.is_a, SELECTIONS)) and source is not None and source.is_a("DriveTrain.GearBox")
    return source if gear else None


def _about(of: Object, source: Object, drives: ModelDrives) -> tuple[str, str] | None:
    """Return the joint or actuator of a signal, and the quantity."""
    if source in drives.shifted and shifts(of) is not None:
        return drives.name(source), SELECTION
    if coordinates := drives.coordinates_of(source):
        motion, quantity = next((each for kind, each in MEASURED.items() if of.is_a(f"{_SIGNALS}{kind}")), ("", ""))
        return (coordinates[motion], quantity) if motion in coordinates else None
    actuator = drives.actuator_of(source)
    if actuator is None:
        return None
    direction = INPUT if of.is_a(INPUT) else OUTPUT
    if source.has("torque_capacity"):  # a clutch or a brake
        if any(of.is_a(f"{_SIGNALS}{kind}") for kind in ENGAGEMENTS[direction]):
            return actuator.name, "engagement"
    elif of.is_a(INPUT) or not _is_force(of):
        suffix = direction.rpartition(".")[2]
        types = {type_ for kind, type_ in TARGETS.items() if of.is_a(f"{_SIGNALS}{kind}{suffix}")}
        return (actuator.name, "target") if actuator.type in types else None
    return (actuator.name, "force") if _is_force(of) else None


def _is_force(of: Object) -> bool:
    return any(of.is_a(f"{_SIGNALS}{kind}1DOutput") for kind in ("Torque", "Force"))
