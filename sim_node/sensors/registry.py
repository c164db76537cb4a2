"""What a sensor is, the messages that it sends, and the sensors there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sim_node.columns import Array
from sim_node.geometry.arrays import FloatArray
from sim_node.registry import Registry
from sim_node.sensors.context import SensorContext
from sim_node.sensors.noise import NoiseBank, Quantities
from sim_node.sensors.truth import FrameState
from sim_node.world.model import Sensor, World
from sim_node.world.sensor_types import SENSOR_TYPES

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


# What S sensors would read without noise (S, C), from the state of their S frames.
Measure = Callable[[FrameState], FloatArray]
# What S sensors publish (S, *shape), a new array, of what they measured, noise included (S, C).
Report = Callable[[FloatArray], FloatArray]


class Disturb(Protocol):
    """Noise that is added to what S sensors measured (S, C)."""

    def __call__(self, measured: FloatArray, /) -> FloatArray:
        """The measurements with the noise of the next reading."""

    def state(self) -> Mapping[str, Array]:
        """All that the noise of the next readings depends on: arrays by name, with a row for each sensor.

        They become columns of the run. Names, shapes and types are always the same.
        """

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a state, to the bit."""


@runtime_checkable
class Remembers(Protocol):
    """A Measure or Report that works with what it remembers of the readings before."""

    def reset(self) -> None:
        """Forget them: a run begins."""

    def state(self) -> Mapping[str, Array]:
        """Return what it remembers, laid out as the state of a Disturb."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a state, to the bit."""


class SensorType(ABC):
    """A frozen dataclass of parameters, declared with `parameter` and `group`; rate (Hz) and latency (s) among them.

    channels: what the numbers of a reading are; needs_origin: whether the world must have an `origin`;
    needs_package: a package that must be installed, or empty. optical: whether a second frame, NAME_optical, comes
    with it, whose z axis looks ahead and whose x axis is to the right (REP 103).
    """

    rate: float
    latency: float
    channels: ClassVar[tuple[str, ...]]
    needs_origin: ClassVar[bool] = False
    needs_package: ClassVar[str] = ""
    optical: ClassVar[bool] = False

    def in_world(self, mounting: Sensor, world: World) -> SensorType:
        """Itself where a world mounts it, with what depends on the world. Raises ValueError where it does not fit."""
        return self

    @abstractmethod
    def quantities(self) -> Quantities:
        """The noise of each measured quantity, and its number of axes; nothing where none is off."""

    @abstractmethod
    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """The messages that a reading becomes, where it is mounted as `frame` in a world with a fixed frame."""

    def shape(self) -> tuple[int, ...]:
        """Of the array of one reading: a number for each channel, unless a type overrides it."""
        return (len(self.channels),)

    @classmethod
    @abstractmethod
    def measure(cls, sensors: Sequence[Any], context: SensorContext) -> Measure:
        """Return the function for the readings of sensors of this type in a context, without noise."""

    @classmethod
    def disturb(cls, sensors: Sequence[Any], streams: Sequence[np.random.Generator], rate: float) -> Disturb | None:
        """The noise of sensors, of each from its stream; None where nothing is off."""
        quantities = [each.quantities() for each in sensors]
        return NoiseBank(quantities, streams, rate) if quantities[0] else None

    @classmethod
    def report(cls, sensors: Sequence[Any], context: SensorContext) -> Report:
        """Return the function from a measurement to what is published; the identity unless overridden."""
        return lambda measured: measured


SENSORS: Registry[str, type[SensorType]] = SENSOR_TYPES
# Registers a sensor's class under the name that world files give as `type`.
sensor = SENSORS.add
