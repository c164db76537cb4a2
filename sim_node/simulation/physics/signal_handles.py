"""Handles of signals: numbers of joints and actuators that have names of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sim_node.simulation.physics.handles import NamedHandle
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import bounds
from sim_node.world.signals import NamedSignal

# The column of all signals in the order of the world, which is computed when it is read.
SIGNAL = "signal"


@dataclass(frozen=True, slots=True, eq=False)
class SignalRecord:
    """A run's access to a signal: an element of an array, and of another one that sets it.

    Attributes:
        signal: The world's description.
        array: Where it is read.
        row: The element.
        wanted: Where it is set; None for an output.
        evaluate: Computes the forces of the present state.
    """

    signal: NamedSignal
    array: FloatArray
    row: int
    wanted: FloatArray | None
    evaluate: Callable[[], None]

    def get(self) -> float:
        """Return its value."""
        if self.signal.quantity == "force":
            self.evaluate()
        return float(self.array[self.row])


class SignalHandle(NamedHandle[SignalRecord]):
    """Handle of a signal of a run.

    Attributes:
        name: The signal's name.
    """

    __slots__ = ()

    @property
    def is_input(self) -> bool:
        """Whether it can be set."""
        return self._present.wanted is not None

    @property
    def quantity(self) -> str:
        """position, velocity, target, force or engagement."""
        return self._present.signal.quantity

    @property
    def value(self) -> float:
        """Its value, in the unit of the quantity: m or rad, m/s or rad/s, N or N m, or 0 to 1.

        Setting it raises ValueError for an output, and for a number that is not finite or out of range. An engagement
        follows in the time that its actuator takes.
        """
        return self._present.get()

    @value.setter
    def value(self, value: float) -> None:
        if (fault := self.fault(value)) is not None:
            raise ValueError(fault)
        record = self._present
        assert record.wanted is not None
        record.wanted[record.row] = value

    def fault(self, value: float) -> str | None:
        """Return why it cannot be set to a value, or None."""
        if not self.is_input:
            return f"{self.name!r} is an output, which cannot be set"
        wrong = bounds.fault(self.quantity, value)
        return f"the {self.quantity} {value:g} of {self.name!r} {wrong}" if wrong else None
