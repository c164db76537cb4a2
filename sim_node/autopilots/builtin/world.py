"""The craft of a vehicle in a run: what its world says of it, and its pilot's mission as MAVLink has it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.autopilots.builtin.mission import DO_JUMP, FOREVER
from sim_node.autopilots.builtin.vehicle_parameters import Chassis, VehicleParameters
from sim_node.simulation import Simulation
from sim_node.spatial.frames import Frame, Position, YawEnu, coarse_geoid_undulation
from sim_node.world import Autopilot, Multirotor, Pilot, World
from sim_node.world.autopilots import Vehicle
from sim_node.world.base_types.kinds import Ackermann
from sim_node.world.bases import Base, BasePilot
from sim_node.world.vehicles import BUILTIN

_GLOBAL_INT = 5  # MAV_FRAME
_WAYPOINT, _RETURN, _TAKEOFF, _LAND, _SPEED = 16, 20, 22, 21, 178


def parameters_of(simulation: Simulation, vehicle: Vehicle, rate: float) -> VehicleParameters:
    """Return the parameters of a vehicle in a run. rate: of the measurements that it gets, Hz."""
    autopilot = vehicle.autopilot or Autopilot(BUILTIN)
    key = str(autopilot.signing_key or "")
    if isinstance(vehicle, Base):
        parameters = _of_rover(simulation, vehicle, rate)
    else:
        parameters = _of_multirotor(simulation, vehicle, rate)
    return replace(parameters, links=autopilot.links, like=autopilot.like, signing_key=key)


def _of_multirotor(simulation: Simulation, vehicle: Multirotor, rate: float) -> VehicleParameters:
    flown, pilot = simulation.vehicles[vehicle.name], vehicle.pilot or Pilot()
    origin, undulation = _origin_of(simulation.world)
    x, y, z = flown.centre.tolist()
    return VehicleParameters(
        name=vehicle.name,
        airframe=flown.airframe,
        centre=(x, y, z),
        rate=rate,
        gravity=float(np.linalg.norm(simulation.world.physics.gravity)),
        origin=origin,
        undulation=undulation,
        speed=pilot.speed,
        max_speed=max([pilot.speed, *(w.speed for w in pilot.waypoints if w.speed is not None)]),
        acceleration=pilot.acceleration,
        landing_speed=pilot.landing_speed,
        yaw_rate=pilot.yaw_rate,
        wait=pilot.wait,
        mission=None if vehicle.pilot is None else tuple(_items(flown.waypoints.tolist(), pilot, origin, undulation)),
    )


def _of_rover(simulation: Simulation, base: Base, rate: float) -> VehicleParameters:
    limits, pilot, shape = base.limits, base.pilot or BasePilot(), base.shape
    origin, undulation = _origin_of(simulation.world)
    tightest = shape.wheelbase / math.tan(shape.max_steering) if isinstance(shape, Ackermann) else 0.0
    turns = min(limits.angular_acceleration, 10.0 * limits.angular)
    speed = limits.linear if pilot.speed is None else pilot.speed
    height = float(simulation.bodies[base.body].pose[2])
    return VehicleParameters(
        name=base.name,
        airframe=Chassis(limits.linear, limits.angular, turns, tightest, shape.moves_sideways()),
        centre=(0.0, 0.0, 0.0),
        rate=rate,
        gravity=float(np.linalg.norm(simulation.world.physics.gravity)),
        origin=origin,
        undulation=undulation,
        speed=speed,
        max_speed=limits.linear,
        acceleration=min(limits.linear_acceleration, limits.linear),
        landing_speed=0.0,
        yaw_rate=limits.angular,
        wait=pilot.wait,
        mission=None if base.pilot is None else tuple(_route(pilot, speed, height, origin, undulation)),
    )


def _origin_of(world: World) -> tuple[tuple[float, float, float], float]:
    """Return latitude and longitude (degrees) and altitude (m) of a world's origin, and the undulation there (m)."""
    assert world.origin is not None, "a vehicle with a gps is somewhere on Earth"
    origin = world.origin.latitude, world.origin.longitude, world.origin.altitude
    return origin, float(coarse_geoid_undulation(origin[0], origin[1]))


def parameters_in(world: World, vehicle: Vehicle) -> VehicleParameters:
    """That of a vehicle in a world that is not being run here."""
    from sim_node.autopilots.lockstep.samples import OnboardSensors

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
        item = _item(_TAKEOFF) if number == 0 else _item(_WAYPOINT, hold, radius)
        items.append(item | _place((x, y, z), yaw, origin, undulation))
    if pilot.after == "land":
        items.append(_item(_LAND))
    elif pilot.after == "loop" and len(rows) > 1:
        if speed != rows[1][4]:
            items.append(_item(_SPEED, 1.0, rows[1][4], -1.0))
        items.append(_item(DO_JUMP, 1.0, float(FOREVER)))
    return _numbered(items)


def _route(
    pilot: BasePilot, speed: float, height: float, origin: tuple[float, float, float], undulation: float
) -> list[dict[str, Any]]:
    """Return the waypoints of a base's pilot, at a height (m) in the fixed frame, as MISSION_ITEM_INTs."""
    items: list[dict[str, Any]] = []
    now = speed
    for each in pilot.waypoints:
        fast = speed if each.speed is None else each.speed
        if fast != now or not items:
            items.append(_item(_SPEED, 1.0, fast, -1.0))
            now = fast
        item = _item(_WAYPOINT, each.hold, each.radius)
        yaw = math.nan if each.yaw is None else each.yaw
        items.append(item | _place((*each.position, height), yaw, origin, undulation))
    if pilot.after == "return":
        items.append(_item(_RETURN))
    elif pilot.after == "loop" and items:
        items.append(_item(DO_JUMP, 0.0, float(FOREVER)))
    return _numbered(items)


def _place(
    position: tuple[float, float, float], yaw: float, origin: tuple[float, float, float], undulation: float
) -> dict[str, Any]:
    """Return a position (m) and a yaw (rad, or NaN) in the fixed frame as fields of a MISSION_ITEM_INT."""
    lla = Position(position, Frame.ENU, origin).to(Frame.LLA)
    latitude, longitude, altitude = lla.in_frame(Frame.LLA).tolist()
    degrees = math.degrees(YawEnu(yaw).to_ned().radians)
    place = {"x": round(latitude * 1e7), "y": round(longitude * 1e7), "z": altitude - undulation}
    return place | {"param4": degrees}


def _numbered(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item | {"seq": seq, "current": int(seq == 0)} for seq, item in enumerate(items)]


def _item(command: int, *params: float) -> dict[str, Any]:
    values = [*params, *[0.0] * (4 - len(params))]
    fields = {f"param{number}": value for number, value in enumerate(values, start=1)}
    return {"frame": _GLOBAL_INT, "command": command, "autocontinue": 1, **fields, "x": 0, "y": 0, "z": 0.0}
