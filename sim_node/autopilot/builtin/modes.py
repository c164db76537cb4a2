"""The modes of the built-in autopilot. Their names and numbers on the wire: sim_node.autopilot.modes."""

from __future__ import annotations

from enum import IntEnum

from sim_node.autopilot.modes import GENERIC_MODES


class Mode(IntEnum):
    """What it does by itself: a mission, what it is told, staying, going home, landing."""

    AUTO = GENERIC_MODES["AUTO"]
    GUIDED = GENERIC_MODES["GUIDED"]
    HOLD = GENERIC_MODES["HOLD"]
    RTL = GENERIC_MODES["RTL"]
    LAND = GENERIC_MODES["LAND"]
