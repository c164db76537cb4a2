"""What the real autopilots make of rangefinders, optical flow and a pitot tube, in simulated time and against truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from real_flights import Flight, flight
from real_kinds import ALTITUDE, ARDUPILOT, PX4, STANDS, Kind, built

GROUND = """sensors:
  - {name: v/GROUND, type: rangefinder, pose: {rpy_deg: [0, 90, 0]}}
  - {name: v/FLOW, type: optical_flow, pose: {rpy_deg: [0, 90, 0]}}
  - {name: v/PITOT, type: airspeed, noise: none, pose: {position: [0.2, 0, 0]}}
"""
# From ahead of a vehicle that looks north.
HEADWIND = "forces: [{type: wind, velocity: [0, -8, 0]}]\n"

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]


def watch(flown: Flight, message: str, key: str, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """What it says of a field of a message, ten times a second, and how high base_link is above the ground then."""
    said, heights = [], []
    for _ in range(round(seconds / 0.1)):
        flown.run(0.1)
        said.append(getattr(flown.latest[message], key))
        heights.append(flown.place[2] + STANDS)
    return np.array(said, dtype=float), np.array(heights)


@pytest.mark.parametrize("kind", [built(PX4), built(ARDUPILOT)])
def test_the_height_of_a_rangefinder_is_that_above_the_ground(kind: Kind, tmp_path: Path) -> None:
    # ArduPilot takes a rangefinder of the simulation's only if its parameters say so.
    parameters = {} if kind is PX4 else {"RNGFND1_TYPE": 100}
    with flight(kind, tmp_path, more=GROUND, parameters=parameters) as flown:
        if kind is ARDUPILOT:
            flown.mode("hold")
        flown.arm()
        flown.take_off(6.0)
        flown.stream(mavlink.MAVLINK_MSG_ID_DISTANCE_SENSOR, 20.0)
        flown.run(8.0)
        said, heights = watch(flown, "DISTANCE_SENSOR", "current_distance", 10.0)
        errors = 0.01 * said - heights
        print(f"{kind.name}: mean {errors.mean():.3f} m, deviation {errors.std():.3f} m")
        assert flown.latest["DISTANCE_SENSOR"].orientation == mavlink.MAV_SENSOR_ROTATION_PITCH_270, "looks down"
        assert abs(errors.mean()) < 0.05
        flown.land()


@pytest.mark.parametrize("kind", [built(PX4)])
def test_px4_measures_the_wind_with_a_pitot_tube(kind: Kind, tmp_path: Path) -> None:
    with flight(kind, tmp_path, more=GROUND + HEADWIND) as flown:
        flown.arm()
        flown.take_off(6.0)
        flown.run(8.0)
        said, _ = watch(flown, "HIGHRES_IMU", "diff_pressure", 10.0)
        pitches = []
        for _ in range(20):
            flown.run(0.1)
            pitches.append(flown.latest["ATTITUDE"].pitch)
        # The standard atmosphere's density there, and the part of the wind that is along the tube.
        density = 1.225 * (1.0 - 2.25577e-5 * ALTITUDE) ** 4.2559
        expected = 0.5 * density * (8.0 * np.cos(np.mean(pitches))) ** 2
        print(f"{100.0 * said.mean():.2f} Pa of {expected:.2f} Pa")
        assert 100.0 * said.mean() == pytest.approx(expected, rel=0.03)
        flown.land()


@pytest.mark.parametrize("kind", [built(PX4)])
def test_px4_holds_its_position_by_optical_flow_where_gps_ends(kind: Kind, tmp_path: Path) -> None:
    """With an axis or a sign of the flow wrong, it would fly away within seconds."""
    with flight(kind, tmp_path, more=GROUND) as flown:
        flown.arm()
        flown.take_off(6.0)
        flown.run(10.0)
        flown.set_integer("EKF2_GPS_CTRL", 0)
        began, off = flown.time, flown.estimate - flown.place
        flown.run(30.0)
        hovered = flown.place
        flown.go_to(10.0, 5.0, 6.0)
        later = [each.error for each in flown.estimates if each.time > began]
        drift = np.abs(np.array(later) - off)[:, :2].max()
        print(f"hovers at {hovered.round(2)}; after {flown.time - began:.0f} s the estimate has drifted {drift:.2f} m")
        assert np.linalg.norm(flown.place - [10.0, 5.0, 6.0]) < 2.0
        assert drift < 1.5
        flown.land()
