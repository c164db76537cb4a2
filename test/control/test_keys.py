"""Driving by keys, on a clock of the test's own."""

from __future__ import annotations

from sim_node.simulation.control.keys import AxisInputs, HeldKeys


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_press_lasts_and_ends() -> None:
    clock = Clock()
    keys = HeldKeys(clock, hold_s=0.5)
    keys.press("w")
    clock.now = 0.4
    keys.press("left")
    assert keys.axes() == AxisInputs(ahead=1.0, turn=1.0)
    clock.now = 0.6
    assert keys.axes() == AxisInputs(turn=1.0)
    clock.now = 1.0
    assert keys.axes() == AxisInputs()


def test_speeds_and_the_stop() -> None:
    keys = HeldKeys(Clock())
    for key in ("+", "s", "x"):
        keys.press(key)
    assert keys.axes() == AxisInputs(ahead=-1.25)
    keys.press("-")
    assert keys.axes() == AxisInputs(ahead=-1.0)
    keys.press(" ")
    assert keys.axes() == AxisInputs()
