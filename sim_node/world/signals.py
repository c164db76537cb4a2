"""Signals: numbers of joints and actuators under names of their own, which become topics. Frozen data and checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sim_node.text import did_you_mean
from sim_node.world.declared import declared, given, place_of
from sim_node.world.joint_motion import driven_joints
from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.quantities import Flag, Text, Word
from sim_node.world.readers.yaml_section import listed

# What signals are of joints and of actuators, and what can be set.
OF_JOINTS = ("position", "velocity")
OF_ACTUATORS = ("target", "force", "engagement")
INPUTS = ("target", "engagement")
# Of implicit actuators, and of effort actuators with a name.
OF_DRIVES = ("force", "engagement")


@declared
class NamedSignal:
    """A number that a run publishes on a topic, or takes from one."""

    name: str = given(Text(), "Its name, of which the topic is made, unique in the world")
    of: str = given(Text(), "The joint, as actuators name it, or the actuator, by its name")
    # m, rad; m/s, rad/s; in the unit of the actuator's type; N, N m; 0 to 1 of the actuator's limits of force.
    quantity: str = given(Word((*OF_JOINTS, *OF_ACTUATORS)), "What it is of that")
    input: bool = given(Flag(), "Whether the topic sets it; of targets and engagements", default=False, omit=True)
    place: Place = place_of(default=NO_PLACE)


@part("signals", NamedSignal)
class Signals(Kind[NamedSignal]):
    """Numbers of joints and actuators that are topics."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names and quantities."""
        actuators = {each.name or each.joint: each.is_commanded for each in world.actuators}
        joints = driven_joints(world)
        names: set[str] = set()
        for signal, place in self.located(world):
            if signal.name in names:
                yield place.problem(f"a second signal {quoted(signal.name)}")
            names.add(signal.name)
            if not signal.name.strip("/") or "//" in signal.name:
                yield place.problem(f"{quoted(signal.name)} is no name of a topic")
            if signal.quantity not in (*OF_JOINTS, *OF_ACTUATORS):
                allowed = ", ".join((*OF_JOINTS, *OF_ACTUATORS))
                yield place.problem(f"quantity: found {quoted(signal.quantity)}; allowed: {allowed}")
            elif signal.quantity in OF_JOINTS and signal.of not in joints:
                message = (
                    f"of: {quoted(signal.of)} is no joint with one degree of freedom{did_you_mean(signal.of, joints)}"
                )
                yield place.problem(message)
            elif signal.quantity in OF_ACTUATORS and signal.of not in actuators:
                hint = did_you_mean(signal.of, actuators)
                yield place.problem(f"of: {quoted(signal.of)} is no actuator{hint}")
            elif signal.quantity in OF_DRIVES and not actuators[signal.of]:
                message = (
                    f"quantity: only implicit actuators, and effort actuators with a name, have a {signal.quantity}"
                )
                yield place.problem(message)
            if signal.input and signal.quantity not in INPUTS:
                message = f"input: a {signal.quantity} cannot be set; allowed: {', '.join(INPUTS)}"
                yield place.problem(message)

    def renamed(self, part: NamedSignal, rename: Rename) -> NamedSignal:
        """Return it of the same joint or actuator."""
        return replace(part, name=rename.under(part.name), of=rename.under(part.of))


listed("signals", "Numbers of joints and actuators on topics.", NamedSignal)
