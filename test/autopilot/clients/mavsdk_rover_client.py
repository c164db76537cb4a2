"""Every function of MAVSDK that a rover is driven by: mavsdk (3.x)."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import mavsdk
from mavsdk import mission, offboard
from stepwise import did


async def first(stream: Any, fits: Any = lambda value: True) -> Any:
    """The first of a stream's values that fits."""
    async for value in stream:
        if fits(value):
            return value
    return None


async def mode(rover: Any, name: str) -> None:
    await first(rover.telemetry.flight_mode(), lambda found: str(found) == name)


def item(latitude: float, longitude: float, speed: float, stay: float) -> Any:
    nan = float("nan")
    none = mission.MissionItem.CameraAction.NONE
    values = [latitude, longitude, 0.0, speed, False, nan, nan, none, stay, nan, 0.3, nan, nan]
    return mission.MissionItem(*values, mission.MissionItem.VehicleAction.NONE)


async def drive(address: str, port: int) -> None:
    rover = mavsdk.System(port=port)
    await rover.connect(system_address=address)
    await first(rover.core.connection_state(), lambda state: state.is_connected)
    did("connect")
    await first(rover.telemetry.health_all_ok(), bool)
    home = await first(rover.telemetry.home())
    did("health")
    await rover.param.set_param_float("RO_SPEED_LIM", 1.5)
    every = await rover.param.get_all_params()
    did("parameters", value=await rover.param.get_param_float("RO_SPEED_LIM"),
        type=await rover.param.get_param_int("MAV_TYPE"),
        count=len(every.int_params) + len(every.float_params))  # fmt: skip

    refused = ""
    try:
        await rover.action.takeoff()
    except Exception as error:
        refused = str(error)
    did("refusal", text=refused)

    await rover.action.arm()
    await first(rover.telemetry.armed(), bool)
    did("arm")
    await rover.action.goto_location(home.latitude_deg + 4.5e-5, home.longitude_deg, home.absolute_altitude_m, 90.0)
    did("goto")
    await rover.action.hold()
    await mode(rover, "HOLD")
    did("hold")

    await rover.offboard.set_position_ned(offboard.PositionNedYaw(5.0, 3.0, 0.0, 180.0))
    await rover.offboard.start()
    await mode(rover, "OFFBOARD")
    did("offboard position")
    await rover.offboard.set_velocity_ned(offboard.VelocityNedYaw(0.0, -1.0, 0.0, 270.0))
    did("offboard velocity")
    await rover.offboard.set_velocity_body(offboard.VelocityBodyYawspeed(1.0, 0.0, 0.0, 30.0))
    did("offboard body velocity")
    await rover.offboard.stop()
    await mode(rover, "HOLD")
    did("offboard stop")

    plan = [
        item(home.latitude_deg + 4.5e-5, home.longitude_deg, 1.0, 0.0),
        item(home.latitude_deg + 4.5e-5, home.longitude_deg + 6.5e-5, 2.0, 1.0),
    ]
    await rover.mission.set_return_to_launch_after_mission(False)
    await rover.mission.upload_mission(mission.MissionPlan(plan))
    back = await rover.mission.download_mission()
    did("mission transfer", items=[[i.latitude_deg, i.longitude_deg, i.speed_m_s] for i in back.mission_items])
    await rover.mission.start_mission()
    await first(rover.mission.mission_progress(), lambda progress: progress.current == progress.total == 2)
    did("mission", finished=await rover.mission.is_mission_finished())

    await rover.action.return_to_launch()
    await mode(rover, "RETURN_TO_LAUNCH")
    did("return")
    await rover.action.disarm()
    await first(rover.telemetry.armed(), lambda armed: not armed)
    did("disarm")


asyncio.run(drive(sys.argv[1], int(sys.argv[2])))
