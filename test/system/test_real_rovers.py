"""The shipped rover, driven by PX4 and by ArduPilot's Rover themselves, in simulated time and against ground truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from real_flights import Flight, flight
from real_kinds import ARDUPILOT_ROVER, PX4_ROVER, Kind, built

WAYPOINT = mavlink.MAV_CMD_NAV_WAYPOINT
# East and north, m.
MISSION = ((8.0, 2.0), (8.0, 10.0), (-2.0, 10.0), (0.0, 2.0))
NEAR, AT_REST = 0.5, 0.03

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]

# What the shipped rover is: 2 m/s at full throttle, and an effective track of 1.6 times 0.54 m.
PARAMETERS = {
    "px4": {
        "RD_WHEEL_TRACK": 0.864, "RO_MAX_THR_SPEED": 2.0, "RO_SPEED_LIM": 1.5, "RO_ACCEL_LIM": 1.5,
        "RO_DECEL_LIM": 1.5, "RO_YAW_RATE_LIM": 85.0, "NAV_ACC_RAD": 0.2,
        "EKF2_GPS_POS_X": -0.25, "EKF2_GPS_POS_Z": -0.8,
    },
    "ardupilot": {
        "CRUISE_SPEED": 1.2, "CRUISE_THROTTLE": 60, "WP_SPEED": 1.5, "WP_RADIUS": 0.3, "ATC_ACCEL_MAX": 1.0,
    },
}  # fmt: skip


def speed(driven: Flight, seconds: float = 1.0) -> float:
    """Its mean speed over the ground from now on (m/s)."""
    here = driven.place
    driven.run(seconds)
    return float(np.linalg.norm(driven.place - here)) / seconds


@pytest.mark.parametrize("kind", [built(PX4_ROVER), built(ARDUPILOT_ROVER)])
def test_a_rover_goes_where_it_is_told_and_drives_a_mission_to_its_end(kind: Kind, tmp_path: Path) -> None:
    with flight(kind, tmp_path, sensors="[IMU, MAG, BARO, GPS]", parameters=PARAMETERS[kind.name]) as driven:
        driven.mode("hold")
        driven.arm()
        for goal in ((6.0, 0.0), (6.0, 6.0), (0.0, 0.0)):
            driven.go_to(*goal, 0.0)
            missed = float(np.linalg.norm(driven.place[:2] - goal))
            print(f"{kind.label}: go to {goal} missed by {missed:.2f} m, at {speed(driven):.3f} m/s")
            assert missed < NEAR
        driven.upload([(WAYPOINT, east, north, 0.0) for east, north in MISSION])
        begin_mission(driven)
        nearest = np.full(len(MISSION), np.inf)

        def ended() -> bool:
            np.minimum(nearest, np.linalg.norm(driven.place[:2] - MISSION, axis=1), out=nearest)
            return bool(nearest[-1] < NEAR) and driven.latest["MISSION_CURRENT"].mission_state == COMPLETE

        driven.until(ended, 180.0, "at the end of the mission")
        driven.run(5.0)
        missed = float(np.linalg.norm(driven.place[:2] - MISSION[-1]))
        print(f"{kind.label}: waypoints missed by {nearest.round(2)} m, its end by {missed:.2f} m")
        assert nearest.max() < NEAR
        assert missed < NEAR
        assert speed(driven) < AT_REST, "stands at the end"
        check_estimates(driven)
        # Stopped on its way by disarming it.
        driven.go_there(10.0, 2.0, 0.0)
        driven.run(4.0)
        assert speed(driven) > 0.5
        driven.command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0, FORCE)
        driven.run(2.0)
        assert not driven.armed
        assert speed(driven) < AT_REST, "stands, disarmed"


COMPLETE, ACTIVE = mavlink.MISSION_STATE_COMPLETE, mavlink.MISSION_STATE_ACTIVE
# Of MAV_CMD_COMPONENT_ARM_DISARM: whatever the vehicle does.
FORCE = 21196


def begin_mission(driven: Flight) -> None:
    """Asks until it is under way: right after an upload, PX4 has accepted the mode and stayed where it was."""
    for _ in range(5):
        driven.mode("mission")
        driven.run(2.0)
        if driven.latest["MISSION_CURRENT"].mission_state == ACTIVE:
            return
    raise AssertionError(f"the mission does not begin: {driven.texts[-8:]}")


def check_estimates(driven: Flight) -> None:
    errors = np.array([each.error[:2] for each in driven.estimates])
    print("estimate: root mean square", np.sqrt(np.mean(errors**2, axis=0)).round(3), "m")
    assert np.abs(errors).max() < 1.0
