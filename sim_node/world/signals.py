"""Signals: named numbers of joints, actuators and bodies, which become topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sim_node.text import did_you_mean
from sim_node.world.bodies import body_names
from sim_node.world.declared import declared, given, place_of
from sim_node.world.joint_motion import driven_joints
from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.quantities import Flag, Text, Word
from sim_node.world.readers.yaml_section import listed
from sim_node.world.suction import Suction

# Quantities of joints, of actuators, and of bodies along an axis of the fixed frame.
OF_JOINTS = ("position", "velocity")
OF_ACTUATORS = ("target", "force", "engagement", "least_force", "most_force")
OF_BODIES = ("position", "rpy", "linear_velocity", "angular_velocity")
# For several actuators NAME/1, NAME/2, ...: the number of the one that is engaged.
SELECTION = "selection"
# Quantities that can be set.
INPUTS = ("target", "engagement", "least_force", "most_force", SELECTION, "linear_velocity", "angular_velocity")
# Quantities of implicit actuators, and of named effort actuators.
OF_DRIVES = ("force", "engagement", "least_force", "most_force")
AXES = ("x", "y", "z")


@declared
class NamedSignal:
    """A number that a run publishes on a topic, or takes from one."""

    name: str = given(Text(), "Its name, of which the topic is made, unique in the world")
    of: str = given(Text(), "The joint, as actuators name it, the actuator or suction gripper by its name, or the body")
    # Units: m, rad; m/s, rad/s; that of the actuator's type; N, N m; for an engagement, the fraction of the actuator's
    # force limits, or of a suction gripper's force, 0 to 1.
    quantity: str = given(
        Word(tuple(dict.fromkeys((*OF_JOINTS, *OF_ACTUATORS, SELECTION, *OF_BODIES)))), "What it is of that"
    )
    axis: str = given(Word(AXES), "Of a body: along which axis of the fixed frame", default="", omit=True)
    input: bool = given(Flag(), "Whether the topic sets it", default=False, omit=True)
    place: Place = place_of(default=NO_PLACE)


@part("signals", NamedSignal)
class Signals(Kind[NamedSignal]):
    """Numbers of joints, actuators and bodies that are topics."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names and quantities."""
        names: set[str] = set()
        found = _Named(world)
        for signal, place in self.located(world):
            if signal.name in names:
                yield place.problem(f"a second signal {quoted(signal.name)}")
            names.add(signal.name)
            if not signal.name.strip("/") or "//" in signal.name:
                yield place.problem(f"{quoted(signal.name)} is no name of a topic")
            if fault := found.fault(signal):
                yield place.problem(fault)
            if signal.input and signal.quantity not in INPUTS:
                message = f"input: a {signal.quantity} cannot be set; allowed: {', '.join(INPUTS)}"
                yield place.problem(message)

    def renamed(self, part: NamedSignal, rename: Rename) -> NamedSignal:
        """Return the signal of the same joint, actuator or body."""
        of = rename.frame(part.of) if part.axis else rename.under(part.of)
        return replace(part, name=rename.under(part.name), of=of)


class _Named:
    """The joints, actuators and bodies of a world that signals may refer to."""

    def __init__(self, world: World) -> None:
        self._actuators = {each.name or each.joint: each.is_commanded for each in world.actuators}
        self._joints = driven_joints(world)
        self._suctions = {each.name for each in world.of(Suction)}
        self._bodies = body_names(world)

    def fault(self, signal: NamedSignal) -> str:
        """Return the fault of a signal's reference; empty if it is valid."""
        of, quantity = signal.of, signal.quantity
        if signal.axis:
            if quantity not in OF_BODIES:
                return f"axis: a {quantity} has none; allowed with an axis: {', '.join(OF_BODIES)}"
            return "" if of in self._bodies else f"of: {quoted(of)} is no body{did_you_mean(of, self._bodies)}"
        if quantity == SELECTION:
            some = selected(of, self._actuators)
            return "" if some else f"of: there are no actuators {of}/1, {of}/2, ... for a selection"
        if quantity in OF_JOINTS and of not in self._joints:
            hint = did_you_mean(of, self._joints)
            return f"of: {quoted(of)} is no joint with one degree of freedom{hint}"
        if quantity in OF_JOINTS:
            return ""
        if quantity not in OF_ACTUATORS:
            if quantity in OF_BODIES:
                return f"axis is missing: the {quantity} of a body is along one; allowed: {', '.join(AXES)}"
            return f"quantity: found {quoted(quantity)}; allowed: {', '.join((*OF_JOINTS, *OF_ACTUATORS))}"
        if of in self._suctions:
            wrong = f"quantity: {quoted(of)} is a suction gripper; allowed: engagement"
            return "" if quantity == "engagement" else wrong
        if of not in self._actuators:
            return f"of: {quoted(of)} is no actuator{did_you_mean(of, [*self._actuators, *self._suctions])}"
        if quantity in OF_DRIVES and not self._actuators[of]:
            return f"quantity: only implicit actuators, and effort actuators with a name, have a {quantity}"
        return ""


def selected(of: str, actuators: Iterable[str]) -> dict[int, str]:
    """Return the actuators OF/K by K, which may be below zero."""
    ends = {name: name.removeprefix(f"{of}/") for name in actuators if name.startswith(f"{of}/")}
    return {int(end): name for name, end in ends.items() if end.removeprefix("-").isdecimal()}


listed("signals", "Numbers of joints, actuators and bodies on topics.", NamedSignal)
