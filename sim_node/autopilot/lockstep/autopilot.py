"""What an autopilot is to a simulation, and the kinds there are. A new one is a new file with one `@autopilot`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from sim_node.autopilot.lockstep.samples import Sample, SampleSource
from sim_node.registry import Registry
from sim_node.simulation import Simulation
from sim_node.world import Multirotor

# Motor commands by channel, 0 to 1.
Commands = tuple[float, ...]
# How long a silent autopilot is waited for before the simulation goes on without it, after how long that is told, and
# how long one look takes (s).
PATIENCE, TOLD_AFTER, LOOK = 5.0, 1.0, 0.1


class Autopilot(Protocol):
    """One autopilot in another process, reached over sockets of its own. Its methods are called from one thread.

    wait: how it stands, to be shown by others. senses: what its Samples are made of.
    """

    wait: Wait
    senses: ClassVar[type[SampleSource]]

    def __init__(self, instance: int, motors: int) -> None:
        """The autopilot of an instance number (0, 1, ...) with so many motors; ports follow from it."""

    @classmethod
    def of(cls, simulation: Simulation, vehicle: Multirotor, rate: float) -> Autopilot:
        """That of a vehicle in a run, which will be told of it so often (Hz)."""

    def open(self) -> None:
        """Listens. Raises OSError with the address where it is taken."""

    def send(self, sample: Sample) -> None:
        """Tells it of an instant, without waiting for the answer."""

    def receive(self) -> Commands | None:
        """Takes what it commands from the instant on that it was told of; None for nothing new.

        In lockstep it waits for the answer; while nobody has answered yet, and once nobody does any more, it does not.
        """

    def close(self) -> None:
        """Lets go of the sockets."""


@dataclass
class Wait:
    """Who is waited for, since when, and whether in lockstep. Written by the simulation's thread, read by any.

    peer: who is at the other end; empty where nobody is. since: seconds of the monotonic clock, None while nobody is
    waited for. lost: how often a peer went silent or hung up; answered: how many Samples were answered
    in lockstep by controls of their own time, where controls carry one. stop: ends any waiting at once. tell: takes a
    line for people where waiting is long.
    """

    whom: str
    peer: str = ""
    lockstep: bool = False
    since: float | None = None
    lost: int = 0
    answered: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    tell: Callable[[str], None] = lambda line: None

    def until(self, ready: Callable[[float], bool], patience: float = PATIENCE) -> bool:
        """Whether `ready`, called with the seconds that it may take, said so before patience ended."""
        deadline = time.monotonic() + patience
        told = False
        try:
            while not self.stop.is_set():
                if ready(min(LOOK, max(deadline - time.monotonic(), 0.0))):
                    return True
                if time.monotonic() >= deadline:
                    return False
                self.since = self.since or deadline - patience
                if not told and time.monotonic() - self.since >= TOLD_AFTER:
                    told = True
                    self.tell(self.said())
            return False
        finally:
            self.since = None

    def lose(self) -> None:
        """Whoever was there is gone."""
        self.peer, self.lockstep = "", False
        self.lost += 1

    def said(self) -> str:
        """One line on how it stands."""
        if self.since is not None:
            return f"waiting for {self.whom} for {time.monotonic() - self.since:.1f} s"
        if not self.peer:
            return f"nobody there yet: waiting for {self.whom} to connect" if not self.lost else f"{self.whom} is gone"
        return f"{self.whom} at {self.peer}" + (", in lockstep" if self.lockstep else ", free-running")


AUTOPILOTS: Registry[str, type[Autopilot]] = Registry(
    "autopilot",
    shipped=tuple(f"sim_node.autopilot.lockstep.{name}" for name in ("ardupilot", "mavlink_builtin", "px4")),
    group="sim_node.autopilots",
)
# Registers a kind of autopilot under the `type` of world files.
autopilot = AUTOPILOTS.add
