"""How soon a built-in autopilot is started again that dies, and what of it begins anew when its clock does."""

from __future__ import annotations

import pytest

from sim_node.autopilots.builtin import process
from sim_node.autopilots.builtin.process import AutopilotProcess
from sim_node.autopilots.builtin.streams import Streams
from sim_node.autopilots.builtin.world import parameters_in
from sim_node.world import load


def test_the_pause_before_a_restart_doubles_up_to_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process is killed at once, but the last but one, which lives for six seconds."""
    now = [0.0]
    monkeypatch.setattr(process.time, "monotonic", lambda: now[0])
    world = load("guided")
    autopilot = AutopilotProcess(parameters_in(world, world.vehicles[0]), 0)
    autopilot.start()
    pauses = []
    try:
        for lives in (0.0,) * 8 + (6.0, 0.0):
            now[0] += lives
            autopilot.kill()
            died, starts = now[0], autopilot.starts
            while autopilot.starts == starts:
                autopilot.keep_up()
                now[0] += 0.01
            pauses.append(now[0] - 0.01 - died)
    finally:
        autopilot.stop()
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 0.1, 0.2], abs=0.011)


def test_telemetry_begins_anew_when_the_clock_does() -> None:
    streams = Streams("px4")
    first = streams.due(4_000)
    assert "ATTITUDE" in first
    later = [streams.due(time_us) for time_us in range(8_000, 1_600_000, 4_000)]
    streams.due(1_600_000)
    assert streams.due(4_000) == first
    assert [streams.due(time_us) for time_us in range(8_000, 1_600_000, 4_000)] == later
