"""What comes between a sensor and those who read it: failures, delays, losses."""

from __future__ import annotations

from typing import Protocol

from sim_node.simulation.columns import Array


class Alteration(Protocol):
    """Alters the measurements of one sensor, which then measures in a bank of its own.

    It may depend on its arguments alone: what else it remembers is not part of the state of the sensor.

    Attributes:
        sound: What the sensor measured last, before it was altered; None before the first.
    """

    sound: Array | None

    def later(self, step: int) -> int | None:
        """Return how many steps later than usual a measurement of a step is published; None if it is lost."""

    def altered(self, step: int, measured: Array, before: Array | None) -> Array:
        """Return what is published of a measurement.

        Args:
            step: The step of the measurement.
            measured: What the sensor has measured, in the shape of its type.
            before: What was published, or is going to be, of the measurement before; None if there is none.
        """
