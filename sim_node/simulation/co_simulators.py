"""Co-simulators, which exchange data with a run at their own rates, such as an autopilot in another process."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from sim_node.simulation.columns import Columns
from sim_node.simulation.pacing import Ticks


class CoSimulator(Protocol):
    """A program or object that exchanges data with a run while it steps.

    The run waits for each answer, so that both share the same time.
    """

    @property
    def rate(self) -> float | Fraction:
        """Exchanges per simulated second (Hz), at most one per step."""

    def send(self, step: int, time_ns: int) -> None:
        """Receive the state of the run at a step. Must not block: `receive` waits.

        The sensors that are due by this step have measured.

        Args:
            step: Steps since the start of the run.
            time_ns: Time since the start of the run. An earlier time than the last one means a reset.
        """

    def receive(self) -> None:
        """Wait for the answer to the last `send`, and apply it."""

    def interrupt(self) -> None:
        """Stop waiting immediately and permanently. May be called from any thread."""

    def close(self) -> None:
        """Release all resources: the run is over."""


@runtime_checkable
class Coupled(Protocol):
    """An engine that exchanges data with the whole run, including the motion of other engines and measurements."""

    def couple(self, run: Any) -> CoSimulator:
        """Return a co-simulator that exchanges data with a run from its start on.

        Args:
            run: The Simulation.
        """


@runtime_checkable
class Adapting(Protocol):
    """A co-simulator that has to adapt to changes of the world."""

    def adapt(self, columns: Columns) -> bool:
        """Adapt to a change of the world, after which the run already has its new state. Must not raise.

        Args:
            columns: The columns of the run.

        Returns:
            Whether the part that it exchanges data with still exists. If not, it is closed and removed.
        """


class CoSimulators:
    """The co-simulators of a run, in the order in which they were added.

    Attributes:
        due: Step of the next exchange; infinite if there are no co-simulators.
    """

    def __init__(self, step_ns: int) -> None:
        self._step_ns = step_ns
        self._all: list[tuple[CoSimulator, Ticks]] = []
        self.due: float = math.inf

    @property
    def all(self) -> tuple[CoSimulator, ...]:
        """The co-simulators, in their order."""
        return tuple(each for each, _ in self._all)

    def add(self, co_simulator: CoSimulator, step: int) -> None:
        """Add a co-simulator that exchanges from the next step on. Raises ValueError for an invalid rate."""
        self._all.append((co_simulator, self._ticks(co_simulator, step + 1)))
        self._find_due()

    def remove(self, co_simulator: CoSimulator) -> None:
        """Remove a co-simulator. Does nothing if it is not attached."""
        self._all = [each for each in self._all if each[0] is not co_simulator]
        self._find_due()

    def adapt(self, columns: Columns) -> None:
        """Adapt co-simulators to a change of the world. Close and remove those whose part of the run is gone."""
        for co_simulator, _ in self._all.copy():
            if isinstance(co_simulator, Adapting) and not co_simulator.adapt(columns):
                self.remove(co_simulator)
                co_simulator.close()

    def exchange(self, step: int) -> None:
        """Exchange data with all that are due. Send to all before waiting for any, so that they run in parallel."""
        turn = [(co_simulator, ticks) for co_simulator, ticks in self._all if ticks.due <= step]
        for co_simulator, ticks in turn:
            co_simulator.send(step, step * self._step_ns)
            ticks.pass_by(step)
        for co_simulator, _ in turn:
            co_simulator.receive()
        self._find_due()

    def restart(self, step: int, step_ns: int | None = None) -> None:
        """Continue at another step, at which exchanges are due again, on the same time grid or a new one."""
        self._step_ns = self._step_ns if step_ns is None else step_ns
        self._all = [(co_simulator, self._ticks(co_simulator, step)) for co_simulator, _ in self._all]
        self._find_due()

    def interrupt(self) -> None:
        """Stop all waiting."""
        for co_simulator, _ in self._all:
            co_simulator.interrupt()

    def close(self) -> None:
        """Close all co-simulators and remove them."""
        all_of_them, self._all, self.due = self._all, [], math.inf
        for co_simulator, _ in all_of_them:
            co_simulator.close()

    def _ticks(self, co_simulator: CoSimulator, step: int) -> Ticks:
        """Return the multiples of a co-simulator's period, counted from step 0, at or after a step."""
        ticks = Ticks(co_simulator.rate, self._step_ns, 0)
        ticks.pass_by(step - 1)
        return ticks

    def _find_due(self) -> None:
        self.due = min([ticks.due for _, ticks in self._all], default=math.inf)
