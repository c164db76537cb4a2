"""Kinds of bases by name, what each declares, and kinematics of several bases at once."""

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

    Twists (K, 3) are [vx vy wz] of the base's origin along its axes (FLU), m/s and rad/s. Rates (K, D) are those of the
    driven wheels, rad/s, positive forwards; angles (K, S) those of the steered wheels, rad, positive to the left.
    """

    def nearest(self, twists: FloatArray) -> FloatArray:
        """Return twists that the bases can follow.

        Args:
            twists: (K, 3).

        Returns:
            The given ones without what wheels do not allow (K, 3).
        """

    def inverse(self, twists: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what wheels do to make twists.

        Args:
            twists: (K, 3), which the bases can follow.

        Returns:
            Rates (K, D) and angles (K, S).
        """

    def forward(self, rates: FloatArray, angles: FloatArray) -> FloatArray:
        """Return the twists that wheels make.

        Args:
            rates: (K, D), rad/s.
            angles: (K, S), rad.

        Returns:
            Twists (K, 3); where wheels contradict each other, the nearest by least squares.
        """


def dimension(
    meaning: str, unit: str = "m", *, low: float = 1e-4, high: float = 1e3, default: float | None = None
) -> Any:
    """Return a dataclass field that world files give by its name: a number, needed unless it has a default.

    Args:
        meaning: What it is, in a few words.
        unit: Its unit; empty if it has none.
        low: Its least value.
        high: Its largest value.
        default: Its default; None if it must be given.

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
        driven: What its driven wheels are called. Several joints may share a name: they turn alike.
        steered: What its steered wheels are called.
    """

    driven: ClassVar[tuple[str, ...]] = ()
    steered: ClassVar[tuple[str, ...]] = ()

    def faults(self) -> Iterator[Fault]:
        """Yield what is wrong with the dimensions.

        Yields:
            The name and the message of every dimension that is out of range.
        """
        return faults(self)

    def moves_sideways(self) -> bool:
        """Return whether the wheels allow a velocity to the left.

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
    """Return the kinematics of bases of one kind, whose results have the right shapes.

    Args:
        bases: K bases.

    Returns:
        Their kinematics.

    Raises:
        PluginFault: The kind is of a plug-in, and its code raises an error or gives something else.
        TypeError: Another kind does.
    """
    of = type(bases[0])
    name = next((name for name, each in BASE_TYPES.items() if each is of), "")
    if not name:  # never registered: its maker sees its own errors
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
