"""States that are none, on the simulator link of the built-in autopilot."""

from __future__ import annotations

import math

import pytest

from sim_node.mavlink.codec import frame_bytes
from stress.doors.builtin import Running

LEVEL = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))
NO_STATES = {
    "a place that is no number": {"x": math.nan, "q": LEVEL},
    "a place that is infinite": {"z": -math.inf, "q": LEVEL},
    "a place beyond all places": {"y": 1e30, "q": LEVEL},
    "a velocity that is none": {"vz": math.nan, "q": LEVEL},
    "no rotation": {"q": (0.0, 0.0, 0.0, 0.0)},
    "a rotation that is no number": {"q": (math.nan, 0.0, 0.0, 1.0)},
}


@pytest.mark.parametrize("fields", NO_STATES.values(), ids=NO_STATES.keys())
def test_a_state_that_is_none_leaves_the_last_one(fields: dict[str, object]) -> None:
    """The motors turn as they would have without it."""
    running = Running()
    try:
        running.flown(5.0)
        running.command(176, 1, 4)  # GUIDED
        running.command(400, 1)
        running.command(22, 0, 0, 0, 0, 0, 0, 5.0)
        running.asked(1)
        steady = running.flown(5.0, 50)
        assert min(steady[:4]) > 0.1
        running.tell(frame_bytes("ODOMETRY", fields, 1, 200, 0))
        for name in ("xgyro", "ygyro", "zgyro"):
            running.tell(frame_bytes("HIL_SENSOR", {"time_usec": running.time_us, name: math.nan}, 1, 200, 0))
        after = running.flown(5.0, 1)
        assert after == pytest.approx(steady, abs=0.02)
        assert running.autopilot.link.invalid == 4
        running.heard("STATUSTEXT", lambda message: message.text.startswith("the simulator sends invalid positions"))
    finally:
        running.stop()
