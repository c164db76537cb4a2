"""Simulator interfaces of autopilots, in lockstep."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.autopilot.lockstep.ardupilot import ArduPilot as ArduPilot
    from sim_node.autopilot.lockstep.autopilot import AUTOPILOTS as AUTOPILOTS
    from sim_node.autopilot.lockstep.autopilot import Commands as Commands
    from sim_node.autopilot.lockstep.autopilot import LockstepAutopilot as LockstepAutopilot
    from sim_node.autopilot.lockstep.autopilot import LockstepWait as LockstepWait
    from sim_node.autopilot.lockstep.autopilot import autopilot as autopilot
    from sim_node.autopilot.lockstep.mavlink_builtin import MavlinkBuiltin as MavlinkBuiltin
    from sim_node.autopilot.lockstep.px4 import Px4 as Px4
    from sim_node.autopilot.lockstep.samples import Fix as Fix
    from sim_node.autopilot.lockstep.samples import Sample as Sample
