"""Keyboard control: the motion that each key commands, and how long a press lasts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class AxisInputs(NamedTuple):
    """Commanded fractions of the speed along each axis, -1 to 1.

    Attributes:
        ahead: Ahead.
        left: To the left.
        up: Up.
        turn: Turning to the left.
    """

    ahead: float = 0.0
    left: float = 0.0
    up: float = 0.0
    turn: float = 0.0


# The axis of each key, and its sign.
KEYS: dict[str, tuple[str, float]] = {
    "w": ("ahead", 1.0), "s": ("ahead", -1.0), "up": ("ahead", 1.0), "down": ("ahead", -1.0),
    "a": ("turn", 1.0), "d": ("turn", -1.0), "left": ("turn", 1.0), "right": ("turn", -1.0),
    "q": ("left", 1.0), "e": ("left", -1.0), "r": ("up", 1.0), "f": ("up", -1.0),
}  # fmt: skip
FASTER, SLOWER, STOP = "+", "-", " "
# Duration of a press, s: longer than a terminal waits before a held key repeats.
HOLD_S = 0.6
FACTOR = 1.25


class HeldKeys:
    """The motion that pressed keys command. A press lasts only for a short time, as terminals do not report releases.

    Its methods may be called from two threads, one that presses and one that reads.

    Args:
        clock: Returns the present time, s.
        hold_s: Duration of a press, s.

    Attributes:
        scale: Factor on all axes, which the keys + and - change.
    """

    def __init__(self, clock: Callable[[], float], hold_s: float = HOLD_S) -> None:
        self._clock, self._hold_s = clock, hold_s
        self._held: dict[str, tuple[float, float]] = {}
        self.scale = 1.0

    def press(self, key: str) -> None:
        """Press a key. Unknown keys do nothing.

        Args:
            key: A character, or up, down, left and right.
        """
        if key == STOP:
            self._held = {}
        elif key in (FASTER, SLOWER):
            self.scale *= FACTOR if key == FASTER else 1.0 / FACTOR
        elif key in KEYS:
            axis, sign = KEYS[key]
            self._held = {**self._held, axis: (sign, self._clock() + self._hold_s)}

    def axes(self) -> AxisInputs:
        """Return the motion commanded now, times the scale."""
        now = self._clock()
        return AxisInputs(**{axis: sign * self.scale for axis, (sign, until) in self._held.items() if now < until})
