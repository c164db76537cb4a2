"""What a sensor's readings become: a ROS message as data. Knows no bytes and no ROS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

# What numpy takes between brackets: a slice, a name of a structured type, or ... for all.
Index = Any


@dataclass(frozen=True, eq=False)
class Channels:
    """The part of a field that each reading rewrites.

    of: which part of the reading's array. within: the field's numbers as they are at first, with the shape and, in
    fields of bytes (`uint8[] data`), the type that they have there; by default zeros, as many as `of` has numbers.
    at: which of those are rewritten. The two parts have the same shape.
    """

    of: Index = ...
    within: npt.NDArray[Any] | None = None
    at: Index = ...

    def start(self, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """Return the field's numbers before the first reading, of a sensor whose readings have a shape.

        Raises IndexError for channels that a reading does not have.
        """
        if isinstance(self.of, slice) and self.of.stop is not None and self.of.stop > shape[0]:
            raise IndexError(f"channel {self.of.stop - 1} is the last that is needed, there are {shape[0]}")
        return np.zeros(np.broadcast_to(0.0, shape)[self.of].shape) if self.within is None else self.within


def channels(first: int, end: int | None = None) -> Channels:
    """Return the channels [first, end) of a reading, or only `first`."""
    return Channels(slice(first, first + 1 if end is None else end))


@dataclass(frozen=True, eq=False)
class Message:
    """A message that a sensor sends with each of its readings.

    topic: its name below the sensor's. type: package/msg/Name. fields: constants and Channels by the path of a field
    in the type's definition, such as "linear_acceleration", "pose.covariance" or "header.frame_id".

    A constant is a number, a text, or numbers in a list or an array; lists of messages are lists of mappings like this
    one. A field that is a message of equal numbers (a Vector3, a Pose) takes them as an array. What is not named has
    its default, zero or empty; headers have the reading's stamp and the sensor's frame.
    """

    topic: str
    type: str
    fields: Mapping[str, Any] = field(default_factory=dict)
