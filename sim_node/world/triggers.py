"""Triggers: messages that a run sends, and bodies that it detaches, when it receives a matching message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from sim_node.text import did_you_mean
from sim_node.world.declared import Fault, declared, faults, given, place_of, rule
from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted
from sim_node.world.quantities import Flag, FrameName, ListOf, Number, PartOf, Text
from sim_node.world.readers.yaml_section import listed

MOST = 64
_TYPE = re.compile(r"[a-z]\w*/msg/[A-Z]\w*", re.ASCII)
TOPIC = re.compile(r"/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*", re.ASCII)


def _names(topic: str, type: str) -> Iterator[Fault]:
    if not TOPIC.fullmatch(topic):
        yield "topic", f"{quoted(topic)} is no name of a topic"
    if not _TYPE.fullmatch(type):
        yield "type", f"{quoted(type)} is no type of messages; write package/msg/Name"


@declared
class TriggerMatch:
    """What a message must have."""

    value: str = given(Text(), "A value in YAML: of the field, or of the whole message, whose other fields are default")
    field: str = given(Text(), "The field, as position.z; the whole message if it is empty", default="", omit=True)
    tolerance: float = given(Number(0.0), "How far numbers may be apart", default=0.0, omit=True)
    negated: bool = given(Flag(), "Whether the value must be another one", default=False, omit=True)


@declared
class TriggerOutput:
    """A message that is sent."""

    topic: str = given(Text(), "Its topic, of another program if it begins with /, else of the run")
    type: str = given(Text(), "Its type, as geometry_msgs/msg/Twist")
    message: str = given(Text(), "Its fields in YAML; the others are default", default="{}", omit=True)

    @rule
    def has_names(self) -> Iterator[Fault]:
        """Yield a fault if the topic or the type is not a valid name."""
        yield from _names(self.topic, self.type)


@declared
class Trigger:
    """What follows on each message of a topic that matches all that is asked of it."""

    name: str = given(Text(), "Its name, unique in the world")
    topic: str = given(Text(), "The topic, of another program if it begins with /, else of the run")
    type: str = given(Text(), "The type of its messages")
    matches: tuple[TriggerMatch, ...] = given(
        ListOf(PartOf(TriggerMatch), 0, MOST), "What a message must have", default=(), omit=True
    )
    outputs: tuple[TriggerOutput, ...] = given(
        ListOf(PartOf(TriggerOutput), 0, MOST), "The messages that are sent", default=(), omit=True
    )
    detach: tuple[str, ...] = given(
        ListOf(FrameName(), 0, MOST), "The bodies that float free from then on", default=(), omit=True
    )
    delay: float = given(Number(0.0, 1e6), "How much later it acts, in simulation time", "s", default=0.0, omit=True)
    place: Place = place_of(default=NO_PLACE)

    @rule
    def has_names(self) -> Iterator[Fault]:
        """Yield a fault if the topic or the type is invalid, or if the trigger does nothing."""
        yield from _names(self.topic, self.type)
        if not self.outputs and not self.detach:
            yield "outputs", "a trigger needs outputs, or bodies to detach"


@part("triggers", Trigger)
class Triggers(Kind[Trigger]):
    """Triggers on messages."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names."""
        names: set[str] = set()
        bodies = {body.name for body in world.bodies}
        for trigger, place in self.located(world):
            if trigger.name in names:
                yield place.problem(f"a second trigger {quoted(trigger.name)}")
            names.add(trigger.name)
            yield from (place.problem(f"{field}: {message}") for field, message in faults(trigger))
            for each in trigger.detach:
                if each not in bodies:
                    yield place.problem(f"detach: no body {quoted(each)}{did_you_mean(each, bodies)}")

    def renamed(self, part: Trigger, rename: Rename) -> Trigger:
        """Return the trigger on the topics of the same parts, and on the same topics of other programs."""

        def under(topic: str) -> str:
            return topic if topic.startswith("/") else rename.under(topic)

        outputs = tuple(replace(each, topic=under(each.topic)) for each in part.outputs)
        detach = tuple(map(rename.frame, part.detach))
        return replace(part, name=rename.under(part.name), topic=under(part.topic), outputs=outputs, detach=detach)


listed("triggers", "What follows on messages of topics.", Trigger)


def unfollowed(world: World) -> list[str]:
    """Return messages about triggers, which have no effect in a run without ROS."""
    names = ", ".join(quoted(trigger.name) for trigger in world.of(Trigger))
    return [f"triggers {names}: nothing follows on messages in a run without ROS"] if names else []
