"""What the buttons of the panel steer: a run, or a bag."""

from __future__ import annotations

from typing import Protocol

from sim_node.simulation import Loop

# Of the panel's choice of speeds; 0 is as fast as possible.
SPEEDS = {"0.1": 0.1, "0.25": 0.25, "0.5": 0.5, "1": 1.0, "2": 2.0, "5": 5.0, "10": 10.0, "max": 0.0}


class Transport(Protocol):
    """Something that plays. Its methods may be called from any thread; what they refuse they raise."""

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last time, ns, of what can be sought; None for a run, which only goes on."""

    @property
    def playing(self) -> bool:
        """Whether time goes on."""

    @property
    def speed(self) -> float:
        """Seconds of it per second, as measured."""

    @property
    def speed_set(self) -> float:
        """Seconds of it per second, as set; 0 for as fast as possible."""

    def play(self) -> None:
        """Lets time go on."""

    def pause(self) -> None:
        """Stops it."""

    def step(self) -> None:
        """One step on, while paused."""

    def reset(self) -> None:
        """Back to the start."""

    def set_speed(self, speed: float) -> None:
        """Changes the speed; 0 for as fast as possible."""

    def seek(self, time_ns: int) -> None:
        """To a time within the span."""


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
        """Its real time factor, as measured."""
        return 0.0 if self._loop.paused else self._loop.pace().real_time_factor

    @property
    def speed_set(self) -> float:
        """Its real time factor, as set."""
        return self._loop.real_time_factor

    def play(self) -> None:
        """Resumes."""
        self._loop.resume()

    def pause(self) -> None:
        """Pauses."""
        self._loop.pause()

    def step(self) -> None:
        """One sixtieth of a second, in whole steps of the world; pauses first."""

        def pause_and_step() -> None:
            self._loop.pause()
            self._loop.step(self._steps)

        self._loop.call(pause_and_step)

    def reset(self) -> None:
        """Back to the world's start."""
        self._loop.reset()

    def set_speed(self, speed: float) -> None:
        """Sets the real time factor."""
        self._loop.set_real_time_factor(speed)

    def seek(self, time_ns: int) -> None:
        """A run has no other times to go to."""
        raise NotImplementedError
