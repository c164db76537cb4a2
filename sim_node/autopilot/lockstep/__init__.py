"""Simulator interfaces of autopilots, in lockstep."""

from sim_node.autopilot.lockstep.ardupilot import ArduPilot
from sim_node.autopilot.lockstep.autopilot import AUTOPILOTS, Commands, LockstepAutopilot, LockstepWait, autopilot
from sim_node.autopilot.lockstep.mavlink_builtin import MavlinkBuiltin
from sim_node.autopilot.lockstep.px4 import Px4
from sim_node.autopilot.lockstep.samples import Fix, Sample

__all__ = [
    "AUTOPILOTS",
    "ArduPilot",
    "Commands",
    "Fix",
    "LockstepAutopilot",
    "LockstepWait",
    "MavlinkBuiltin",
    "Px4",
    "Sample",
    "autopilot",
]
