"""Peers: what exchanges with a run at steps of its own, an autopilot in another process for one."""

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

    def tell(self, step: int, time_ns: int) -> None:
        """The run is at a step, that many ns after its start; what is due to be read by then has been.

        An earlier time than the last means a reset. Whoever has to think about it may begin to: nothing is waited for.
        """

    def hear(self) -> None:
        """Takes the answer to what was told last, and waits for it."""

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
        """With all whose turn it is at a step: all are told before any is waited for, so that they think at once."""
        turn = [(peer, ticks) for peer, ticks in self._all if ticks.due <= step]
        for peer, ticks in turn:
            peer.tell(step, step * self._step_ns)
            ticks.pass_by(step)
        for peer, _ in turn:
            peer.hear()
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
