"""What a sensor is, and the sensors there are. A new one is a new file here with one `@sensor` entry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from sim_node.columns import Array
from sim_node.geometry.arrays import FloatArray
from sim_node.registry import Registry
from sim_node.sensors.context import SensorContext
from sim_node.sensors.message import Message
from sim_node.sensors.noise import NoiseBank, Quantities
from sim_node.sensors.truth import FrameState
from sim_node.world.model import Sensor, World
from sim_node.world.sensor_types import SENSOR_TYPES

# What S sensors would read without noise (S, C), from the state of their S frames.
Measure = Callable[[FrameState], FloatArray]
# What S sensors tell (S, *shape), a new array, of what they measured, noise included (S, C).
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
        """Goes on from a state, to the bit."""


@runtime_checkable
class Remembers(Protocol):
    """A Measure or Report that works with what it remembers of the readings before."""

    def reset(self) -> None:
        """Forgets them: a run begins."""

    def state(self) -> Mapping[str, Array]:
        """What it remembers, as a Disturb says it."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Goes on from a state, to the bit."""


class SensorType(ABC):
    """A frozen dataclass of parameters, said with `parameter` and `group`; rate (Hz) and latency (s) among them.

    channels: what the numbers of a reading are; needs_origin: whether the world must say where on Earth it lies;
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
        """Of the array of one reading: a number for each channel, unless a type says otherwise."""
        return (len(self.channels),)

    @classmethod
    @abstractmethod
    def measure(cls, sensors: Sequence[Any], context: SensorContext) -> Measure:
        """The function that says what sensors of this type read in a setting, had they no noise."""

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
