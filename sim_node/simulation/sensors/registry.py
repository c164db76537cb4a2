"""The interface of sensor types, the messages that they publish, and the registry of types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sim_node.registry import Registry
from sim_node.simulation.columns import Array
from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.noise import Noise, NoiseBank, Quantities
from sim_node.simulation.sensors.parameters import axes_of, names_in, parameter, topics, units_of
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared, keys_of
from sim_node.world.model import Sensor, World
from sim_node.world.readers.keys import Keys
from sim_node.world.sensor_types import SENSOR_TYPES

# A numpy index: a slice, the name of a field of a structured type, or ... for all.
Index = Any


@dataclass(frozen=True, eq=False)
class Channels:
    """The part of a message field that each measurement overwrites.

    The part of the measurement and the part of the field have the same shape.

    Attributes:
        of: The part of the measurement's array, as a numpy index.
        within: The initial contents of the field, with its shape and, for fields of bytes (`uint8[] data`), the type
            of the numbers in it; by default zeros with the shape of `of`.
        at: The part of `within` that is overwritten, as a numpy index.
    """

    of: Index = ...
    within: npt.NDArray[Any] | None = None
    at: Index = ...

    def start(self, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """Return the contents of the field before the first measurement.

        Args:
            shape: The shape of one measurement of the sensor.

        Returns:
            `within`, or zeros.

        Raises:
            IndexError: A measurement does not have these channels.
        """
        if isinstance(self.of, slice) and self.of.stop is not None and self.of.stop > shape[0]:
            raise IndexError(f"channel {self.of.stop - 1} is the last that is needed, there are {shape[0]}")
        return np.zeros(np.broadcast_to(0.0, shape)[self.of].shape) if self.within is None else self.within


@dataclass(frozen=True)
class Encoded:
    """A field of bytes of varying length that is encoded from each measurement, such as a compressed image.

    Attributes:
        encode: Returns the bytes for a measurement.
    """

    encode: Callable[[npt.NDArray[Any]], bytes]


def channels(first: int, end: int | None = None) -> Channels:
    """Return channels of a measurement.

    Args:
        first: The first channel.
        end: The channel after the last one; by default only `first` is returned.

    Returns:
        The channels, to be used as the value of a field of a Message.
    """
    return Channels(slice(first, first + 1 if end is None else end))


@dataclass(frozen=True, eq=False)
class Message:
    """A message that a sensor publishes with each measurement.

    A constant is a number, a text, or a list or array of numbers; a list of messages is a list of mappings like
    `fields`. A field that is a message of numbers only (a Vector3, a Pose) accepts an array. Other fields keep their
    default, zero or empty; headers get the measurement's stamp and the sensor's frame.

    Attributes:
        topic: Name of the topic, below the sensor's name.
        type: Type of the message: package/msg/Name.
        fields: Constants, Channels and Encoded by the path of a field in the type's definition, such as
            "linear_acceleration", "pose.covariance" or "header.frame_id".
    """

    topic: str
    type: str
    fields: Mapping[str, Any] = field(default_factory=dict)


# The noise-free measurements (S, C) of S sensors, from the state of their S frames.
Measure = Callable[[FrameState], FloatArray]
# The published values (S, *shape) of S sensors, a new array, from measured values, noise included (S, C).
Report = Callable[[FloatArray], FloatArray]


class Disturb(Protocol):
    """Noise of S sensors, added to their measurements (S, C)."""

    def __call__(self, measured: FloatArray, /) -> FloatArray:
        """Return the measurements (S, C) with the next noise."""

    def state(self) -> Mapping[str, Array]:
        """Return everything that the next noise depends on: arrays by name, with a row for each sensor.

        They become columns of the run. Their names, shapes and types never change.
        """

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a state, to the bit."""


@runtime_checkable
class Remembers(Protocol):
    """A Measure or Report that depends on previous measurements."""

    def reset(self) -> None:
        """Forget previous measurements, at the start of a run."""

    def state(self) -> Mapping[str, Array]:
        """Return what it depends on, in the same form as the state of a Disturb."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a state, to the bit."""


