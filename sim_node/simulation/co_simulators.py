"""Co-simulators: what exchanges with a run at steps of its own, such as an autopilot in another process."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

from sim_node.simulation.pacing import Ticks


class CoSimulator(Protocol):
    """Takes and gives while a run steps. The run waits for it, so that both keep one time."""

    @property
    def rate(self) -> float | Fraction:
        """Exchanges per simulated second (Hz), at most one per step."""

    def send(self, step: int, time_ns: int) -> None:
        """Take the state of the run at a step, `time_ns` after its start; the sensors due by then have measured.

        An earlier time than the last means a reset. This must not wait: `receive` does.
        """

    def receive(self) -> None:
        """Wait for the answer to the last `send`, and apply it."""

    def interrupt(self) -> None:
        """Ends any waiting at once and for good. May be called from any thread."""

    def close(self) -> None:
        """The run is over."""


class CoSimulators:
    """Those of a run, in the order in which they came. due: the step of the next exchange, infinite without any."""

    def __init__(self, step_ns: int) -> None:
        self._step_ns = step_ns
        self._all: list[tuple[CoSimulator, Ticks]] = []
        self.due: float = math.inf

    def add(self, peer: CoSimulator, step: int) -> None:
        """One more, from the step after this one on. Raises ValueError for a rate that is none."""
        self._all.append((peer, self._ticks(peer, step + 1)))
        self._find_due()

    def remove(self, peer: CoSimulator) -> None:
        """Lets go of one, which may have gone already."""
        self._all = [each for each in self._all if each[0] is not peer]
        self._find_due()

    def exchange(self, step: int) -> None:
        """Exchange with all whose turn it is: send to all before waiting for any, so that they run in parallel."""
        turn = [(peer, ticks) for peer, ticks in self._all if ticks.due <= step]
        for peer, ticks in turn:
            peer.send(step, step * self._step_ns)
            ticks.pass_by(step)
        for peer, _ in turn:
            peer.receive()
        self._find_due()

    def restart(self, step: int) -> None:
        """The run goes on at another step, where exchanges are due again."""
        self._all = [(peer, self._ticks(peer, step)) for peer, _ in self._all]
        self._find_due()

    def interrupt(self) -> None:
        """Ends all waiting."""
        for peer, _ in self._all:
            peer.interrupt()

    def close(self) -> None:
        """Lets go of all."""
        all_of_them, self._all, self.due = self._all, [], math.inf
        for peer, _ in all_of_them:
            peer.close()

    def _ticks(self, peer: CoSimulator, step: int) -> Ticks:
        """The multiples of a peer's period, counted from step 0, at or after a step."""
        ticks = Ticks(peer.rate, self._step_ns, 0)
        ticks.pass_by(step - 1)
        return ticks

    def _find_due(self) -> None:
        self.due = min((ticks.due for _, ticks in self._all), default=math.inf)
