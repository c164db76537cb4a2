"""Triggers of a world on the graph: subscriptions, matching, and the resulting actions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

from rclpy.node import Node

from sim_node.messages.sensor_topics import sensor_messages
from sim_node.messages.topic import SENSOR_DATA, Qos
from sim_node.ros.calls import Orders
from sim_node.ros.message_values import BadValue, check_field, filled, parsed, slots, type_named
from sim_node.ros.publishers import profile
from sim_node.session import Session
from sim_node.session.entities import Rejected
from sim_node.simulation import Sink, Snapshot
from sim_node.simulation.requests import carry_out
from sim_node.world import FrameTable, World
from sim_node.world.problems import WorldError
from sim_node.world.triggers import Trigger, TriggerMatch

# Relative difference up to which numbers are equal: 32 units in the last place of a float, as in protobuf's comparison.
SAME = 32 * 2.0**-23
Matches = Callable[[Any], bool]


def matcher(kind: Any, match: TriggerMatch) -> Matches:
    """Return a function that tests whether a message matches, comparing like Gazebo's TriggeredPublisher.

    Args:
        kind: The class of the messages.
        match: What a message must contain. If the field is a list, it must contain the elements, in any order.

    Returns:
        A predicate on messages.

    Raises:
        BadValue: The field does not exist, or the value does not fit it.
    """
    path = match.field.split(".") if match.field else []
    check_field(kind, path)
    value = parsed(match.value)
    try:
        wanted = _at(filled(kind, _below(path, value)), path)
    except BadValue:
        # A single element stands for a list.
        wanted = _at(filled(kind, _below(path, [value])), path)
    is_set = bool(path) and _is_list(wanted)

    def matches(message: Any) -> bool:
        found = _at(message, path)
        if is_set:
            same = all(any(equal(each, other, match.tolerance) for other in found) for each in wanted)
        else:
            same = equal(wanted, found, match.tolerance)
        return same != match.negated

    return matches


def equal(one: Any, other: Any, tolerance: float) -> bool:
    """Return whether two field values are equal, within `tolerance` for floating-point numbers."""
    if hasattr(one, "SLOT_TYPES"):
        return all(equal(getattr(one, name), getattr(other, name), tolerance) for name in slots(one))
    if _is_list(one):
        return len(one) == len(other) and all(map(lambda a, b: equal(a, b, tolerance), one, other))
    if isinstance(one, float):
        return math.isclose(one, other, rel_tol=0.0 if tolerance else SAME, abs_tol=tolerance or SAME)
    return bool(one == other)


def _below(path: Sequence[str], value: Any) -> Any:
    return reduce(lambda inside, name: {name: inside}, reversed(path), value)


def _at(message: Any, path: Sequence[str]) -> Any:
    return reduce(getattr, path, message)


def _is_list(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes))


class _Due(NamedTuple):
    at_ns: int
    act: Callable[[], None]


class TriggerSink(Sink):
    """Makes a run follow the triggers of its world, and changes of them.

    Args:
        node: The node that subscribes.
        prefix: Prefix of the run's topics.
    """

    def __init__(self, node: Node, prefix: str = "") -> None:
        self._node, self._prefix, self._orders = node, prefix, Orders(node)
        # The active triggers by name, and the functions that end each.
        self._followed: dict[str, tuple[Trigger, list[Callable[[], object]]]] = {}
        self._is_open = False
        self._due: list[_Due] = []
        self._last_ns = 0
        self._session: Session | None = None

    def begin(self, session: Session) -> None:
        """Subscribe for the first world of an open run. Call it in the executor's thread."""
        self._session = session
        self._follow(session.world)

    def open(self, world: World, frames: FrameTable) -> None:
        """Follow a change of the world. Called in the executor's thread."""
        if self._is_open:
            self._orders.add(lambda: self._follow(world))
        self._is_open = True

    def write(self, snapshot: Snapshot) -> None:
        """Run the actions that are due, in the executor's thread. If time goes back, waiting actions are dropped."""
        if snapshot.time_ns < self._last_ns:
            self._due = []
        self._last_ns = now_ns = snapshot.time_ns
        for due in [each for each in self._due if each.at_ns <= now_ns]:
            self._due.remove(due)
            self._orders.add(due.act)

    def _follow(self, world: World) -> None:
        """Follow the triggers of a world. Unchanged triggers are kept, with their waiting actions."""
        wanted = {trigger.name: trigger for trigger in world.of(Trigger)}
        for name, (trigger, ends) in list(self._followed.items()):
            if wanted.get(name) == trigger:
                del wanted[name]
            else:
                del self._followed[name]
                for end in ends:
                    end()
        measured = {self._node.resolve_topic_name(each.topic.name) for each in sensor_messages(world, self._prefix)}
        for trigger in wanted.values():
            # Sensors publish best effort, which a reliable subscription does not receive.
            is_measured = self._node.resolve_topic_name(self._name(trigger.topic)) in measured
            self._begin(trigger, SENSOR_DATA if is_measured else Qos())

    def _begin(self, trigger: Trigger, qos: Qos) -> None:
        try:
            self._followed[trigger.name] = (trigger, self._subscribe(trigger, qos))
        except BadValue as error:
            self._node.get_logger().error(f"the trigger {trigger.name} is left out: {error}")

    def _subscribe(self, trigger: Trigger, qos: Qos) -> list[Callable[[], object]]:
        """Subscribe, and return the functions that end it. Raises BadValue."""
        kind = type_named(trigger.type, "msg")
        matches = [matcher(kind, each) for each in trigger.matches]
        made = [(each, type_named(each.type, "msg")) for each in trigger.outputs]
        messages = [filled(type, parsed(each.message)) for each, type in made]
        publishers = [self._node.create_publisher(type, self._name(each.topic), profile(Qos())) for each, type in made]

        def act() -> None:
            if self._followed.get(trigger.name, (None,))[0] is not trigger:
                return  # a change of the world has removed it
            for publisher, message in zip(publishers, messages, strict=True):
                publisher.publish(message)
            for body in trigger.detach:
                self._detach(trigger, body)

        def receive(message: Any) -> None:
            if not all(each(message) for each in matches):
                return
            if not trigger.delay:
                act()
                return
            assert self._session is not None
            now_ns = self._session.loop.simulation.time_ns
            self._due.append(_Due(now_ns + round(trigger.delay * 1e9), act))

        subscription = self._node.create_subscription(kind, self._name(trigger.topic), receive, profile(qos))
        return [
            lambda: self._node.destroy_subscription(subscription),
            *(partial(self._node.destroy_publisher, publisher) for publisher in publishers),
        ]

    def _name(self, topic: str) -> str:
        return topic if topic.startswith("/") else self._prefix + topic

    def _detach(self, trigger: Trigger, body: str) -> None:
        assert self._session is not None
        context, log = self._session.requests, self._node.get_logger()

        def detach() -> None:
            try:
                carry_out(context, "detach", {"name": body})
            except (Rejected, ValueError, KeyError, WorldError) as error:
                log.warning(f"the trigger {trigger.name} does not detach {body}: {error}")

        context.loop.post(detach)
