"""The geometry of PX4's airframe 10016_none_iris, as its parameters say it."""

from __future__ import annotations

import numpy as np

from sim_node.simulation.control.airframe import Airframe

# CA_ROTORn_PX, PY, KM: x forward, y right, KM above zero for counter-clockwise.
PX4_10016 = np.array(
    [[0.1515, 0.245, 0.05], [-0.1515, -0.1875, 0.05], [0.1515, -0.245, -0.05], [-0.1515, 0.1875, -0.05]]
)


def iris(lag: float = 0.025) -> Airframe:
    return Airframe(
        mass=1.5,
        inertia=np.diag([0.029125, 0.029125, 0.055225]),
        positions=np.array([[x, -y, 0.03] for x, y, _ in PX4_10016]),
        axes=np.tile([0.0, 0.0, 1.0], (4, 1)),
        moments=-PX4_10016[:, 2],
        coefficients=np.full(4, 5.84e-6),
        slowest=np.zeros(4),
        fastest=np.full(4, 1100.0),
        lag=lag,
    )
