"""Typed reading of an x_xy element's attributes.

Invalid values are recorded and replaced, so that reading continues.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world import x_xy
from sim_node.world.bounds import MAX_DISTANCE, MAX_STAMP_NS
from sim_node.world.problems import Where, quoted
from sim_node.world.readers import numbers
from sim_node.world.readers.numbers import as_nanoseconds, as_number
from sim_node.world.readers.report import LineColumn, Report
from sim_node.world.readers.xml_elements import Element, XmlAttribute
from sim_node.world.readers.yaml_poses import NORMALISED, SILENT

_ROTATIONS = ("euler", "quat")


class Attributes:
    """An element's attributes, with the file's defaults. owner: the body in messages."""

    def __init__(self, element: Element, owner: str, report: Report, defaults: Mapping[str, XmlAttribute]) -> None:
        self._element = element
        self._owner = owner
        self._report = report
        own = element.attributes
        # An element's own rotation replaces a default one in any representation.
        hidden = _ROTATIONS if any(key in own for key in _ROTATIONS) else ()
        self._attributes = {**{key: value for key, value in defaults.items() if key not in hidden}, **own}

    def __contains__(self, name: str) -> bool:
        return name in self._attributes

    @property
    def where(self) -> Where:
        """The location of the element."""
        return Where(self._report.file, *self._element.at)

    def key(self, name: str) -> str:
        """Return the name of an attribute in messages, as in pendulum.geom.dim."""
        tag = "" if self._element.tag == "body" else self._element.tag
        return ".".join(part for part in (self._owner, tag, name) if part)

    def at(self, name: str) -> LineColumn:
        """Return the location of an attribute, or of the element if it has no such attribute."""
        return self._attributes[name].at if name in self._attributes else self._element.at

    def error(self, name: str, message: str) -> None:
        """Record a fault of an attribute."""
        self._report.error(message, self.at(name), self.key(name))

    def warning(self, name: str, message: str) -> None:
        """Record something that was corrected."""
        self._report.warning(message, self.at(name), self.key(name))

    def missing(self, name: str) -> None:
        """Record that an attribute is missing."""
        self._report.error(f"{name} is missing", self._element.at, self.key("") or self._element.tag)

    def text(self, name: str) -> str:
        """Return the text of an attribute, as read; empty if it is missing."""
        found = self._attributes.get(name)
        if found is None:
            return ""
        found.read = True
        return found.text.strip()

    def choice(self, name: str, allowed: Iterable[str], default: str, *, required: bool = False) -> str:
        """Return one of the allowed words."""
        allowed = list(allowed)
        if name not in self._attributes:
            if required:
                self.missing(name)
            return default
        word = self.text(name)
        if word in allowed:
            return word
        self.error(name, f"found {quoted(word)}; allowed: {', '.join(allowed)}{did_you_mean(word, allowed)}")
        return default

    def vector_or_none(self, name: str, size: int, low: float = -MAX_DISTANCE) -> FloatArray | None:
        """Return `size` numbers in [low, MAX_DISTANCE], separated by spaces; None if they are missing or invalid."""
        if name not in self._attributes:
            return None
        words = self.text(name).split()
        if len(words) != size:
            self.error(name, f"{size} number{'' if size == 1 else 's'} are needed, found {len(words)}")
            return None
        numbers = [as_number(word) for word in words]
        for word, number in zip(words, numbers, strict=True):
            if math.isnan(number):
                self.error(name, f"a number is needed, found {quoted(word)}")
                return None
            if not low <= number <= MAX_DISTANCE:
                self.error(name, f"{word} is out of range; allowed: {low:g} to {MAX_DISTANCE:g}")
                return None
        return np.array(numbers)

    def vector(self, name: str, size: int, default: FloatArray, low: float = -MAX_DISTANCE) -> FloatArray:
        """Return numbers as vector_or_none does, or the default."""
        found = self.vector_or_none(name, size, low)
        return default if found is None else found

    def nanoseconds(self, name: str, default: int, low_ns: int) -> int:
        """Return decimal seconds as whole nanoseconds."""
        if self.vector_or_none(name, 1) is None:
            return default
        nanoseconds = as_nanoseconds(self.text(name))
        if nanoseconds is None or not low_ns <= nanoseconds <= MAX_STAMP_NS:
            allowed = f"{low_ns / 1e9:g} to {MAX_STAMP_NS // 1_000_000_000}"
            self.error(name, f"{self.text(name)} s is out of range; allowed: {allowed} s")
            return default
        return nanoseconds

    def pose(self) -> FloatArray:
        """Return pos with euler (degrees, about the parent's x, then y, then z) or quat (passive [w x y z])."""
        pose = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        pose[:3] = self.vector("pos", 3, pose[:3])
        if all(key in self._element.attributes for key in _ROTATIONS):
            self.error("quat", "cannot be combined with euler; give one of them")
        degrees, quaternion = self.vector_or_none("euler", 3), self.vector_or_none("quat", 4)
        if quaternion is not None:
            pose[3:] = self._rotation(quaternion)
        elif degrees is not None:
            pose[3:] = numbers.from_euler(np.radians(degrees))
        return pose

    def _rotation(self, quaternion: FloatArray) -> FloatArray:
        norm = float(np.linalg.norm(quaternion))
        if norm == 0.0 or abs(norm - 1.0) > NORMALISED:
            self.error("quat", f"norm is {norm:.4g}, a rotation needs 1")
            return np.array([0.0, 0.0, 0.0, 1.0])
        if abs(norm - 1.0) > SILENT:
            self.warning("quat", f"norm is {norm:.7g}; normalised to 1")
        return quaternions.normalise(x_xy.quaternion_from_x_xy(quaternion))

    def position_range(self) -> FloatArray | None:
        """Return pos_min and pos_max (2, 3), which must differ; what is not given is pos."""
        given = [key for key in ("pos_min", "pos_max") if key in self._attributes]
        if not given:
            return None
        pos = self._vector_silently("pos")
        lowest, highest = (self.vector_or_none(key, 3) if key in given else pos for key in ("pos_min", "pos_max"))
        if lowest is None or highest is None:
            return None
        if np.array_equal(lowest, highest):
            self.error(given[-1], f"equals {'pos_min' if len(given) == 2 else 'pos'}; use pos for a fixed position")
        elif np.any(lowest > highest):
            below = "is below pos_min" if len(given) == 2 else "is below pos"
            self.error(given[-1], "is above pos" if given == ["pos_min"] else below)
        return np.array([lowest, highest])

    def _vector_silently(self, name: str) -> FloatArray:
        """Return three numbers, or zeros where they are missing or invalid, which is reported elsewhere."""
        numbers = np.array([as_number(word) for word in self.text(name).split()])
        return numbers if len(numbers) == 3 and np.isfinite(numbers).all() else np.zeros(3)

    def colour(self, name: str) -> FloatArray | None:
        """Return a named colour, or red, green, blue in 0 to 1. An unknown name is ignored with a warning."""
        text = self.text(name)
        if not text:
            return None
        if math.isnan(as_number(text.split()[0])):
            # The toolbox's own examples name colours after an experiment.
            rgb = x_xy.COLOURS.get(text.lower().removeprefix("dustin_exp_"))
            if rgb is None:
                self.warning(name, f"unknown colour {quoted(text)}{did_you_mean(text, x_xy.COLOURS)}; it is ignored")
                return None
        else:
            found = self.vector_or_none(name, 4 if len(text.split()) == 4 else 3)
            if found is None:
                return None
            if not all(0.0 <= part <= 1.0 for part in found.tolist()):
                self.error(name, f"{text} is out of range; allowed: 0 to 1")
                return None
            rgb = tuple(found.tolist())
        return np.array([*rgb, 1.0][:4])
