"""The discs that the propellers of a multirotor sweep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.world.vehicles import Multirotor

DISC = (0.16, 0.18, 0.22, 0.32)
THICKNESS = 0.008
# Of the distance to the nearest other rotor: a vehicle does not say how long its propellers are.
_PART, _ALONE = 0.46, 0.15
# Rotors closer than this across their axis are above each other, m.
_COAXIAL = 1e-3


class Disc(NamedTuple):
    """position (3,) and axis (3,) in the vehicle's body; radius, m."""

    position: FloatArray
    axis: FloatArray
    radius: float


def discs_of(vehicle: Multirotor) -> Iterator[Disc]:
    """One for each rotor, as large as leaves its neighbours room."""
    places = np.array([rotor.position for rotor in vehicle.rotors]).reshape(-1, 3)
    for rotor in vehicle.rotors:
        apart = np.linalg.norm(np.cross(places - rotor.position, rotor.axis), axis=1)
        nearest = float(apart[apart > _COAXIAL].min(initial=np.inf))
        yield Disc(rotor.position, rotor.axis, _PART * nearest if np.isfinite(nearest) else _ALONE)
