"""Handles of signals: numbers of joints, actuators and bodies that have names of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sim_node.simulation.physics.handles import BodyRecord, NamedHandle
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import bounds
from sim_node.world.signals import AXES, NamedSignal

# The column of all signals in the order of the world, which is computed when it is read.
SIGNAL = "signal"


class SignalRecord(Protocol):
    """A run's access to a signal: how it is read, and set if it is an input."""

    @property
    def signal(self) -> NamedSignal:
        """The world's description."""

    def get(self) -> float:
        """Return its value."""

    def fault(self, value: float) -> str:
        """Return why it cannot be set to a value in the bounds of its quantity; empty if it can."""

    def put(self, value: float) -> None:
        """Set it, of an input. Raises ValueError if it is of a body that does not float free."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayElement:
    """A signal that is an element of an array, and of another one that sets it.

    evaluate: computes the forces of the present state.
    """

    signal: NamedSignal
    array: FloatArray
    row: int
    wanted: FloatArray
    evaluate: Callable[[], None]

    def get(self) -> float:
        """Return its value."""
        if self.signal.quantity == "force":
            self.evaluate()
        return float(self.array[self.row])

    def fault(self, value: float) -> str:
        """Return nothing: it can be set."""
        return ""

    def put(self, value: float) -> None:
        """Set it."""
        self.wanted[self.row] = value


@dataclass(frozen=True, slots=True, eq=False)
class OfBody:
    """A signal that is a number of a body, along an axis of the fixed frame."""

    signal: NamedSignal
    body: BodyRecord

    def get(self) -> float:
        """Return its value."""
        found = self.body.twist() if self.signal.quantity.endswith("velocity") else self.body.pose()
        at = AXES.index(self.signal.axis)
        if self.signal.quantity == "rpy":
            return float(quaternions.to_rpy(found[3:])[at])
        return float(found[at + 3 * (self.signal.quantity == "angular_velocity")])

    def fault(self, value: float) -> str:
        """Return nothing: whether the body floats free is found when it is set."""
        return ""

    def put(self, value: float) -> None:
        """Set it. Raises ValueError for a body that does not float free."""
        twist = np.array(self.body.twist())
        twist[AXES.index(self.signal.axis) + 3 * (self.signal.quantity == "angular_velocity")] = value
        self.body.set_twist(twist)


@dataclass(frozen=True, slots=True, eq=False)
class Selected:
    """A signal that selects which of several actuators is engaged. rows: rows of `array` by number of the actuator."""

    signal: NamedSignal
    array: FloatArray
    rows: Mapping[int, int]

    def get(self) -> float:
        """Return the number of the actuator that is engaged; 0 for none."""
        return float(next((number for number, row in self.rows.items() if self.array[row] > 0.0), 0))

    def fault(self, value: float) -> str:
        """Return a message if there is no actuator with this number; empty if there is. 0 is always allowed."""
        if value in self.rows or value == 0.0:
            return ""
        allowed = ", ".join(map(str, sorted({*self.rows, 0})))
        return f"there is no {value:g} of {self.signal.of!r}; allowed: {allowed}"

    def put(self, value: float) -> None:
        """Engage one actuator, and disengage the others."""
        for number, row in self.rows.items():
            self.array[row] = float(number == value)


class SignalHandle(NamedHandle[SignalRecord]):
    """Handle of a signal of a run.

    Attributes:
        name: The signal's name.
    """

    __slots__ = ()

    @property
    def is_input(self) -> bool:
        """Whether it can be set."""
        return self._present.signal.input

    @property
    def quantity(self) -> str:
        """The quantity as in world files: position, velocity, target, force, ..."""
        return self._present.signal.quantity

    @property
    def value(self) -> float:
        """Its value, in the unit of the quantity: m or rad, m/s or rad/s, N or N m, or 0 to 1.

        Setting it raises ValueError for an output, and for a number that is not finite or out of range. An engagement
        is reached after the time that its actuator takes.
        """
        return self._present.get()

    @value.setter
    def value(self, value: float) -> None:
        if (fault := self.fault(value)) is not None:
            raise ValueError(fault)
        self._present.put(value)

    def fault(self, value: float) -> str | None:
        """Return why it cannot be set to a value, or None."""
        if not self.is_input:
            return f"{self.name!r} is an output, which cannot be set"
        wrong = bounds.fault(self.quantity, value)
        if wrong:
            return f"the {self.quantity} {value:g} of {self.name!r} {wrong}"
        return self._present.fault(value) or None
