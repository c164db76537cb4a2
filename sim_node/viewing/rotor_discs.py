"""The discs that the propellers of multirotors sweep, as shapes of a MuJoCo specification."""

from __future__ import annotations

import mujoco
import numpy as np

from sim_node.world.vehicles import Multirotor

_COLOUR = (0.16, 0.18, 0.22, 0.32)
# Of the distance to the nearest other rotor: a vehicle does not say how long its propellers are.
_RADIUS, _ALONE, _HALF_HEIGHT = 0.46, 0.15, 0.004


def add_rotor_discs(spec: mujoco.MjSpec, vehicle: Multirotor) -> None:
    """Adds a disc for each rotor to its vehicle's body."""
    positions = np.array([rotor.position for rotor in vehicle.rotors])
    apart = np.linalg.norm(positions[:, None] - positions, axis=2)
    np.fill_diagonal(apart, np.inf)
    for rotor, nearest in zip(vehicle.rotors, apart.min(axis=1), strict=True):
        spec.body(vehicle.body).add_geom(
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            size=[_RADIUS * nearest if np.isfinite(nearest) else _ALONE, _HALF_HEIGHT, 0.0],
            pos=rotor.position,
            zaxis=rotor.axis,
            rgba=_COLOUR,
            contype=0,
            conaffinity=0,
            mass=0.0,
        )
