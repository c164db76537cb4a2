"""Every function of DroneKit that a rover is driven by."""

from __future__ import annotations

import sys

# Before DroneKit, which needs the names that it puts back.
from for_dronekit import until

# isort: split
import dronekit
from pymavlink import mavutil
from stepwise import did


def mode(vehicle, name: str) -> None:  # type: ignore[no-untyped-def]
    vehicle.mode = dronekit.VehicleMode(name)
    until(lambda: vehicle.mode.name == name, name)


def velocity(vehicle, ahead: float, turn: float) -> None:  # type: ignore[no-untyped-def]
    """Along the body, m/s, and a yaw rate clockwise, rad/s."""
    frame, mask = mavutil.mavlink.MAV_FRAME_BODY_NED, 0b0000010111000111
    vehicle.send_mavlink(
        vehicle.message_factory.set_position_target_local_ned_encode(
            0, 0, 0, frame, mask, 0, 0, 0, ahead, 0, 0, 0, 0, 0, 0, turn
        )
    )


vehicle = dronekit.connect(f"udpin:{sys.argv[1]}", wait_ready=True, timeout=60)
did("connect", version=str(vehicle.version))
until(lambda: vehicle.is_armable, "armable")
did("health", type=vehicle._vehicle_type)
vehicle.parameters["WP_SPEED"] = 1.5
did("parameters", value=vehicle.parameters["WP_SPEED"])
mode(vehicle, "GUIDED")
vehicle.armed = True
until(lambda: vehicle.armed, "armed")
did("arm")
home = vehicle.location.global_relative_frame
vehicle.simple_goto(dronekit.LocationGlobalRelative(home.lat + 4.5e-5, home.lon, 0.0))
did("goto")
vehicle.groundspeed = 1.0
vehicle.simple_goto(dronekit.LocationGlobalRelative(home.lat, home.lon, 0.0))
did("goto slowly")
velocity(vehicle, 1.0, 0.5)
did("velocity")
mode(vehicle, "HOLD")
did("hold")

commands = vehicle.commands
commands.download()
commands.wait_ready()
commands.clear()
frame = mavutil.mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT
for north, east in ((4.5e-5, 0.0), (4.5e-5, 6.5e-5)):
    place = home.lat + north, home.lon + east, 0
    commands.add(dronekit.Command(0, 0, 0, frame, mavutil.mavlink.MAV_CMD_NAV_WAYPOINT, 0, 0, 0, 0, 0, 0, *place))
commands.upload()
commands.download()
commands.wait_ready()
did("mission transfer", items=[[item.x, item.y] for item in commands])
commands.next = 1
mode(vehicle, "AUTO")
until(lambda: commands.next == 2, "the last item")
did("mission")
mode(vehicle, "RTL")
did("return")
vehicle.armed = False
until(lambda: not vehicle.armed, "disarmed")
did("disarm")
vehicle.close()
