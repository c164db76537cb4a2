"""From inputs and outputs of a model to the signals of its mates, shafts, motors, springs, clutches and brakes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sim_node.extensions.openplx.drives import ModelDrives
from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.parts import place_of
from sim_node.world.signals import NamedSignal

_SIGNALS = "Physics.Signals."
INPUT, OUTPUT = "Physics.Signals.Input", "Physics.Signals.Output"
# The type of actuator whose target a signal is about.
_TARGETS = {
    "AngularVelocity1D": "velocity",
    "LinearVelocity1D": "velocity",
    "Angle": "position",
    "Position1D": "position",
    "Torque1D": "effort",
    "Force1D": "effort",
}
_ENGAGEMENTS = {INPUT: ("FractionInput", "EngageInput"), OUTPUT: ("FractionOutput", "EngagedOutput")}
_ACTING = (*(f"{_SIGNALS}{name}Input" for name in _TARGETS), *(f"{_SIGNALS}{name}" for name in _ENGAGEMENTS[INPUT]))
# The motion of a mate that an output is about, and what it is of that.
_MEASURED = {
    "AngleOutput": ("rotational", "position"),
    "Position1DOutput": ("linear", "position"),
    "AngularVelocity1DOutput": ("rotational", "velocity"),
    "LinearVelocity1DOutput": ("linear", "velocity"),
}


def declared(of: Object, kind: str) -> Iterator[Object]:
    """Yield the inputs, or the enabled outputs, that a type of mate, motor, shaft or body declares."""
    for name in of.names():
        stated = name in of.outer
        if _is_signal(of, name, kind) if stated else of.learn(kind, name, partial(_acts, of, name, kind)):
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


def signal_of(of: Object, drives: ModelDrives) -> NamedSignal | None:
    """Return what an input or output is in the world; None for one that has nothing here to be about.

    It is about its source, or about the object that owns it. Call it once all drives are there.
    """
    source = of.get("source")
    if not isinstance(source, Object) or source.owner is of:  # nothing, or what stands in for it without the bundle
        source = of.owner
    if source is None:
        return None
    about = _about(of, source, drives)
    if about is None:
        return None
    return NamedSignal(drives.name(of), *about, input=of.is_a(INPUT), place=place_of(of))


def _about(of: Object, source: Object, drives: ModelDrives) -> tuple[str, str] | None:
    """Return the joint or actuator, and the quantity."""
    if coordinates := drives.coordinates_of(source):
        motion, quantity = next((each for kind, each in _MEASURED.items() if of.is_a(f"{_SIGNALS}{kind}")), ("", ""))
        return (coordinates[motion], quantity) if motion in coordinates else None
    actuator = drives.actuator_of(source)
    if actuator is None:
        return None
    direction = INPUT if of.is_a(INPUT) else OUTPUT
    if source.has("torque_capacity"):  # a clutch or a brake
        if any(of.is_a(f"{_SIGNALS}{kind}") for kind in _ENGAGEMENTS[direction]):
            return actuator.name, "engagement"
    elif of.is_a(INPUT) or not _is_force(of):
        suffix = direction.rpartition(".")[2]
        types = {type_ for kind, type_ in _TARGETS.items() if of.is_a(f"{_SIGNALS}{kind}{suffix}")}
        return (actuator.name, "target") if actuator.type in types else None
    return (actuator.name, "force") if _is_force(of) else None


def _is_force(of: Object) -> bool:
    return any(of.is_a(f"{_SIGNALS}{kind}1DOutput") for kind in ("Torque", "Force"))
