"""MAVSDK beside another program that flies the same vehicle: takes off, hands over, and lands where that has gone."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import mavsdk
from stepwise import did


async def first(stream: Any, fits: Any = lambda value: True) -> Any:
    """The first of a stream's values that fits."""
    async for value in stream:
        if fits(value):
            return value
    return None


async def fly(address: str, port: int) -> None:
    drone = mavsdk.System(port=port)
    await drone.connect(system_address=address)
    await first(drone.core.connection_state(), lambda state: state.is_connected)
    await first(drone.telemetry.health_all_ok(), bool)
    await drone.action.set_takeoff_altitude(4.0)
    await drone.action.arm()
    await drone.action.takeoff()
    await first(drone.telemetry.landed_state(), lambda state: str(state) == "IN_AIR")
    did("takeoff")
    at = await first(drone.telemetry.position_velocity_ned())
    did("position", north=at.position.north_m, east=at.position.east_m)
    await drone.action.land()
    did("land")
    await first(drone.telemetry.armed(), lambda armed: not armed)


asyncio.run(fly(sys.argv[1], int(sys.argv[2])))
