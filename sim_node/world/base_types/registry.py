"""The registry of kinds of bases, the interface of a kind, and kinematics of several bases together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from sim_node.registry import Registry
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import Fault, faults, given
from sim_node.world.quantities import Number


@runtime_checkable
class Kinematics(Protocol):
    """The kinematics of K bases of one kind, whose wheels roll without slipping.

    Twists (K, 3) are [vx vy wz] of the base's origin along its axes (FLU), m/s and rad/s. Rates (K, D) of driven wheels
    are positive forwards, rad/s; angles (K, S) of steered wheels are positive to the left, rad.
    """

    def nearest(self, twists: FloatArray) -> FloatArray:
        """Return twists that the bases can follow.

        Args:
            twists: Twists (K, 3).

        Returns:
            The twists (K, 3) without what the wheels do not allow.
        """

    def inverse(self, twists: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the wheel rates and steering angles that produce twists.

        Args:
            twists: Twists (K, 3) that the bases can follow.

        Returns:
            Rates (K, D), rad/s, and angles (K, S), rad.
        """

    def forward(self, rates: FloatArray, angles: FloatArray) -> FloatArray:
        """Return the twists that wheel rates and steering angles produce.

        Args:
            rates: Rates (K, D), rad/s.
            angles: Angles (K, S), rad.

        Returns:
            Twists (K, 3); the least-squares fit if the wheels contradict each other.
        """


def dimension(
    meaning: str, unit: str = "m", *, low: float = 1e-4, high: float = 1e3, default: float | None = None
) -> Any:
    """Declare a number that world files give by the name of the field.

    Args:
        meaning: Description in a few words.
        unit: Unit; empty if it has none.
        low: Smallest allowed value.
        high: Largest allowed value.
        default: Default value; None if it is required.

    Returns:
        The field.
    """
    return given(
        Number(low, high), meaning[:1].upper() + meaning[1:], unit, default=MISSING if default is None else default
    )


@dataclass(frozen=True)
class BaseType(ABC):
    """The dimensions of a base: a frozen dataclass whose fields are declared with `dimension`.

    Attributes:
        driven: Names of the driven wheels. Several joints may share a name; they turn alike.
        steered: Names of the steered wheels.
    """

    driven: ClassVar[tuple[str, ...]] = ()
    steered: ClassVar[tuple[str, ...]] = ()

    def faults(self) -> Iterator[Fault]:
        """Yield the faults of the dimensions.

        Yields:
            Name and message of every dimension that is out of range.
        """
        return faults(self)

    def moves_sideways(self) -> bool:
        """Return whether the wheels allow lateral velocity.

        Returns:
            Whether they do.
        """
        return bool(kinematics_of([self]).nearest(np.array([[0.0, 1.0, 0.0]]))[0, 1])

    @classmethod
    @abstractmethod
    def kinematics(cls, bases: Sequence[Any]) -> Kinematics:
        """Return the kinematics of bases of this kind.

        Args:
            bases: K bases.

        Returns:
            Their kinematics.
        """


BASE_TYPES: Registry[str, type[BaseType]] = Registry(
    "kind of base",
    shipped=("sim_node.world.base_types.kinds",),
    group="sim_node.bases",
)
# Decorator that registers a kind under the name that world files give as `type`.
base = BASE_TYPES.add


def kinematics_of(bases: Sequence[BaseType]) -> Kinematics:
    """Return the kinematics of bases of one kind, after checking the shapes of their results.

    Args:
        bases: K bases.

    Returns:
        Their kinematics.

    Raises:
        PluginFault: The kind is from a plug-in, and its code raises an error or returns wrong shapes.
        TypeError: The same for a kind that is not from a plug-in.
    """
    of = type(bases[0])
    name = next((name for name, each in BASE_TYPES.items() if each is of), "")
    if not name:  # not registered: pass on its own errors
        return of.kinematics(bases)
    with BASE_TYPES.blaming(name):
        found = of.kinematics(bases)
        BASE_TYPES.expect(name, found, Kinematics, "from kinematics(), a Kinematics")
        twists = np.zeros((len(bases), 3))
        _check(name, found.nearest, found.nearest(twists), twists.shape)
        wheels = found.inverse(twists)
        if not (isinstance(wheels, tuple) and len(wheels) == 2):
            message = f"from inverse(), a tuple is needed, found a {type(wheels).__name__}"
            BASE_TYPES.refuse(name, message, found.inverse)
        for each, names in zip(wheels, (of.driven, of.steered), strict=True):
            _check(name, found.inverse, each, (len(bases), len(names)))
        _check(name, found.forward, found.forward(*wheels), twists.shape)
    return found


def _check(name: str, method: Callable[..., object], found: Any, shape: tuple[int, ...]) -> None:
    if np.shape(found) != shape:
        given = f"one of shape {found.shape}" if isinstance(found, np.ndarray) else f"{found!r:.60}"
        message = f"from {method.__name__}(), an array of shape {shape} is needed, found {given}"
        BASE_TYPES.refuse(name, message, method)
