"""The autopilots' simulator interfaces, step by step."""

from sim_node.autopilot.lockstep.ardupilot import ArduPilot
from sim_node.autopilot.lockstep.autopilot import AUTOPILOTS, Autopilot, Commands, Wait, autopilot
from sim_node.autopilot.lockstep.mavlink_builtin import MavlinkBuiltin
from sim_node.autopilot.lockstep.px4 import Px4
from sim_node.autopilot.lockstep.samples import Fix, Sample

__all__ = [
    "AUTOPILOTS",
    "ArduPilot",
    "Autopilot",
    "Commands",
    "Fix",
    "MavlinkBuiltin",
    "Px4",
    "Sample",
    "Wait",
    "autopilot",
]
