"""Autopilots: lockstep with PX4 and ArduPilot, and the built-in one."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.autopilots.vehicle_co_simulator import VehicleCoSimulator as VehicleCoSimulator
    from sim_node.autopilots.vehicle_co_simulator import attach_autopilots as attach_autopilots
