"""Engines of sweeps: where cases run. A new engine is one `@sweep_engine` entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from sim_node.extensions.sweep.job import Cases, Job, Outcome
from sim_node.registry import Registry


class EngineFault(Exception):
    """An engine cannot run. The message is for the user."""


class Finished(NamedTuple):
    """A finished batch.

    Attributes:
        cases: Its cases.
        outcomes: Their outcomes; None if its worker ended, and the batch may be submitted again.
    """

    cases: Cases
    outcomes: list[Outcome] | None


class SweepEngine(Protocol):
    """Runs batches of cases in workers.

    An engine does not decide which cases run or in which order: outcomes depend only on their cases.

    Attributes:
        workers: How many batches run at once.
    """

    workers: int

    def submit(self, cases: Cases) -> None:
        """Submit a batch, without waiting for it.

        Args:
            cases: The batch.
        """

    def wait(self, seconds: float) -> list[Finished]:
        """Wait until a batch has ended.

        Args:
            seconds: The longest time to wait, s.

        Returns:
            Batches that have ended; each is returned once.

        Raises:
            Exception: A worker could not open the job.
        """

    def close(self) -> None:
        """End all workers, without waiting for their batches."""


# Opens an engine on a job: the job, the number of workers (None for the engine's own), and options by name.
Opener = Callable[[Job, "int | None", Mapping[str, str]], SweepEngine]
SWEEP_ENGINES: Registry[str, Opener] = Registry(
    "sweep engine",
    shipped=("sim_node.extensions.sweep.processes", "sim_node.extensions.sweep.ray_tasks"),
    group="sim_node.sweep_engines",
)
# Decorator that registers an Opener under a name.
sweep_engine = SWEEP_ENGINES.add
