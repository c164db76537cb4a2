"""The interface between an autopilot and a simulation, and the registry of autopilots."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from sim_node.autopilots.lockstep.samples import Sample, SampleSource
from sim_node.registry import Registry
from sim_node.simulation import Simulation
from sim_node.world import Multirotor
from sim_node.world.autopilots import Vehicle

# By channel: 0 to 1 for rotors, -1 to 1 for bases.
Commands = tuple[float, ...]
# Maximum time to wait for a silent autopilot before the simulation continues without it, time after which to report the
# wait, and interval of checks (s).
PATIENCE, REPORT_AFTER, POLL = 5.0, 1.0, 0.1


class LockstepAutopilot(Protocol):
    """An autopilot in another process, reached over sockets. Its methods are called from one thread.

    Attributes:
        wait: State of the connection, which any thread may read.
        sample_source: Class that makes its Samples.
    """

    wait: LockstepWait
    sample_source: ClassVar[type[SampleSource]]

    def __init__(self, instance: int, outputs: int, low: float = 0.0) -> None:
        """Create the autopilot.

        Args:
            instance: Instance number, from 0, which determines ports.
            outputs: Number of output channels that the vehicle uses.
            low: Minimum command of a channel, see `outputs_of`.
        """

    @classmethod
    def of(cls, simulation: Simulation, vehicle: Vehicle, rate: float) -> LockstepAutopilot:
        """Return the autopilot of a vehicle in a run.

        Args:
            simulation: The run.
            vehicle: The vehicle.
            rate: Rate of its Samples (Hz).

        Returns:
            The autopilot, not open yet.
        """

    def open(self) -> None:
        """Listen. Raises OSError if the address is in use."""

    def send(self, sample: Sample) -> None:
        """Send the vehicle's state at an instant, without waiting for the answer.

        Args:
            sample: The state.
        """

    def receive(self) -> Commands | None:
        """Receive the commands that apply from that instant on.

        In lockstep this waits for the answer, except before the first answer and after the connection was lost.

        Returns:
            The commands; None if there are no new ones.
        """

    def close(self) -> None:
        """Close the sockets."""


def outputs_of(vehicle: Vehicle) -> tuple[int, float]:
    """Return the number of output channels that a vehicle uses, and the minimum command of a channel.

    Commands of rotors, which turn in one direction, and of servos beside them are 0 to 1; those of bases are -1 to 1.
    """
    return len(vehicle.channels), 0.0 if isinstance(vehicle, Multirotor) else -1.0


@dataclass
class LockstepWait:
    """State of a connection, and waiting for it. Written by the simulation's thread, read by any thread.

    Attributes:
        whom: Name of the autopilot in texts.
        peer: Address of the autopilot; empty if it is not connected.
        lockstep: Whether it runs in lockstep.
        since: Start of the current wait (s, monotonic clock); None if there is none.
        lost: How often a peer went silent or disconnected.
        restarts: How often a restart of the autopilot was detected.
        answered: How many Samples were answered in lockstep by commands of the same time, if commands have a time.
        stop: Ends all waiting at once.
        report: Called with a line of text if waiting takes long.
        own: Whether the run starts the autopilot, so that users need not be asked to.
        patience: Maximum time to wait for a silent autopilot, in real time, s.
    """

    whom: str
    peer: str = ""
    lockstep: bool = False
    since: float | None = None
    lost: int = 0
    restarts: int = 0
    answered: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    report: Callable[[str], None] = lambda line: None
    own: bool = False
    patience: float = PATIENCE

    def until(self, ready: Callable[[float], bool], patience: float | None = None) -> bool:
        """Wait for a condition.

        Args:
            ready: Called with the time that it may take (s). Returns whether the condition holds.
            patience: Maximum time to wait (s); by default that of the connection.

        Returns:
            Whether the condition held in time.
        """
        patience = self.patience if patience is None else patience
        deadline = time.monotonic() + patience
        reported = False
        try:
            while not self.stop.is_set():
                if ready(min(POLL, max(deadline - time.monotonic(), 0.0))):
                    return True
                if time.monotonic() >= deadline:
                    return False
                self.since = self.since or deadline - patience
                if not reported and time.monotonic() - self.since >= REPORT_AFTER:
                    reported = True
                    self.report(self.describe())
            return False
        finally:
            self.since = None

    def lose(self) -> None:
        """Record that the peer is gone."""
        self.peer, self.lockstep = "", False
        self.lost += 1

    def report_jump(self, what: str) -> None:
        """Report that the vehicle has been moved, to an autopilot that continues with its estimates.

        Args:
            what: Cause.
        """
        self.report(
            f"{self.whom}: {what}; it keeps its clock and its estimates, which are wrong until its filter has converged"
            " again, for half a minute or more: restart it, or reboot it (MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN)"
        )

    def describe(self) -> str:
        """Describe the state in one line."""
        if self.since is not None:
            return f"waiting for {self.whom} for {time.monotonic() - self.since:.1f} s"
        if not self.peer:
            return f"nobody there yet: waiting for {self.whom} to connect" if not self.lost else f"{self.whom} is gone"
        return f"{self.whom} at {self.peer}" + (", in lockstep" if self.lockstep else ", free-running")


AUTOPILOTS: Registry[str, type[LockstepAutopilot]] = Registry(
    "autopilot",
    shipped=tuple(f"sim_node.autopilots.lockstep.{name}" for name in ("ardupilot", "mavlink_builtin", "px4")),
    group="sim_node.autopilots",
)
# Decorator that registers a kind of autopilot under its `type` in world files.
autopilot = AUTOPILOTS.add
