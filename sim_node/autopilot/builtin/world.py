"""The craft of a vehicle in a run: what its world says of it, and its pilot's mission as MAVLink has it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sim_node.autopilot.builtin.mission import DO_JUMP, FOREVER
from sim_node.autopilot.builtin.vehicle_parameters import VehicleParameters
from sim_node.frames import Frame, Position, YawEnu, coarse_geoid_undulation
from sim_node.simulation import Simulation
from sim_node.world import Multirotor, Pilot, World
from sim_node.world.vehicles import LIKE

_GLOBAL_INT = 5  # MAV_FRAME
_WAYPOINT, _TAKEOFF, _LAND, _SPEED = 16, 22, 21, 178


def parameters_of(simulation: Simulation, vehicle: Multirotor, rate: float) -> VehicleParameters:
    """Return the parameters of a vehicle in a run. rate: of the measurements that it gets, Hz."""
    flown, pilot = simulation.vehicles[vehicle.name], vehicle.pilot or Pilot()
    world = simulation.world
    assert world.origin is not None, "a vehicle with a gps is somewhere on Earth"
    origin = world.origin.latitude, world.origin.longitude, world.origin.altitude
    undulation = float(coarse_geoid_undulation(origin[0], origin[1]))
    x, y, z = flown.centre.tolist()
    return VehicleParameters(
        name=vehicle.name,
        airframe=flown.airframe,
        centre=(x, y, z),
        rate=rate,
        gravity=float(np.linalg.norm(world.physics.gravity)),
        origin=origin,
        undulation=undulation,
        speed=pilot.speed,
        max_speed=max([pilot.speed, *(w.speed for w in pilot.waypoints if w.speed is not None)]),
        acceleration=pilot.acceleration,
        landing_speed=pilot.landing_speed,
        yaw_rate=pilot.yaw_rate,
        wait=pilot.wait,
        mission=None if vehicle.pilot is None else tuple(_items(flown.waypoints.tolist(), pilot, origin, undulation)),
        links=() if vehicle.autopilot is None else vehicle.autopilot.links,
        like=LIKE[0] if vehicle.autopilot is None else vehicle.autopilot.like,
        signing_key="" if vehicle.autopilot is None else str(vehicle.autopilot.signing_key or ""),
    )


def parameters_in(world: World, vehicle: Multirotor) -> VehicleParameters:
    """That of a vehicle in a world that is not being run here."""
    from sim_node.autopilot.lockstep.samples import OnboardSensors

    simulation = Simulation(world)
    return parameters_of(simulation, vehicle, OnboardSensors(simulation, vehicle).rate)


def _items(
    rows: list[list[float]], pilot: Pilot, origin: tuple[float, float, float], undulation: float
) -> list[dict[str, Any]]:
    """A pilot's take-off and waypoints, [x y z yaw speed hold radius] in the fixed frame, as MISSION_ITEM_INTs."""
    items: list[dict[str, Any]] = []
    speed = pilot.speed
    for number, (x, y, z, yaw, fast, hold, radius) in enumerate(rows):
        if fast != speed:
            items.append(_item(_SPEED, 1.0, fast, -1.0))
            speed = fast
        lla = Position((x, y, z), Frame.ENU, origin).to(Frame.LLA)
        latitude, longitude, altitude = lla.in_frame(Frame.LLA).tolist()
        degrees = math.degrees(YawEnu(yaw).to_ned().radians)
        item = _item(_TAKEOFF) if number == 0 else _item(_WAYPOINT, hold, radius)
        place = {"x": round(latitude * 1e7), "y": round(longitude * 1e7), "z": altitude - undulation}
        items.append(item | place | {"param4": degrees})
    if pilot.after == "land":
        items.append(_item(_LAND))
    elif pilot.after == "loop" and len(rows) > 1:
        if speed != rows[1][4]:
            items.append(_item(_SPEED, 1.0, rows[1][4], -1.0))
        items.append(_item(DO_JUMP, 1.0, float(FOREVER)))
    return [item | {"seq": seq, "current": int(seq == 0)} for seq, item in enumerate(items)]


def _item(command: int, *params: float) -> dict[str, Any]:
    values = [*params, *[0.0] * (4 - len(params))]
    fields = {f"param{number}": value for number, value in enumerate(values, start=1)}
    return {"frame": _GLOBAL_INT, "command": command, "autocontinue": 1, **fields, "x": 0, "y": 0, "z": 0.0}
