"""A companion computer with the system id of a real autopilot, which passes its heartbeats on to the bridge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pymavlink import mavutil
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from real_flights import flight
from real_kinds import ARDUPILOT, Kind, built
from running import running

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]
COMPANION = mavlink.MAV_COMP_ID_ONBOARD_COMPUTER
# Ports of an instance: its serial links 1 and 2, beside 0, which the flight has.
FIRST, SECOND, APART = 5762, 5763, 10


@pytest.mark.parametrize("kind", [built(ARDUPILOT)])
def test_the_autopilot_is_the_vehicle_and_its_companion_is_listed(kind: Kind, tmp_path: Path) -> None:
    """Even if its heartbeat looks like one of an autopilot, and comes first and more often."""
    with flight(kind, tmp_path, sensors="false") as flown:
        port = APART * flown.instance
        companion: Any = mavutil.mavlink_connection(
            f"tcp:127.0.0.1:{FIRST + port}", source_system=1, source_component=COMPANION, dialect="ardupilotmega"
        )
        with running(f"tcp:127.0.0.1:{SECOND + port}") as bridge:

            def sees_both() -> bool:
                companion.mav.heartbeat_send(mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_AUTOPILOT_GENERIC, 0, 0, 4)
                found = bridge.bridge.vehicles.get(1)
                return found is not None and found.component == 1 and COMPANION in found.others.listed

            flown.until(sees_both, 60.0, "a vehicle with a companion")
            flown.run(5.0)
            vehicle = bridge.vehicle()
            assert (vehicle.component, vehicle.telemetry.autopilot) == (1, mavlink.MAV_AUTOPILOT_ARDUPILOTMEGA)
            assert list(vehicle.others.listed) == [COMPANION]
            assert list(bridge.bridge.vehicles) == [1]
        companion.close()
