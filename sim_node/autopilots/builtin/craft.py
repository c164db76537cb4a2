"""What kinds of vehicles differ in: the tasks that they carry out, and the commands that follow from them."""

from __future__ import annotations

from sim_node.autopilots.builtin.multirotor import MultirotorCraft
from sim_node.autopilots.builtin.rover import RoverCraft
from sim_node.autopilots.builtin.vehicle_parameters import Chassis, VehicleParameters

Craft = MultirotorCraft | RoverCraft


def craft_of(parameters: VehicleParameters) -> Craft:
    """Return the craft of a vehicle."""
    if isinstance(parameters.airframe, Chassis):
        return RoverCraft(parameters, parameters.airframe)
    return MultirotorCraft(parameters, parameters.airframe)
