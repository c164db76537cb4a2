"""Simulator interfaces of autopilots, in lockstep."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.autopilots.lockstep.ardupilot import ArduPilot as ArduPilot
    from sim_node.autopilots.lockstep.autopilot import AUTOPILOTS as AUTOPILOTS
    from sim_node.autopilots.lockstep.autopilot import Commands as Commands
    from sim_node.autopilots.lockstep.autopilot import LockstepAutopilot as LockstepAutopilot
    from sim_node.autopilots.lockstep.autopilot import LockstepWait as LockstepWait
    from sim_node.autopilots.lockstep.autopilot import autopilot as autopilot
    from sim_node.autopilots.lockstep.mavlink_builtin import MavlinkBuiltin as MavlinkBuiltin
    from sim_node.autopilots.lockstep.px4 import Px4 as Px4
    from sim_node.autopilots.lockstep.samples import Fix as Fix
    from sim_node.autopilots.lockstep.samples import Sample as Sample
