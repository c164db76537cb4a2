"""SensorSubscription: receives the measurements of one sensor while a run steps."""

from __future__ import annotations

from collections import deque

from sim_node.geometry.arrays import FloatArray


class SensorSubscription:
    """What a sensor published and nobody has read yet; all of it is kept until then."""

    def __init__(self) -> None:
        self._held: deque[tuple[int, FloatArray]] = deque()

    def took(self, out: int, values: FloatArray) -> None:
        """A reading was taken, that will be out by a step."""
        self._held.append((out, values))

    def newest(self, step: int) -> FloatArray | None:
        """The last reading that came out by a step since this was last asked; None where none did."""
        newest = None
        while self._held and self._held[0][0] <= step:
            newest = self._held.popleft()[1]
        return newest

    def clear(self) -> None:
        """Forgets all: time is another."""
        self._held.clear()
