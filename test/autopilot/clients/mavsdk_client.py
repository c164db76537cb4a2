"""Every function of MAVSDK that a multirotor is flown by: mavsdk (3.x) and mavsdk-grpc (4.x) alike."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from stepwise import did

try:
    import mavsdk
    from mavsdk import geofence, mission, offboard
except ImportError:
    import mavsdk_grpc as mavsdk
    from mavsdk_grpc import geofence, mission, offboard


async def first(stream: Any, fits: Any = lambda value: True) -> Any:
    """The first of a stream's values that fits."""
    async for value in stream:
        if fits(value):
            return value
    return None


async def settled(drone: Any, north: float, east: float, down: float) -> None:
    """Until telemetry has the vehicle within 0.3 m of a position, and slow."""

    def there(state: Any) -> bool:
        p, v = state.position, state.velocity
        off = max(abs(p.north_m - north), abs(p.east_m - east), abs(p.down_m - down))
        return off < 0.3 and abs(v.north_m_s) + abs(v.east_m_s) + abs(v.down_m_s) < 0.3

    await first(drone.telemetry.position_velocity_ned(), there)


async def mode(drone: Any, name: str) -> None:
    await first(drone.telemetry.flight_mode(), lambda found: str(found) == name)


def item(latitude: float, longitude: float, height: float, speed: float) -> Any:
    nan = float("nan")
    action = mission.MissionItem.CameraAction.NONE
    values = [latitude, longitude, height, speed, True, 20.0, nan, action, nan, nan, nan, nan, nan]
    vehicle_action = getattr(mission.MissionItem, "VehicleAction", None)
    return mission.MissionItem(*values, *([vehicle_action.NONE] if vehicle_action else []))


async def fly(address: str, port: int) -> None:
    drone = mavsdk.System(port=port)
    await drone.connect(system_address=address)
    await first(drone.core.connection_state(), lambda state: state.is_connected)
    did("connect", version=mavsdk.__name__)
    await first(drone.telemetry.health_all_ok(), bool)
    home = await first(drone.telemetry.home())
    did("health", home=[home.latitude_deg, home.longitude_deg, home.absolute_altitude_m])

    await drone.action.set_takeoff_altitude(4.0)
    await drone.param.set_param_float("MPC_XY_CRUISE", 4.0)
    floats = [await drone.action.get_takeoff_altitude(), await drone.param.get_param_float("MPC_XY_CRUISE")]
    whole = await drone.param.get_param_int("SYS_AUTOSTART")
    await drone.param.set_param_int("COM_DL_LOSS_T", 17)
    set_whole = await drone.param.get_param_int("COM_DL_LOSS_T")
    every = await drone.param.get_all_params()
    unknown = ""
    try:
        await drone.param.get_param_float("NO_SUCH")
    except Exception as error:
        unknown = str(error)
    did("parameters", floats=floats, ints=[whole, set_whole], unknown=unknown,
        count=len(every.int_params) + len(every.float_params))  # fmt: skip

    refused = ""
    try:
        await drone.action.return_to_launch()
    except Exception as error:
        refused = str(error)
    did("refusal", text=refused)

    await drone.action.arm()
    await first(drone.telemetry.armed(), bool)
    did("arm")
    await drone.action.takeoff()
    await first(drone.telemetry.landed_state(), lambda state: str(state) == "IN_AIR")
    await mode(drone, "HOLD")
    did("takeoff")

    at = await first(drone.telemetry.position())
    altitude = at.absolute_altitude_m + 2.0
    await drone.action.goto_location(at.latitude_deg + 9e-5, at.longitude_deg, altitude, 90.0)
    height = altitude - home.absolute_altitude_m
    did("goto", latitude=at.latitude_deg + 9e-5, longitude=at.longitude_deg, height=height)
    await drone.action.hold()
    await mode(drone, "HOLD")
    did("hold")

    no_setpoint = ""
    try:
        await drone.offboard.start()
    except Exception as error:
        no_setpoint = str(error)
    await drone.offboard.set_position_ned(offboard.PositionNedYaw(0.0, 5.0, -5.0, 0.0))
    await drone.offboard.start()
    await mode(drone, "OFFBOARD")
    await settled(drone, 0.0, 5.0, -5.0)
    did("offboard position", refused=no_setpoint)
    await drone.offboard.set_velocity_ned(offboard.VelocityNedYaw(1.5, -1.0, 0.0, 90.0))
    did("offboard velocity")
    await drone.offboard.set_velocity_body(offboard.VelocityBodyYawspeed(1.0, 0.0, 0.0, 20.0))
    did("offboard body velocity")
    await drone.offboard.set_attitude(offboard.Attitude(0.0, -5.0, 90.0, 0.5))
    did("offboard attitude")
    await drone.offboard.set_position_ned(offboard.PositionNedYaw(0.0, 0.0, -5.0, 0.0))
    await settled(drone, 0.0, 0.0, -5.0)
    await drone.offboard.stop()
    await mode(drone, "HOLD")
    did("offboard stop")

    plan = [
        item(home.latitude_deg + 9e-5, home.longitude_deg, 5.0, 3.0),
        item(home.latitude_deg + 9e-5, home.longitude_deg + 1.3e-4, 6.0, 3.0),
    ]
    await drone.mission.set_return_to_launch_after_mission(False)
    await drone.mission.upload_mission(mission.MissionPlan(plan))
    back = await drone.mission.download_mission()
    did(
        "mission transfer", items=[[i.latitude_deg, i.longitude_deg, i.relative_altitude_m] for i in back.mission_items]
    )
    await drone.mission.start_mission()
    await first(drone.mission.mission_progress(), lambda progress: progress.current == progress.total == 2)
    finished = await drone.mission.is_mission_finished()
    did("mission", finished=finished)
    await drone.mission.clear_mission()

    corner = 3e-4
    points = [geofence.Point(home.latitude_deg + a * corner, home.longitude_deg + b * corner)
              for a, b in ((1, 1), (1, -1), (-1, -1), (-1, 1))]  # fmt: skip
    polygon = geofence.Polygon(points, geofence.FenceType.INCLUSION)
    await drone.geofence.upload_geofence(geofence.GeofenceData([polygon], []))
    did("geofence")
    await drone.geofence.clear_geofence()

    await drone.action.set_return_to_launch_altitude(7.0)
    await drone.action.return_to_launch()
    await mode(drone, "RETURN_TO_LAUNCH")
    did("return")
    await first(drone.telemetry.armed(), lambda armed: not armed)
    did("landed")
    await drone.action.arm()
    await drone.action.takeoff()
    await first(drone.telemetry.landed_state(), lambda state: str(state) == "IN_AIR")
    await drone.action.land()
    await mode(drone, "LAND")
    await first(drone.telemetry.armed(), lambda armed: not armed)
    battery = await first(drone.telemetry.battery())
    did("land", battery=battery.remaining_percent, volts=battery.voltage_v)


asyncio.run(fly(sys.argv[1], int(sys.argv[2])))
