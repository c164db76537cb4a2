"""Driving by keys, on a clock of the test's own."""

from __future__ import annotations

from sim_node.simulation.control.keys import Axes, HeldKeys


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
    assert keys.axes() == Axes(ahead=1.0, turn=1.0)
    clock.now = 0.6
    assert keys.axes() == Axes(turn=1.0)
    clock.now = 1.0
    assert keys.axes() == Axes()


def test_speeds_and_the_stop() -> None:
    keys = HeldKeys(Clock())
    for key in ("+", "s", "x"):
        keys.press(key)
    assert keys.axes() == Axes(ahead=-1.25)
    keys.press("-")
    assert keys.axes() == Axes(ahead=-1.0)
    keys.press(" ")
    assert keys.axes() == Axes()
