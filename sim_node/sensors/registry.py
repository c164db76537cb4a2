"""What a sensor is, and the sensors there are. A new one is a new file here with one `@sensor` entry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from sim_node.geometry.arrays import FloatArray
from sim_node.registry import registering
from sim_node.sensors.noise import Quantities
from sim_node.sensors.setting import Setting
from sim_node.sensors.truth import FrameState

# What S sensors would read without noise (S, C), from the state of their S frames.
Measure = Callable[[FrameState], FloatArray]
# What S sensors tell (S, D) of what they measured, noise included (S, C).
Report = Callable[[FloatArray], FloatArray]


class SensorType(ABC):
    """A frozen dataclass of parameters, said with `parameter` and `group`; rate (Hz) and latency (s) among them.

    channels: what the numbers of a reading are; needs_origin: whether the world must say where on Earth it lies;
    needs_package: a package that must be installed, or empty.
    """

    rate: float
    latency: float
    channels: ClassVar[tuple[str, ...]]
    needs_origin: ClassVar[bool] = False
    needs_package: ClassVar[str] = ""

    @abstractmethod
    def quantities(self) -> Quantities:
        """The noise of each measured quantity, and its number of axes; nothing where none is off."""

    @classmethod
    @abstractmethod
    def measure(cls, sensors: Sequence[Any], setting: Setting) -> Measure:
        """The function that says what sensors of this type read in a setting, had they no noise."""

    @classmethod
    def report(cls, sensors: Sequence[Any], setting: Setting) -> Report:
        """The function that makes of a measurement what is told; the same, unless a type says otherwise."""
        return lambda measured: measured


_T = TypeVar("_T", bound=type[SensorType])
SENSORS: dict[str, type[SensorType]] = {}


def sensor(name: str) -> Callable[[_T], _T]:
    """Registers a sensor's class under the name that world files give as `type`."""

    return registering(SENSORS, "sensor", name)
