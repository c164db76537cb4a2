"""Every function of DroneKit that a multirotor is flown by."""

from __future__ import annotations

import sys

# Before DroneKit, which needs the names that it puts back.
from for_dronekit import until

# isort: split
import dronekit
from pymavlink import mavutil
from stepwise import did


def velocity(vehicle, north: float, east: float, down: float) -> None:  # type: ignore[no-untyped-def]
    """As DroneKit's guide has it."""
    vehicle.send_mavlink(
        vehicle.message_factory.set_position_target_local_ned_encode(
            0, 0, 0, mavutil.mavlink.MAV_FRAME_LOCAL_NED, 0b0000111111000111, 0, 0, 0, north, east, down, 0, 0, 0, 0, 0
        )
    )


vehicle = dronekit.connect(f"udpin:{sys.argv[1]}", wait_ready=True, timeout=60)
did("connect", version=str(vehicle.version))
until(lambda: vehicle.is_armable, "armable")
did("health", volts=vehicle.battery.voltage)
vehicle.parameters["RTL_ALT"] = 700
did("parameters", value=vehicle.parameters["RTL_ALT"], speed=vehicle.parameters["WPNAV_SPEED"])

vehicle.mode = dronekit.VehicleMode("GUIDED")
until(lambda: vehicle.mode.name == "GUIDED", "GUIDED")
vehicle.armed = True
until(lambda: vehicle.armed, "armed")
did("arm")
vehicle.simple_takeoff(4)
until(lambda: vehicle.location.global_relative_frame.alt > 3.8, "takeoff")
did("takeoff")

at = vehicle.location.global_relative_frame
vehicle.simple_goto(dronekit.LocationGlobalRelative(at.lat + 9e-5, at.lon, 5.0))
did("goto", latitude=at.lat + 9e-5, longitude=at.lon)
vehicle.groundspeed = 2.0
vehicle.simple_goto(dronekit.LocationGlobalRelative(at.lat, at.lon + 1.3e-4, 6.0))
did("goto slowly", latitude=at.lat, longitude=at.lon + 1.3e-4)
vehicle.airspeed = 4.0
velocity(vehicle, 1.5, -1.0, 0.0)
did("velocity")
velocity(vehicle, 0.0, 0.0, 0.0)
yaw = vehicle.message_factory.command_long_encode(0, 0, mavutil.mavlink.MAV_CMD_CONDITION_YAW, 0, 210, 0, 1, 0, 0, 0, 0)
vehicle.send_mavlink(yaw)
did("yaw")

commands = vehicle.commands
commands.download()
commands.wait_ready()
home = vehicle.home_location
commands.clear()
frame = mavutil.mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT
for number, latitude, longitude, height in (
    (mavutil.mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 5),
    (mavutil.mavlink.MAV_CMD_NAV_WAYPOINT, home.lat + 9e-5, home.lon, 5),
    (mavutil.mavlink.MAV_CMD_NAV_WAYPOINT, home.lat + 9e-5, home.lon + 1.3e-4, 6),
):
    commands.add(dronekit.Command(0, 0, 0, frame, number, 0, 0, 0, 0, 0, 0, latitude, longitude, height))
commands.upload()
commands.download()
commands.wait_ready()
did("mission transfer", items=[[item.x, item.y, item.z] for item in commands], home=[home.lat, home.lon, home.alt])
commands.next = 0  # as DroneKit's own example begins a mission: with home
vehicle.mode = dronekit.VehicleMode("AUTO")
until(lambda: vehicle.mode.name == "AUTO", "AUTO")
until(lambda: commands.next == 3, "the last item")
did("mission")
vehicle.mode = dronekit.VehicleMode("RTL")
until(lambda: vehicle.mode.name == "RTL", "RTL")
did("return")
until(lambda: not vehicle.armed, "landing")
did("landed")
vehicle.mode = dronekit.VehicleMode("GUIDED")
until(lambda: vehicle.mode.name == "GUIDED", "GUIDED")
vehicle.armed = True
until(lambda: vehicle.armed, "armed")
vehicle.simple_takeoff(3)
until(lambda: vehicle.location.global_relative_frame.alt > 2.8, "takeoff")
vehicle.mode = dronekit.VehicleMode("LAND")
until(lambda: not vehicle.armed, "landing")
did("land")
vehicle.close()
