"""Vehicle parameters from a world or a run, and missions of its pilots as MAVLink items."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sim_node.autopilots.builtin.mission import DO_JUMP, FOREVER
from sim_node.autopilots.builtin.vehicle_parameters import Chassis, Item, VehicleParameters
from sim_node.mavlink.mission.items import item_fields, numbered
from sim_node.simulation import Simulation
from sim_node.spatial.frames import Frame, Position, YawEnu, coarse_geoid_undulation
from sim_node.world import Autopilot, Multirotor, Pilot, World
from sim_node.world.autopilots import Vehicle
from sim_node.world.base_types.kinds import Ackermann
from sim_node.world.bases import Base, BasePilot
from sim_node.world.vehicles import BUILTIN

_GLOBAL_INT = 5  # MAV_FRAME
_WAYPOINT, _RETURN, _TAKEOFF, _LAND, _SPEED = 16, 20, 22, 21, 178


class _Origin(NamedTuple):
    """Origin of a world.

    Attributes:
        place: Latitude and longitude (degrees), altitude (m) above the ellipsoid.
        undulation: Height of the geoid above the ellipsoid there, m.
    """

    place: tuple[float, float, float]
    undulation: float


def parameters_of(simulation: Simulation, vehicle: Vehicle, rate: float) -> VehicleParameters:
    """Return the parameters of a vehicle in a run.

    Args:
        simulation: The run.
        vehicle: The vehicle, in a world with an origin.
        rate: Rate of the measurements that its autopilot receives, Hz.
    """
    autopilot, world = vehicle.autopilot or Autopilot(BUILTIN), simulation.world
    assert world.origin is not None, "a vehicle with a gps is somewhere on Earth"
    place = world.origin.latitude, world.origin.longitude, world.origin.altitude
    origin = _Origin(place, float(coarse_geoid_undulation(place[0], place[1])))
    if isinstance(vehicle, Base):
        own = _of_rover(simulation, vehicle, origin)
    else:
        own = _of_multirotor(simulation, vehicle, origin)
    return VehicleParameters(
        name=vehicle.name,
        rate=rate,
        gravity=float(np.linalg.norm(world.physics.gravity)),
        origin=origin.place,
        undulation=origin.undulation,
        links=autopilot.links,
        like=autopilot.like,
        signing_key=str(autopilot.signing_key or ""),
        **own,
    )


def _of_multirotor(simulation: Simulation, vehicle: Multirotor, origin: _Origin) -> dict[str, Any]:
    flown, pilot = simulation.vehicles[vehicle.name], vehicle.pilot or Pilot()
    x, y, z = flown.centre.tolist()
    return {
        "airframe": flown.airframe,
        "centre": (x, y, z),
        "speed": pilot.speed,
        "max_speed": max([pilot.speed, *(w.speed for w in pilot.waypoints if w.speed is not None)]),
        "acceleration": pilot.acceleration,
        "landing_speed": pilot.landing_speed,
        "yaw_rate": pilot.yaw_rate,
        "wait": pilot.wait,
        "mission": None if vehicle.pilot is None else _flight(flown.waypoints.tolist(), pilot, origin),
    }


def _of_rover(simulation: Simulation, base: Base, origin: _Origin) -> dict[str, Any]:
    limits, pilot, shape = base.limits, base.pilot or BasePilot(), base.shape
    tightest = shape.wheelbase / math.tan(shape.max_steering) if isinstance(shape, Ackermann) else 0.0
    turns = min(limits.angular_acceleration, 10.0 * limits.angular)
    speed = limits.linear if pilot.speed is None else pilot.speed
    height = float(simulation.bodies[base.body].pose[2])
    return {
        "airframe": Chassis(limits.linear, limits.angular, turns, tightest, shape.moves_sideways()),
        "centre": (0.0, 0.0, 0.0),
        "speed": speed,
        "max_speed": limits.linear,
        "acceleration": min(limits.linear_acceleration, limits.linear),
        "landing_speed": 0.0,
        "yaw_rate": limits.angular,
        "wait": pilot.wait,
        "mission": None if base.pilot is None else _drive(pilot, speed, height, origin),
    }


def parameters_in(world: World, vehicle: Vehicle) -> VehicleParameters:
    """Return the parameters of a vehicle in a world that is not run in this process."""
    from sim_node.autopilots.lockstep.samples import OnboardSensors

    simulation = Simulation(world)
    return parameters_of(simulation, vehicle, OnboardSensors(simulation, vehicle).rate)


def _flight(rows: list[list[float]], pilot: Pilot, origin: _Origin) -> tuple[Item, ...]:
    """Return the mission of a multirotor's pilot: its take-off, its waypoints, and the end that `after` names.

    Args:
        rows: Rows [x y z yaw speed hold radius] in the fixed frame, the take-off first.
        pilot: The pilot.
        origin: Origin of the world.
    """
    items = list(_legs(rows, origin, pilot.speed, first=_TAKEOFF))
    if pilot.after == "land":
        items.append(_item(_LAND))
    elif pilot.after == "loop" and len(rows) > 1:
        if rows[-1][4] != rows[1][4]:
            items.append(_item(_SPEED, 1.0, rows[1][4], -1.0))
        items.append(_item(DO_JUMP, 1.0, float(FOREVER)))
    return tuple(numbered(items))


def _drive(pilot: BasePilot, speed: float, height: float, origin: _Origin) -> tuple[Item, ...]:
    """Return the mission of a base's pilot: its waypoints, and the end that `after` names.

    Args:
        pilot: The pilot.
        speed: Speed where a waypoint has none, m/s.
        height: Height of the waypoints in the fixed frame, m.
        origin: Origin of the world.
    """
    rows = [
        (
            *(*each.position, height),
            *(math.nan if each.yaw is None else each.yaw, speed if each.speed is None else each.speed),
            *(each.hold, each.radius),
        )
        for each in pilot.waypoints
    ]
    items = list(_legs(rows, origin))
    if pilot.after == "return":
        items.append(_item(_RETURN))
    elif pilot.after == "loop" and items:
        items.append(_item(DO_JUMP, 0.0, float(FOREVER)))
    return tuple(numbered(items))


def _legs(
    rows: Sequence[Sequence[float]], origin: _Origin, speed: float | None = None, first: int = _WAYPOINT
) -> Iterator[Item]:
    """Yield the items of waypoints, with changes of speed between them.

    Args:
        rows: Rows [x y z yaw speed hold radius] in m, rad (or NaN), m/s, s and m.
        origin: Origin of the world.
        speed: Speed that is set already, m/s.
        first: MAV_CMD of the first row.
    """
    for number, (x, y, z, yaw, fast, hold, radius) in enumerate(rows):
        if fast != speed:
            yield _item(_SPEED, 1.0, fast, -1.0)
            speed = fast
        lla = Position((x, y, z), Frame.ENU, origin.place).to(Frame.LLA)
        latitude, longitude, altitude = lla.in_frame(Frame.LLA).tolist()
        place = {"x": round(latitude * 1e7), "y": round(longitude * 1e7), "z": altitude - origin.undulation}
        item = _item(_WAYPOINT, hold, radius) if number or first == _WAYPOINT else _item(first)
        yield item | place | {"param4": math.degrees(YawEnu(yaw).to_ned().radians)}


def _item(command: int, *params: float) -> dict[str, Any]:
    return item_fields(command, _GLOBAL_INT, params)
