"""What the real autopilots make of a vehicle's sensors, in simulated time and against ground truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from real_flights import Flight, flight
from real_kinds import ARDUPILOT, PX4, Kind, built

WARNING = mavlink.MAV_SEVERITY_WARNING
PERFECT = """sensors:
  - {name: v/IMU, type: imu, rate: 250, gyroscope: none, accelerometer: none}
  - {name: v/MAG, type: magnetometer, rate: 50, noise: none}
  - {name: v/BARO, type: barometer, rate: 50, noise: none}
  - {name: v/GPS, type: gps, rate: 10, horizontal: none, vertical: none, velocity: none}
"""
WIND = "forces: [{type: wind, velocity: [4, 2, 0], gusts: {intensity: [1, 1, 0.5], scale_length: [30, 30, 5]}}]"
TAKEOFF, WAYPOINT, LAND = mavlink.MAV_CMD_NAV_TAKEOFF, mavlink.MAV_CMD_NAV_WAYPOINT, mavlink.MAV_CMD_NAV_LAND
THERE = [(TAKEOFF, 0, 0, 8), (WAYPOINT, 15, 0, 8), (WAYPOINT, 15, 15, 12), (WAYPOINT, 0, 15, 12), (LAND, 0, 15, 0)]
BACK = [(TAKEOFF, 0, 15, 8), (WAYPOINT, 10, 15, 8), (LAND, 0, 0, 0)]

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]


def seconds_to_arm(folder: Path, **settings: Any) -> float:
    """From the first fix that PX4 reports until it is armed, simulated."""
    folder.mkdir()
    with flight(PX4, folder, speed=2.0, **settings) as flown:
        flown.until(lambda: flown.latest["GPS_RAW_INT"].fix_type >= mavlink.GPS_FIX_TYPE_3D_FIX, 20.0, "a fix")
        return flown.time_to_arm()


@pytest.mark.parametrize("kind", [built(PX4)])
def test_px4_arms_as_soon_as_with_perfect_sensors(kind: Kind, tmp_path: Path) -> None:
    """Its estimator and its checks need about 3.2 s from the first fix that it reports, whatever the sensors."""
    perfect = seconds_to_arm(tmp_path / "perfect", sensors="false", more=PERFECT)
    calibrated = [seconds_to_arm(tmp_path / f"{seed}", seed=seed) for seed in range(3)]
    print(f"perfect {perfect:.2f} s, calibrated {calibrated}")
    assert max(calibrated) < perfect + 0.5
    assert max(calibrated) < 4.0


@pytest.mark.parametrize("weather", ["", WIND], ids=["calm", "wind"])
@pytest.mark.parametrize("kind", [built(PX4), built(ARDUPILOT)])
def test_ten_minutes_of_hover_and_missions_without_a_warning(kind: Kind, weather: str, tmp_path: Path) -> None:
    missed = []
    # ArduPilot simulates sensors itself, of the truth.
    sensors = "true" if kind is PX4 else "false"
    with flight(kind, tmp_path, sensors=sensors, more=weather, seed=1 if weather else 0) as flown:
        if kind is ARDUPILOT:
            flown.mode("hold")
        flown.arm()
        begin = flown.time
        flown.take_off(10.0)
        flown.run(10.0)
        hovered = [flown.place]
        for _ in range(20):
            flown.run(3.0)
            hovered.append(flown.place)
        print("hover: deviation", np.std(hovered, axis=0).round(3), "m")
        for goal in ((20.0, 0.0, 10.0), (20.0, -15.0, 15.0), (0.0, 0.0, 10.0)):
            flown.go_to(*goal)
            print("go to", goal, "missed by", float(np.linalg.norm(flown.place - goal)).__round__(2), "m")
            assert np.linalg.norm(flown.place - goal) < 1.0
        flown.land()
        while flown.time - begin < 600.0:
            for items in (THERE, BACK):
                flown.upload(items)
                flown.fly_mission()
                missed.append(float(np.linalg.norm(flown.place[:2] - items[-1][1:3])))
                flown.run(3.0)
        print("landings missed by", np.round(missed, 2), "m")
        warnings = [text for text in flown.texts if text.severity <= WARNING and text.time > begin]
        check_estimates(flown, begin)
    assert warnings == []
    assert max(missed) < 0.5


def check_estimates(flown: Flight, begin: float) -> None:
    """Off by no more than three of the deviations that PX4 states; ArduPilot states none."""
    estimates = [each for each in flown.estimates if each.time > begin]
    errors = np.array([each.error for each in estimates])
    print("estimate: root mean square", np.sqrt(np.mean(errors**2, axis=0)).round(3), "m")
    assert np.abs(errors).max() < 1.0
    if flown.kind is PX4:
        for axes, stated in ((slice(2), "horizontal"), (slice(2, 3), "vertical")):
            deviations = np.array([getattr(each, stated) for each in estimates])
            ratios = np.linalg.norm(errors[:, axes], axis=1) / deviations
            print(f"{stated}: median {np.median(ratios):.2f}, at most {np.max(ratios):.2f} stated deviations")
            assert np.mean(ratios < 3.0) > 0.99
