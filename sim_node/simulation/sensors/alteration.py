"""Alterations between a sensor and its readers: failures, delays, losses."""

from __future__ import annotations

from typing import Protocol

from sim_node.simulation.columns import Array


class Alteration(Protocol):
    """Alters the measurements of one sensor, which then has a bank of its own.

    Results may depend on the arguments only: anything else that it remembers is not part of the state of the sensor.

    Attributes:
        sound: The last measurement before alteration; None before the first.
    """

    sound: Array | None

    def later(self, step: int) -> int | None:
        """Return by how many steps the publication of a step's measurement is delayed; None if it is lost."""

    def altered(self, step: int, measured: Array, before: Array | None) -> Array:
        """Return the altered measurement, to be published.

        Args:
            step: The step of the measurement.
            measured: The measurement, in the shape of the sensor's type.
            before: The preceding altered measurement, published or pending; None if there is none.
        """
