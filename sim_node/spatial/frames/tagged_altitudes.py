"""Altitudes that carry the name of their vertical datum, as positions carry that of their frame in `tagged`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim_node.spatial.frames.altitudes import VerticalDatum, convert_altitude
from sim_node.spatial.frames.conventions import FrameMismatch
from sim_node.spatial.frames.tagged import Tagged
from sim_node.spatial.geometry.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Altitude(Tagged):
    """Altitudes above a vertical datum.

    Args:
        values: Metres above `datum`, of any shape. It is copied.
        datum: The reference surface.
    """

    values: FloatArray
    datum: VerticalDatum

    def __init__(self, values: npt.ArrayLike, datum: VerticalDatum) -> None:
        own = np.array(values, dtype=np.float64)
        own.flags.writeable = False
        object.__setattr__(self, "values", own)
        object.__setattr__(self, "datum", datum)

    def to(self, datum: VerticalDatum, latitude: npt.ArrayLike, longitude: npt.ArrayLike) -> Altitude:
        """Convert to another datum, as convert_altitude does.

        Args:
            datum: The datum to convert to.
            latitude: Degrees.
            longitude: Degrees.

        Returns:
            The converted altitude.

        Raises:
            InvalidCoordinates: A latitude or longitude is out of range.
        """
        return Altitude(convert_altitude(self.values, self.datum, datum, latitude, longitude), datum)

    def above(self, datum: VerticalDatum) -> FloatArray:
        """Return the array if its datum is `datum`.

        Args:
            datum: The expected datum.

        Returns:
            The altitudes in metres, read-only.

        Raises:
            FrameMismatch: The altitude has another datum.
        """
        if self.datum is not datum:
            raise FrameMismatch(f"altitude is above {self.datum.value}, above {datum.value} was expected")
        return self.values

    def __sub__(self, other: Altitude) -> FloatArray:
        """Return the difference in height, in metres."""
        if not isinstance(other, Altitude):
            return NotImplemented
        return np.asarray(self.values - other.above(self.datum))
