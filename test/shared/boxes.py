"""Boxes that float, for worlds that change while they run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_node.world import Body, Geometry
from sim_node.world.model import TimeGrid
from sim_node.world.physics import Physics

HERE = np.eye(7)[6]
GRID = TimeGrid(0, 4_000_000)
WEIGHTLESS = Physics(gravity=np.zeros(3), timestep_ns=2_000_000)


def box(name: str, at: Sequence[float] = (0, 0, 0), qd: Sequence[float] = (0,) * 6, mass: float = 1.0) -> Body:
    q = np.array([*at, 0, 0, 0, 1])
    return Body(name, "map", "free", q=q, qd=np.array(qd), geometry=(Geometry("box", np.array([1, 0.7, 0.4]), mass),))
