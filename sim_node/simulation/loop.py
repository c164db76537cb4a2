"""The loop: steps a Simulation, hands due Snapshots to sinks, and obeys pause, step, reset and speed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from sim_node.simulation.pacing import Pace, Pacer, Ticks
from sim_node.simulation.simulation import Simulation
from sim_node.simulation.snapshot import Snapshot
from sim_node.simulation.worker import Refused, Worker
from sim_node.world.frame_table import FrameTable
from sim_node.world.instants import within
from sim_node.world.model import TimeGrid, World


class Sink(Protocol):
    """Something that shows, sends or keeps a run."""

    def open(self, world: World, frames: FrameTable) -> None:
        """The run begins."""

    def write(self, snapshot: Snapshot) -> None:
        """One instant; its arrays are the loop's and change after this returns. An earlier time means a reset."""

    def close(self) -> None:
        """The run is over."""


class Loop:
    """Runs a simulation in a thread of its own. All methods may be called from any thread but a sink's.

    publish_rate: snapshots per simulated second; real_time_factor: simulated per wall second, 0 for as fast
    as possible; duration_ns: simulated time after which the loop ends by itself. Raises ValueError for a rate, a
    factor or a duration out of range. Requests after the end, and those that the end overtakes, raise Refused.
    """

    def __init__(
        self,
        simulation: Simulation,
        sinks: Sequence[Sink],
        *,
        publish_rate: float = 60.0,
        real_time_factor: float = 1.0,
        paused: bool = False,
        duration_ns: int | None = None,
    ) -> None:
        self.simulation = simulation
        self.paused = paused
        self._sinks = sinks
        self._publish_rate = publish_rate
        self._pacer = Pacer(real_time_factor)
        self._ticks = Ticks(publish_rate, simulation.world.time.step_ns, 0)
        self._last_step = None if duration_ns is None else _last_step(duration_ns, simulation.world.time)
        self._opened: list[Sink] = []
        self._worker = Worker("simulation", self._work)
        if paused:
            self._pacer.stop()

    # What others ask of the loop

    def start(self, ended: Callable[[], None] = lambda: None) -> None:
        """Starts the thread; `ended` is called from it when the loop is over, for whatever reason."""
        self._worker.start(ended)

    def stop(self) -> None:
        """Ends the loop after the tick that it is in, and waits for it. Raises what made it fail."""
        self._worker.end()
        self.simulation.interrupt()
        self._worker.join()

    def pause(self) -> None:
        """Stops the simulation's time."""
        self._worker.ask(self._pause)

    def resume(self) -> None:
        """Lets it go on."""
        self._worker.ask(self._resume)

    def reset(self, seed: int | None = None) -> None:
        """Back to the world's start, running or paused as before, with another seed if one is given."""
        self._worker.ask(lambda: self._reset(seed))

    def step(self, steps: int = 1) -> None:
        """Advances a paused simulation and publishes where it came to. Raises Refused while it runs, ValueError."""
        self._worker.ask(lambda: self._step(steps))

    def set_real_time_factor(self, factor: float) -> None:
        """Changes the speed from now on. Raises ValueError."""
        self._worker.ask(lambda: self._pacer.set_real_time_factor(factor))

    def set_publish_rate(self, rate: float) -> None:
        """Changes the rate from now on. Raises ValueError."""
        self._worker.ask(lambda: self._set_publish_rate(rate))

    @property
    def real_time_factor(self) -> float:
        """The speed as it was set."""
        return self._pacer.factor

    def pace(self) -> Pace:
        """How the loop keeps up."""
        return self._pacer.pace()

    # What the thread does

    def _work(self) -> None:
        try:
            for sink in self._sinks:
                sink.open(self.simulation.world, self.simulation.frames)
                self._opened.append(sink)
            self._restart()
            while not self._worker.stopping and not self._finished():
                self._turn()
        except BaseException as failure:  # the first thing to be told, before what then fails to close
            self._worker.fail(failure)
        finally:
            self._close()

    def _close(self) -> None:
        to_close: list[Sink | Simulation] = [*self._opened, self.simulation]
        for opened in to_close:
            try:
                opened.close()
            except BaseException as failure:  # noqa: PERF203  the others are closed all the same
                self._worker.fail(failure)

    def _finished(self) -> bool:
        return self._last_step is not None and self.simulation.steps >= self._last_step

    def _turn(self) -> None:
        """One tick when it is due, one request when there is one, else a wait for either."""
        step = self._ticks.due if self._last_step is None else min(self._ticks.due, self._last_step)
        due_ns = self.simulation.world.time.start_ns + step * self.simulation.world.time.step_ns
        wait = threading.TIMEOUT_MAX if self.paused else self._pacer.wait(due_ns)
        if self._worker.serve(wait) or self._worker.stopping or self.paused:
            return
        if self._pacer.wait(due_ns) <= 0.0:
            # As fast as possible is as fast as pictures are drawn; else the clock goes before them.
            self.simulation.step(step - self.simulation.steps, wait=self._pacer.free)
            if step == self._ticks.due:
                self._publish()

    def _publish(self) -> None:
        if not self._worker.started:
            return  # its first tick will show it
        if not self.paused:
            self._pacer.ticked(self.simulation.time_ns)
        snapshot = self.simulation.present()
        try:
            for sink in self._opened:
                sink.write(snapshot)
        except BaseException as failure:  # ends the loop, also where a request had it publish
            self._worker.fail(failure)
            raise
        self._ticks.pass_by(self.simulation.steps)

    def _restart(self) -> None:
        """Publishes the present step as the first tick; time goes on from when that is done."""
        self._ticks = Ticks(self._publish_rate, self.simulation.world.time.step_ns, self.simulation.steps)
        self._pacer.anchor(self.simulation.time_ns)
        self._publish()
        self._pacer.anchor(self.simulation.time_ns)

    def _pause(self) -> None:
        self.paused = True
        self._pacer.stop()

    def _resume(self) -> None:
        self.paused = False
        self._pacer.go()

    def _reset(self, seed: int | None) -> None:
        self.simulation.reset(seed)
        self._restart()

    def _step(self, steps: int) -> None:
        if not self.paused:
            raise Refused("the simulation runs; pause it to step")
        self.simulation.step(steps)
        self._pacer.anchor(self.simulation.time_ns)
        self._publish()

    def _set_publish_rate(self, rate: float) -> None:
        """Ticks count anew from the step that it is by now, so that a slow rate does not hold back a faster one."""
        grid = self.simulation.world.time
        step = -((grid.start_ns - self._pacer.now_ns()) // grid.step_ns)
        self._ticks = Ticks(rate, grid.step_ns, min(max(step, self.simulation.steps + 1), self._ticks.due))
        self._publish_rate = rate
        self._pacer.forget()


def _last_step(duration_ns: int, grid: TimeGrid) -> int:
    """The first step at or after a duration, which must end within int64 nanoseconds."""
    if duration_ns < 0:
        raise ValueError(f"duration: {duration_ns / 1e9:g} s; zero or more is needed")
    step = -(-duration_ns // grid.step_ns)
    within(grid.start_ns + step * grid.step_ns)
    return step
