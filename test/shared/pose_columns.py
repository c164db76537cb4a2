"""Columns with the poses of some frames, for engines that are tested without a Simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_node.simulation.columns import Column, Columns


def pose_columns(names: Sequence[str]) -> Columns:
    columns = Columns()
    pose = Column("pose", tuple(names), (7,), state=False, shared=True)
    columns.compute(pose, lambda: (np.zeros((len(names), 7)),))
    return columns
