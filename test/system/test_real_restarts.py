"""An ArduCopter that goes on in a run that begins anew, and one that starts again in a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from real_flights import Flight, flight
from real_kinds import ARDUPILOT, QUADROTOR, Kind, built

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("autopilots")]
RESET = replace(ARDUPILOT, vehicle=QUADROTOR.replace("{instance}}}", "{instance}, reset_vehicle: true}}"))


def away(flown: Flight) -> None:
    flown.mode("hold")  # GUIDED
    flown.arm()
    flown.take_off(5.0)
    flown.go_to(8.0, 0.0, 5.0)


@pytest.mark.parametrize("kind", [built(ARDUPILOT)])
def test_arducopter_goes_on_as_if_it_had_flown_where_a_reset_puts_it(kind: Kind, tmp_path: Path) -> None:
    """Its clock does not go back, and its estimates are wrong: the report says so, and what helps."""
    with flight(kind, tmp_path, sensors="false") as flown:
        away(flown)
        boot_ms, texts = flown.latest["LOCAL_POSITION_NED"].time_boot_ms, len(flown.texts)
        flown.simulation.reset()
        flown.time = 0.0
        flown.run(0.2)
        wrong = float(np.linalg.norm(flown.estimate - flown.place))
        print("0.2 s after the reset its estimate is", round(wrong, 1), "m off; it said", flown.texts[texts:])
        assert wrong > 3.0
        assert flown.latest["LOCAL_POSITION_NED"].time_boot_ms > boot_ms
        [line] = [each for each in flown.reports if "estimates" in each]
        assert "the run was reset; it keeps its clock and its estimates" in line
        assert "MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN" in line


@pytest.mark.parametrize("kind", [built(RESET)])
def test_a_vehicle_is_at_its_start_when_arducopter_has_started_again(kind: Kind, tmp_path: Path) -> None:
    """As its own examples of simulators do when the number of frames goes back; it flies from there."""
    with flight(kind, tmp_path, sensors="false") as flown:
        away(flown)
        flown.restart()
        assert any("has started again: v is back at its start" in each for each in flown.reports)
        np.testing.assert_allclose(flown.place, [0.0, 0.0, 0.0], atol=0.05)
        assert np.linalg.norm(flown.estimate - flown.place) < 1.0
        flown.mode("hold")
        flown.arm()
        flown.take_off(5.0)
