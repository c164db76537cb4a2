"""What the buttons of the panel control: a run, or a bag."""

from __future__ import annotations

from typing import Protocol

from sim_node.simulation import Loop

# Speeds of the panel; 0 is as fast as possible.
SPEEDS = {"0.1": 0.1, "0.25": 0.25, "0.5": 0.5, "1": 1.0, "2": 2.0, "5": 5.0, "10": 10.0, "max": 0.0}


class Transport(Protocol):
    """Something that plays. Its methods may be called from any thread, and raise what they refuse."""

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last time, ns, of seeking; None for a run, which only moves forward."""

    @property
    def playing(self) -> bool:
        """Whether time runs."""

    @property
    def speed(self) -> float:
        """Its seconds per wall second, as measured."""

    @property
    def speed_set(self) -> float:
        """Its seconds per wall second, as set; 0 for as fast as possible."""

    def play(self) -> None:
        """Let time run."""

    def pause(self) -> None:
        """Stops it."""

    def step(self) -> None:
        """Advance by one step while paused."""

    def reset(self) -> None:
        """Go back to the start."""

    def set_speed(self, speed: float) -> None:
        """Change the speed; 0 for as fast as possible."""

    def seek(self, time_ns: int) -> None:
        """Go to a time within the span."""


class LoopTransport:
    """A run."""

    span: tuple[int, int] | None = None

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._steps = max(1, round(1e9 / 60.0 / loop.simulation.world.time.step_ns))

    @property
    def playing(self) -> bool:
        """Whether it is not paused."""
        return not self._loop.paused

    @property
    def speed(self) -> float:
        """The real-time factor, as measured."""
        return 0.0 if self._loop.paused else self._loop.pace().real_time_factor

    @property
    def speed_set(self) -> float:
        """The real-time factor, as set."""
        return self._loop.real_time_factor

    def play(self) -> None:
        """Resumes."""
        self._loop.resume()

    def pause(self) -> None:
        """Pauses."""
        self._loop.pause()

    def step(self) -> None:
        """Pause, then advance by a sixtieth of a second, in whole steps of the world."""

        def pause_and_step() -> None:
            self._loop.pause()
            self._loop.step(self._steps)

        self._loop.call(pause_and_step)

    def reset(self) -> None:
        """Go back to the world's start."""
        self._loop.reset()

    def set_speed(self, speed: float) -> None:
        """Set the real-time factor."""
        self._loop.set_real_time_factor(speed)

    def seek(self, time_ns: int) -> None:
        """Do nothing: a run cannot seek."""
        raise NotImplementedError