@declared
class SensorType(ABC):
    """Base of sensor types: a frozen dataclass of parameters, declared with `parameter` and `group`.

    channels: names of the numbers of a measurement. needs_package: a package that must be installed, or empty.
    units: units of the channels, empty for none; None if they are the units of their noises, in order. optical: whether
    it has a second frame, NAME_optical, with the z axis forward and the x axis to the right (REP 103).
    """

    rate: float = parameter(10.0, "Hz", "measurements per second", above=0.0)
    latency: float = parameter(0.0, "s", "time from measurement to publication", low=0.0, high=10.0)
    topics: tuple[str, ...] = topics()

    channels: ClassVar[tuple[str, ...]]
    units: ClassVar[tuple[str, ...] | None] = None
    needs_package: ClassVar[str] = ""
    optical: ClassVar[bool] = False

    @property
    def needs_origin(self) -> bool:
        """Whether the world must have an `origin`; not unless overridden."""
        return False

    @classmethod
    def keys(cls) -> Keys:
        """Return the parameters as keys of world files."""
        return keys_of(cls)

    @classmethod
    def naming(cls) -> tuple[str, ...]:
        """Return the parameters whose values are names in the world, which an include renames."""
        return names_in(cls)

    def in_world(self, mounting: Sensor, world: World) -> SensorType:
        """Return the sensor with parameters that depend on the world completed.

        Args:
            mounting: The entry of the world that describes the sensor.
            world: The world.

        Returns:
            The sensor itself unless overridden.

        Raises:
            ValueError: The sensor does not fit the world.
        """
        return self

    def quantities(self) -> Quantities:
        """Return the noise and the number of axes of each measured quantity: those declared, unless overridden."""
        return tuple((getattr(self, name), axes) for name, axes in axes_of(type(self), Noise).items())

    @abstractmethod
    def messages(self, frame: str, fixed_frame: str) -> tuple[Message, ...]:
        """Return the messages that each measurement becomes.

        Args:
            frame: Name of the sensor's frame.
            fixed_frame: Name of the world's fixed frame.

        Returns:
            One Message for each topic.
        """

    @classmethod
    def channel_units(cls) -> tuple[str, ...]:
        """Return the unit of each channel; empty where it has none, or it is not known."""
        units = units_of(cls, Noise) if cls.units is None else cls.units
        return (*units, *[""] * len(cls.channels))[: len(cls.channels)]

    def shape(self) -> tuple[int, ...]:
        """Return the shape of one measurement: (C,), a number for each channel, unless overridden."""
        return (len(self.channels),)

    @classmethod
    @abstractmethod
    def measure(cls, sensors: Sequence[Any], context: SensorContext) -> Measure:
        """Return the function that measures without noise.

        Args:
            sensors: The S sensors of this type that measure together.
            context: Their frames, the world and its environment.

        Returns:
            A function from the FrameState of their S frames to an array (S, C).
        """

    @classmethod
    def disturb(cls, sensors: Sequence[Any], streams: Sequence[np.random.Generator], rate: float) -> Disturb | None:
        """Return the noise of sensors.

        Args:
            sensors: As in `measure`.
            streams: A stream of random numbers for each sensor.
            rate: Measurements per second, Hz.

        Returns:
            The noise; a NoiseBank of `quantities` unless overridden. None for sensors without noise.
        """
        quantities = [each.quantities() for each in sensors]
        return NoiseBank(quantities, streams, rate) if quantities[0] else None

    @classmethod
    def report(cls, sensors: Sequence[Any], context: SensorContext) -> Report:
        """Return the function from measured values to published ones.

        Args:
            sensors: As in `measure`.
            context: As in `measure`.

        Returns:
            A function from an array (S, C), noise included, to a new array (S, *shape); the identity unless overridden.
        """
        return lambda measured: measured


SENSORS: Registry[str, type[SensorType]] = SENSOR_TYPES
# Decorator that registers a sensor's class under the name that world files give as `type`.
sensor = SENSORS.add
