"""Gazebo's TriggeredPublisher: converts Gazebo messages in text format to the ROS messages that a bridge would send."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sim_node.extensions.sdf.elements import child, gazebo_topic, text_of
from sim_node.extensions.sdf.plugins import SdfPlugin, system
from sim_node.extensions.sdf.scopes import ScopeFault
from sim_node.text import did_you_mean
from sim_node.world.problems import quoted
from sim_node.world.readers.numbers import as_number
from sim_node.world.readers.unread import mark
from sim_node.world.readers.xml_elements import Element
from sim_node.world.triggers import Trigger, TriggerMatch, TriggerOutput

_XYZ = dict.fromkeys("xyz", float)
_XYZW = dict.fromkeys("xyzw", float)
# The ROS type and the fields of each message of gz.msgs, as in ros_gz_bridge. Fields have the same names in both.
MESSAGES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "Boolean": ("std_msgs/msg/Bool", {"data": bool}),
    "Empty": ("std_msgs/msg/Empty", {}),
    "Float": ("std_msgs/msg/Float32", {"data": float}),
    "Double": ("std_msgs/msg/Float64", {"data": float}),
    "Int32": ("std_msgs/msg/Int32", {"data": int}),
    "UInt32": ("std_msgs/msg/UInt32", {"data": int}),
    "StringMsg": ("std_msgs/msg/String", {"data": str}),
    "Vector3d": ("geometry_msgs/msg/Vector3", _XYZ),
    "Quaternion": ("geometry_msgs/msg/Quaternion", _XYZW),
    "Pose": ("geometry_msgs/msg/Pose", {"position": _XYZ, "orientation": _XYZW}),
    "Twist": ("geometry_msgs/msg/Twist", {"linear": _XYZ, "angular": _XYZ}),
    "Altimeter": ("geometry_msgs/msg/Vector3Stamped", {"vertical_position": float, "vertical_velocity": float}),
    "Wrench": ("geometry_msgs/msg/Wrench", {"force": _XYZ, "torque": _XYZ}),
}
# The fields of an altimeter. Each is a separate topic of the sensor here, with the value in z.
_ALTIMETER = ("vertical_position", "vertical_velocity")
_TOKEN = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{}:,;]|[-+.\w]+|\S)""")
_NEEDED = {bool: "true or false", int: "an integer", float: "a number", str: "a text in quotation marks"}
MAX_DEPTH = 16


class _Text:
    """A parser of protobuf's text format. Raises ScopeFault at an element for invalid text."""

    def __init__(self, text: str, at: Element) -> None:
        self._left, self._at = [match[1] for match in _TOKEN.finditer(text)][::-1], at

    def fields(self, kinds: Mapping[str, Any], end: str = "", depth: int = 0) -> dict[str, Any]:
        """Return the fields of a message, up to an end token."""
        found: dict[str, Any] = {}
        while (name := self._next(end)) != end:
            if name not in kinds:
                raise ScopeFault(self._at, f"no field {quoted(name)}{did_you_mean(name, kinds)}")
            if name in found:
                raise ScopeFault(self._at, f"{quoted(name)} is given twice")
            found[name] = self.value(kinds[name], depth + 1)
            if self._left and self._left[-1] in (",", ";"):
                self._left.pop()
        return found

    def value(self, kind: Any, depth: int = 0) -> Any:
        """Return the value of a field."""
        word = self._next()
        if word == ":":
            word = self._next()
        if isinstance(kind, Mapping):
            if word != "{" or depth > MAX_DEPTH:
                raise ScopeFault(self._at, f"{{ is needed, found {quoted(word)}")
            return self.fields(kind, "}", depth)
        if kind is str and word[0] in "\"'" and len(word) > 1:
            return re.sub(r"\\(.)", r"\1", word[1:-1])
        if kind is bool and word in ("true", "True", "t", "1", "false", "False", "f", "0"):
            return word in ("true", "True", "t", "1")
        if kind is int and re.fullmatch(r"[-+]?\d{1,10}", word):
            return int(word)
        number = as_number(word) if kind is float else float("nan")
        if number != number:
            raise ScopeFault(self._at, f"{_NEEDED[kind]} is needed, found {quoted(word)}")
        return number

    def close(self) -> None:
        """Raise ScopeFault if any text is left."""
        if self._left:
            raise ScopeFault(self._at, f"the end is needed, found {quoted(self._left[-1])}")

    def _next(self, end: str | None = None) -> str:
        if self._left:
            return self._left.pop()
        if end == "":
            return ""
        raise ScopeFault(self._at, "the text ends too early")


