"""Values of SDF elements with their locations (texts, numbers, vectors, flags and poses), and messages about them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.bounds import fault
from sim_node.world.declared import holder_of, plan_of
from sim_node.world.problems import MAX_PATH, Place, Where, quoted
from sim_node.world.quantities import Flag, Vector
from sim_node.world.readers.files import Roots
from sim_node.world.readers.numbers import as_number, from_euler
from sim_node.world.readers.report import ElementEffect, Report
from sim_node.world.readers.unread import mark
from sim_node.world.readers.xml_elements import Element

TRUE, FALSE = ("true", "1"), ("false", "0")
# The naming of the topics of a file's sensors, unless its include specifies it: ours or gazebo.
NAMER = ContextVar("namer", default="ours")


@dataclass
class SdfReading:
    """The state of a reading: the report, the folders and the files.

    Attributes:
        report: Where faults are recorded.
        roots: The folders that the files may refer to.
        opened: The root elements of the files.
        paths: The files by their names in messages.
        gazebo_topics: Whether sensors have the same topics as in Gazebo.
        faults: Faults of references that are already recorded.
    """

    report: Report
    roots: Roots
    opened: list[Element] = field(default_factory=list)
    paths: dict[str, Path] = field(default_factory=dict)
    gazebo_topics: bool = field(default_factory=lambda: NAMER.get() == "gazebo")
    faults: list[Exception] = field(default_factory=list)
    _said: set[str] = field(default_factory=set)

    def file_of(self, element: Element) -> Path:
        """Return the file that contains an element."""
        return self.paths[element.file]

    def error(self, element: Element, message: str, key: str = "") -> None:
        """Record a fault of an element."""
        at = element.attributes[key].at if key in element.attributes else element.at
        self.report.about(element.file).error(message, at, f"{element.tag}.{key}" if key else element.tag)

    def approximate(self, element: Element, message: str) -> None:
        """Warn, once for each message, of an element whose effect differs from Gazebo."""
        self._warn(element, "approximated", message)

    def leave_out(self, element: Element, message: str) -> None:
        """Warn, once for each message, of an element that is left out with all of its contents."""
        mark(element)
        self._warn(element, "no effect", message)

    def ignore(self, element: Element, message: str) -> None:
        """Note, only in the audit, that an element has no effect, as users would expect."""
        mark(element)
        self._note(element, "no effect", message)

    def _warn(self, element: Element, status: str, message: str) -> None:
        key = self._note(element, status, message)
        if message not in self._said:
            self._said.add(message)
            self.report.about(element.file).warning(message, element.at, key)

    def _note(self, element: Element, status: str, message: str) -> str:
        """Add an entry to the audit. Return the name of the element there."""
        key = f"{element.tag} {element.get('name')}".rstrip()
        self.report.effects.append(ElementEffect(element.file, element.at, key, status, message))
        return key

    def numbers(self, element: Element | None, *sizes: int) -> FloatArray | None:
        """Return the finite numbers of an element's text as an array; None if it has none or is invalid (reported).

        `sizes` are the allowed counts.
        """
        found = self._numbers(element, *sizes)
        return None if found is None else np.array(found, dtype=np.float64)

    def _numbers(self, element: Element | None, *sizes: int) -> list[float] | None:
        found = text_of(element).split()
        if element is None or not found:
            return None
        numbers = [as_number(word) for word in found]
        if len(numbers) in sizes and all(map(math.isfinite, numbers)):
            return numbers
        wrong = next((word for word, number in zip(found, numbers, strict=True) if math.isnan(number)), None)
        needed = " or ".join(map(str, sizes))
        if wrong is not None:
            self.error(element, f"a number is needed, found {quoted(wrong)}")
        elif len(numbers) not in sizes:
            noun = "number is" if sizes == (1,) else "numbers are"
            self.error(element, f"{needed} {noun} needed, found {len(numbers)}")
        elif not all(map(math.isfinite, numbers)) and sizes != (1,):
            self.error(element, f"finite numbers are needed, found {quoted(text_of(element))}")
        else:
            return numbers
        return None

    def number(self, element: Element | None, *tags: str, default: float) -> float:
        """Return the number of a descendant, which may be infinite; the default if there is none."""
        value = self._numbers(child(element, *tags), 1)
        return default if value is None else value[0]

    def whole(self, element: Element | None, *tags: str, default: int) -> int:
        """Return the integer of a descendant; the default if there is none or it is invalid (reported)."""
        value = self.number(element, *tags, default=float(default))
        if math.isfinite(value):
            return int(value)
        assert element is not None
        self.error(child(element, *tags) or element, f"a finite number is needed, found {value:g}")
        return default

    def amount(self, element: Element | None, *tags: str, default: float, positive: bool = False) -> float:
        """Return the finite number of a descendant, zero or more, or positive; the default if there is none."""
        value = self.number(element, *tags, default=default)
        if not (0.0 <= value < math.inf) or (positive and value == 0.0):
            assert element is not None
            at = child(element, *tags) or element
            self.error(
                at, f"{value:g} is out of range; it must be finite and {'above zero' if positive else 'zero or more'}"
            )
            return default if default > 0.0 else 1.0
        return value

    def vector(self, element: Element | None, *tags: str, default: tuple[float, ...]) -> FloatArray:
        """Return the vector of a descendant, which has the length of the default; the default if there is none."""
        value = self.numbers(child(element, *tags), len(default))
        return np.array(default, dtype=np.float64) if value is None else value

    def flag(self, element: Element | None, *tags: str, default: bool = False) -> bool:
        """Return whether a descendant is true or 1; the default if there is none."""
        found = child(element, *tags)
        return default if found is None else self.truth(found, text_of(found), default)

    def truth(self, element: Element, word: str, default: bool, key: str = "") -> bool:
        """Return whether a word means true; the default if it is empty or invalid (reported)."""
        spelled = word.strip().lower()
        if spelled and spelled not in (*TRUE, *FALSE):
            hint = did_you_mean(spelled, (*TRUE, *FALSE))
            self.error(element, f"true or false is needed, found {quoted(word)}{hint}", key)
        return spelled in TRUE if spelled else default

    def declared(self, element: Element, kind: type[Any], keys: Mapping[str, str]) -> dict[str, Any]:
        """Return fields of a declared class from an element, with the defaults of the class.

        `keys` has the names of the fields by SDF key; they are numbers, vectors or flags.
        """
        defaults, found = plan_of(kind).defaults, dict[str, Any]()
        for key, name in keys.items():
            holds = type(holder_of(kind, name))
            read: Any = {Vector: self.vector, Flag: self.flag}.get(holds, self.number)
            found[name] = read(element, key, default=defaults[name])
        return found

    def pose(self, element: Element | None) -> FloatArray:
        """Return the pose (7,) of a <pose> [x y z qx qy qz qw]; identity if there is none.

        Its angles are roll, pitch and yaw about fixed axes, in radians, or in degrees with degrees="true"; or a
        quaternion [x y z w] with rotation_format="quat_xyzw".
        """
        pose = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        if element is None:
            return pose
        degrees = self.truth(element, element.get("degrees"), False, "degrees")
        form = element.get("rotation_format", "euler_rpy")
        if form not in ("euler_rpy", "quat_xyzw"):
            self.error(element, f"euler_rpy or quat_xyzw is needed, found {quoted(form)}", "rotation_format")
            return pose
        if degrees and form == "quat_xyzw":
            self.error(element, "does not apply to a quaternion", "degrees")
        values = self.numbers(element, 7 if form == "quat_xyzw" else 6)
        if values is None:
            return pose
        if problem := fault("point", values[:3]):
            self.error(element, f"the position {values[:3].tolist()} {problem}")
        else:
            pose[:3] = values[:3]
        if form == "euler_rpy":
            pose[3:] = from_euler(np.radians(values[3:]) if degrees else values[3:])
            return pose
        norm = float(np.linalg.norm(values[3:]))
        if not norm > 1e-9:
            self.error(element, f"the quaternion {values[3:].tolist()} is no rotation")
        else:
            pose[3:] = quaternions.normalise(values[3:])
        return pose

    def colour(self, element: Element | None, *tags: str) -> FloatArray | None:
        """Return red, green, blue and opacity (4,), 0 to 1, of a descendant; None if there is none."""
        value = self.numbers(child(element, *tags), 3, 4)
        return None if value is None else np.asarray(np.clip(np.append(value, 1.0)[:4], 0.0, 1.0))


def place_of(element: Element, name: str = "") -> Place:
    """Return the location of an element, for the part that is made from it."""
    return Place(Where(element.file, *element.at), (name or element.get("name") or element.tag)[:MAX_PATH])


def child(element: Element | None, *tags: str) -> Element | None:
    """Return the first child with the first tag, its first child with the second tag, and so on; None if there is none.

    Further children with the same tag remain unread. None has no children.
    """
    for tag in tags:
        if element is None:
            return None
        element.read = True
        for each in element.children:
            if each.tag == tag:
                each.read = True
                element = each
                break
        else:
            return None
    return element


def text_of(element: Element | None, default: str = "") -> str:
    """Return the text of an element, as read; the default if there is no element or no text."""
    if element is None:
        return default
    element.read = True
    if element.text is None:
        return default
    element.text.read = True
    return element.text.text


def text(element: Element | None, *tags: str, default: str = "") -> str:
    """Return the text of a descendant; the default if there is none."""
    return text_of(child(element, *tags), default)


def gazebo_topic(name: str) -> str:
    """Convert a Gazebo topic to a valid ROS topic: with a leading /, and _ for characters that ROS does not allow."""
    return "/" + re.sub(r"[^\w/]", "_", name.strip("/"), flags=re.ASCII)
