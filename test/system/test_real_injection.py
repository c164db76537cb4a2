"""MAV_CMD_INJECT_FAILURE: what PX4 itself answers for each unit, type and instance, and what the built-in one does."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from real_flights import Flight, flight
from real_kinds import PX4, Kind, built

from sim_node.autopilots.builtin.injection import is_simulated

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]
UNITS, TYPES, INSTANCES = (*range(9), *range(100, 106)), range(8), (0, 1, 3, 8, 9)
# What PX4 answers on these units: others, and other types of the battery, nobody in it looks at.
ANSWERED = (0, 1, 2, 3, 4, 6, 8, 101)
GYRO, ACCEL, BATTERY, OK, OFF, STUCK = 0, 1, 100, 0, 1, 2
ACCEPTED, UNSUPPORTED = mavlink.MAV_RESULT_ACCEPTED, mavlink.MAV_RESULT_UNSUPPORTED


def answer(flown: Flight, unit: int, type: int, instance: int) -> int | None:
    """Return PX4's MAV_RESULT; None if it has not answered in half a second."""
    try:
        return flown.command(mavlink.MAV_CMD_INJECT_FAILURE, unit, type, instance, seconds=0.5)
    except AssertionError:
        return None


@pytest.mark.parametrize("kind", [built(PX4)])
def test_the_built_in_autopilot_accepts_the_failures_that_px4_does(kind: Kind, tmp_path: Path) -> None:
    different, asked = {}, 0
    with flight(kind, tmp_path, parameters={"SYS_FAILURE_EN": 1}) as flown:
        flown.run(2.0)
        for unit, instance, type in product(UNITS, INSTANCES, TYPES):
            if unit in (GYRO, ACCEL) and type in (OFF, STUCK) and instance in (0, 1):
                continue  # without the only one, its controllers stand, and nothing answers its simulator any more
            looked_at = unit in ANSWERED or (unit == BATTERY and type in (OK, OFF))
            if not looked_at and (instance != 0 or type not in (OK, OFF, STUCK)):
                continue  # nobody answers, and that takes its time
            found = answer(flown, unit, type, instance)
            assert flown.co_simulator.wait.lockstep, f"unit {unit}, type {type}, instance {instance} ended the lockstep"
            asked += 1
            wanted = (ACCEPTED if is_simulated(unit, type, instance) else UNSUPPORTED) if looked_at else None
            if found != wanted:
                different[unit, type, instance] = found, wanted
            if type != OK and wanted == ACCEPTED:
                answer(flown, unit, OK, instance)
    print(f"{asked} combinations of unit, type and instance")
    assert different == {}