def _type_of(element: Element) -> tuple[str, Mapping[str, Any]]:
    given = element.get("type")
    found = MESSAGES.get(given.rpartition(".")[2])
    if found is None:
        known = ", ".join(f"gz.msgs.{name}" for name in MESSAGES)
        raise ScopeFault(element, f"messages of the type {quoted(given)} have no equivalent here; known: {known}")
    return found


def _topic(element: Element) -> str:
    topic = gazebo_topic(element.get("topic"))
    if topic == "/":
        raise ScopeFault(element, "topic is missing")
    return topic


def _match(plugin: SdfPlugin, element: Element, kinds: Mapping[str, Any]) -> TriggerMatch:
    field, logic = element.get("field"), element.get("logic_type", "positive")
    if logic not in ("positive", "negative"):
        raise ScopeFault(element, f"logic_type {quoted(logic)}; allowed: positive, negative")
    tolerance = as_number(element.get("tol", "0"))
    if not 0.0 <= tolerance < float("inf"):
        raise ScopeFault(element, f"tol: a number, zero or more, is needed, found {quoted(element.get('tol'))}")
    kind: Any = kinds
    for name in field.split(".") if field else ():
        if not isinstance(kind, Mapping) or name not in kind:
            known = kind if isinstance(kind, Mapping) else ()
            raise ScopeFault(element, f"no field {quoted(field)}{did_you_mean(name, known)}")
        kind = kind[name]
    words = _Text(text_of(element), element)
    value = words.value(kind) if field else words.fields(kind)
    words.close()
    return TriggerMatch(json.dumps(value), field, tolerance=tolerance, negated=logic == "negative")


def _of_altimeter(
    plugin: SdfPlugin, source: Element, topic: str, matches: tuple[TriggerMatch, ...]
) -> tuple[str, tuple[TriggerMatch, ...]]:
    """Return the topic and the matches of a trigger on one of the fields of an altimeter."""
    if topic not in plugin.found.altimeters:
        raise ScopeFault(source, f"no altimeter has the topic {quoted(source.get('topic'))}")
    fields = {each.field for each in matches}
    if len(fields) != 1 or not fields <= {*_ALTIMETER}:
        raise ScopeFault(source, f"a trigger on an altimeter needs matches of one field: {', '.join(_ALTIMETER)}")
    name = plugin.found.altimeters[topic][_ALTIMETER.index(fields.pop())]
    return name, tuple(replace(each, field="vector.z") for each in matches)


@system("TriggeredPublisher", "a trigger: what follows on messages of a topic", turn=3)
def _triggered(plugin: SdfPlugin) -> None:
    try:
        plugin.found.add("triggers", _trigger(plugin))
    except ScopeFault:
        mark(plugin.element)
        raise


def _trigger(plugin: SdfPlugin) -> Trigger:
    source, found = child(plugin.element, "input"), plugin.found
    if source is None:
        raise ScopeFault(plugin.element, "input is missing")
    type, kinds = _type_of(source)
    matches = tuple(_match(plugin, each, kinds) for each in source.all("match"))
    if _topic(source) in found.pulses:
        matches = (TriggerMatch('{"data": true}'), *matches)
    outputs, detached = [], []
    for element in plugin.element.all("output"):
        topic = _topic(element)
        if topic in found.detached:
            element.get("type")
            detached.append(found.detached[topic])
            continue
        its, fields = _type_of(element)
        words = _Text(text_of(element), element)
        message = words.fields(fields)
        if topic in found.converted and "data" in message:
            message["data"] = found.converted[topic](message["data"])
        outputs += [TriggerOutput(each, its, json.dumps(message)) for each in found.topics.get(topic, (topic,))]
    for element in plugin.element.all("service"):
        plugin.reading.leave_out(element, "a trigger calls no services here")
    if not outputs and not detached:
        raise ScopeFault(plugin.element, "no output is left")
    name = f"{plugin.scope.name}/trigger{len(found.parts.get('triggers', ())) + 1}"
    delay = plugin.number("delay_ms", 0.0) / 1e3
    topic = _topic(source)
    if source.get("type").endswith("Altimeter"):
        topic, matches = _of_altimeter(plugin, source, topic, matches)
    topic = found.topics.get(topic, (topic,))[0]
    return Trigger(
        name, topic, type, matches, tuple(outputs), tuple(detached), max(delay, 0.0),
        place=plugin.place(name),
    )  # fmt: skip
