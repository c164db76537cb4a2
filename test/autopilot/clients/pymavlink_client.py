"""The functions of pymavlink's mavutil, mavparm and mavwp that a multirotor is flown by."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path

os.environ["MAVLINK20"] = "1"

import stepwise
from pymavlink import mavparm, mavutil, mavwp

mavlink = mavutil.mavlink
PATIENCE = 120.0


def did(what: str, **found: object) -> None:
    """Report a step, and receive until it was checked: a socket that nobody reads drops what is sent next."""
    report = threading.Thread(target=stepwise.did, args=(what,), kwargs=found)
    report.start()
    while report.is_alive():
        station.recv_match(blocking=True, timeout=0.1)


def heard(name: str, condition: str | None = None):  # type: ignore[no-untyped-def]
    """The next message of a kind that fits."""
    message = station.recv_match(type=name, condition=condition, blocking=True, timeout=PATIENCE)
    if message is None:
        sys.exit(f"not within two minutes: {name} {condition or ''}")
    return message


def accepted(command: int) -> None:
    ack = heard("COMMAND_ACK", f"COMMAND_ACK.command=={command}")
    if ack.result != mavlink.MAV_RESULT_ACCEPTED:
        sys.exit(f"command {command}: result {ack.result}")


def mode(name: str) -> None:
    """By its name in the list that mavutil has for this kind of autopilot."""
    station.set_mode(name)
    accepted(mavlink.MAV_CMD_DO_SET_MODE)
    while station.flightmode != name:
        station.wait_heartbeat()


station = mavutil.mavlink_connection(f"udpin:{sys.argv[1].removeprefix('udpin://')}")
if station.wait_heartbeat(timeout=PATIENCE) is None:
    sys.exit("no heartbeat")
station.wait_gps_fix()
home = heard("HOME_POSITION")
did("connect")

station.param_fetch_all()
count = heard("PARAM_VALUE").param_count
while len(station.params) < count:
    heard("PARAM_VALUE")
parameters = mavparm.MAVParmDict()
for name, value in (("MIS_TAKEOFF_ALT", 4.0), ("RTL_RETURN_ALT", 7.0)):
    if not parameters.mavset(station, name, value):
        sys.exit(f"{name} cannot be set")
did("parameters", value=station.params["MIS_TAKEOFF_ALT"])

mode("TAKEOFF")
station.arducopter_arm()
accepted(mavlink.MAV_CMD_COMPONENT_ARM_DISARM)
station.motors_armed_wait()
did("arm")
heard("GLOBAL_POSITION_INT", "GLOBAL_POSITION_INT.relative_alt>3800")
did("takeoff")

latitude, longitude = home.latitude * 1e-7, home.longitude * 1e-7
station.mav.command_int_send(
    station.target_system,
    station.target_component,
    mavlink.MAV_FRAME_GLOBAL,
    mavlink.MAV_CMD_DO_REPOSITION,
    0,
    0,
    -1.0,
    mavlink.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE,
    0.0,
    float("nan"),
    home.latitude + 900,
    home.longitude,
    home.altitude * 1e-3 + 5.0,
)
accepted(mavlink.MAV_CMD_DO_REPOSITION)
did("goto")

# A file as Mission Planner saves it, read by mavwp.
rows = (
    (mavlink.MAV_CMD_NAV_WAYPOINT, 0, latitude, longitude, 0),
    (mavlink.MAV_CMD_NAV_WAYPOINT, 3, latitude + 9e-5, longitude, 5),
    (mavlink.MAV_CMD_NAV_WAYPOINT, 3, latitude + 9e-5, longitude + 1.3e-4, 6),
)
lines = [f"{i}\t0\t{frame}\t{c}\t0\t0\t0\t0\t{x:.9f}\t{y:.9f}\t{z}\t1\n" for i, (c, frame, x, y, z) in enumerate(rows)]
plan = mavwp.MAVWPLoader(station.target_system, station.target_component)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "mission.waypoints"
    path.write_text("QGC WPL 110\n" + "".join(lines))
    plan.load(str(path))
plan.remove(plan.wp(0))  # PX4's missions have no home
station.waypoint_clear_all_send()
heard("MISSION_ACK")
station.waypoint_count_send(plan.count())
while True:
    answer = heard(["MISSION_REQUEST", "MISSION_REQUEST_INT", "MISSION_ACK"])
    if answer.get_type() == "MISSION_ACK":
        break
    station.mav.send(mavutil.mavlink.MAVLink_mission_item_int_message(
        *(getattr(plan.wp(answer.seq), name) for name in (
            "target_system", "target_component", "seq", "frame", "command", "current", "autocontinue",
            "param1", "param2", "param3", "param4")),
        round(plan.wp(answer.seq).x * 1e7), round(plan.wp(answer.seq).y * 1e7), plan.wp(answer.seq).z,
    ))  # fmt: skip
if answer.type != mavlink.MAV_MISSION_ACCEPTED:
    sys.exit(f"the mission is refused: {answer.type}")
station.waypoint_request_list_send()
received = []
for number in range(heard("MISSION_COUNT").count):
    station.waypoint_request_send(number)
    item = heard(["MISSION_ITEM", "MISSION_ITEM_INT"])
    scale = 1e-7 if item.get_type() == "MISSION_ITEM_INT" else 1.0
    received.append([item.x * scale, item.y * scale, item.z])
did("mission transfer", items=received)

mode("MISSION")
heard("MISSION_ITEM_REACHED", f"MISSION_ITEM_REACHED.seq=={plan.count() - 1}")
did("mission")
station.set_mode_rtl()
accepted(mavlink.MAV_CMD_NAV_RETURN_TO_LAUNCH)
did("return")
station.motors_disarmed_wait()
did("landed")
station.close()
