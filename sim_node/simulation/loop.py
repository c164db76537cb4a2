"""The loop: steps a Simulation, passes Snapshots to sinks when they are due, and runs calls between ticks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from sim_node.assembly import assemble
from sim_node.simulation.generation import Generation
from sim_node.simulation.pacing import Pace, Pacer, Ticks, last_step, not_negative
from sim_node.simulation.run_view import RunView
from sim_node.simulation.simulation import PreparedGeneration, Simulation
from sim_node.simulation.sink import Refusing, Sink
from sim_node.simulation.verbs import Edit, Verbs
from sim_node.simulation.worker import Refused, Worker
from sim_node.world.fields import nanoseconds, within
from sim_node.world.load import load
from sim_node.world.model import World
from sim_node.world.problems import RunFailed

T = TypeVar("T")


class Loop(Verbs):
    """Runs a simulation in a thread of its own. All methods may be called from any thread, including the loop's.

    After the end of the loop, calls raise Refused. A sink may make any call except `run`, `reset`, `change` and `step`,
    which would change the tick that other sinks have not received yet.

    Args:
        simulation: The simulation to step.
        sinks: Receive each published snapshot, in this order.
        publish_rate: Snapshots per simulated second (Hz).
        real_time_factor: Simulated seconds per wall second; 0 runs as fast as possible.
        paused: Whether to start paused.
        duration_ns: Simulated time after which the loop ends; None to run until stopped.

    Raises:
        ValueError: A rate, a factor or a duration is out of range.
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
        self._duration_ns = duration_ns
        self._last_step = last_step(duration_ns, simulation.world.time)
        self._opened: list[Sink] = []
        # The generation of the simulation for which the sinks were opened.
        self._shown = 0
        # Step at which `run` pauses, and a future that is set to whether it was reached.
        self._goal: tuple[int, Future[bool]] | None = None
        # Whether a step or a tick is in progress.
        self._busy = False
        self._worker = Worker("simulation", self._work)
        if paused:
            self._pacer.stop()

    def call(self, function: Callable[[], T]) -> T:
        """Run a function between two ticks and return its result.

        The simulation does not advance meanwhile, so the function may read and change it. From the loop's own thread (a
        sink, another call), it runs immediately; before `start`, it runs in the caller's thread. A KeyboardInterrupt
        cancels a call that has not started.

        Args:
            function: Called without arguments. Its exceptions are raised to the caller and do not end the loop.

        Returns:
            What the function returned.

        Raises:
            Refused: The loop has ended.
        """
        return self._worker.call(function)

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Run a function between two ticks, without waiting for it.

        Args:
            function: Called without arguments in the loop's thread.

        Returns:
            Its result or exception, set in the loop's thread; Refused if the loop ends first.

        Raises:
            Refused: The loop has ended.
        """
        return self._worker.submit(function)

    def post(self, function: Callable[[], object]) -> None:
        """Run a function between two ticks, without waiting for it. It is dropped if the loop ends first.

        Args:
            function: Called without arguments in the loop's thread. It must not raise.
        """
        self._worker.post(function)

    def start(self, ended: Callable[[], None] = lambda: None) -> None:
        """Start the thread.

        Args:
            ended: Called from the loop's thread when the loop is over, for whatever reason.
        """
        self._worker.start(ended)

    def run(self, duration: float) -> None:
        """Let time run for a duration, then pause. Blocks until then.

        The duration is rounded to whole steps; the remainder is carried over to the next call, as in Simulation.run.
        The last step is published even if no tick is due. A KeyboardInterrupt pauses the loop earlier. An error that
        ends the loop is raised.

        Args:
            duration: Simulated time, s.

        Raises:
            ValueError: The duration is out of range.
            Refused: The loop has not started, is in another `run`, or has ended; or the caller is the loop's thread.
        """
        duration_ns = not_negative(nanoseconds(duration))
        if self._worker.is_current:
            raise Refused("a sink cannot wait for its own loop; call run from another thread")
        if not self._worker.started:
            raise Refused("the loop has not been started")
        arrived: Future[bool] = Future()
        try:
            self.call(lambda: self._set_goal(duration_ns, arrived))
            there = arrived.result()
        except KeyboardInterrupt:
            self._worker.post(lambda: self._drop_goal(arrived))
            raise
        if not there:
            self.wait()
            raise self._worker.over()

    def wait(self) -> None:
        """Wait for the end of the loop. The error that ended it, if any, is raised once."""
        self._worker.join()

    def stop(self) -> None:
        """End the loop after the current tick, and wait for it unless called by a sink.

        The error that ended the loop, if any, is raised once.
        """
        self._worker.end()
        self.simulation.interrupt()
        self.wait()

    def pause(self) -> None:
        """Pause simulation time."""
        self.call(self._pause)

    def resume(self) -> None:
        """Resume simulation time."""
        self.call(self._resume)

    def reset(self, seed: int | None = None) -> None:
        """Reset the run to the start of the world. It stays running or paused.

        Args:
            seed: A new seed; None keeps the current one.
        """
        self.call(lambda: self._reset(lambda: self.simulation.reset(seed)))

    def restart(self, seed: int | None = None) -> None:
        """Go back to the start of the present world, with everything added to it. It stays running or paused.

        Args:
            seed: A new seed; None keeps the current one.
        """
        self.call(lambda: self._reset(lambda: self.simulation.restart(seed)))

    def reset_time(self) -> None:
        """Set time back to the start; everything else keeps its state. See `Simulation.reset_time`."""
        self.call(lambda: self._reset(self.simulation.reset_time))

    def reset_state(self) -> None:
        """Return everything except time to its state at the start; see `Simulation.reset_state`."""
        self.call(lambda: self._reset(self.simulation.reset_state))

    def load(self, world: World | str | Path) -> None:
        """Replace the world of the run by another one, at its start; see `Verbs.load`.

        Args:
            world: The world.
        """
        self.enter_loaded(self.prepare_load(world))

    def prepare_load(self, world: World | str | Path) -> Generation:
        """Load and lay out a world for `enter_loaded`, in the caller's thread, while the run continues.

        Args:
            world: The world.

        Returns:
            The first generation of that world.
        """
        return self.simulation.prepare_load(assemble(world if isinstance(world, World) else load(world)))

    def enter_loaded(self, after: Generation) -> None:
        """Replace the world of the run by a prepared one, at its start; see `Verbs.load`.

        Args:
            after: The result of `prepare_load`.
        """
        self.call(lambda: self._load(after))

    def change_from(self, before: World, after: World) -> bool:
        """Replace the world like `change`, but lay out the next one in the caller's thread while the run continues.

        Args:
            before: The world from which the next one was derived.
            after: The next world.

        Returns:
            False, without any change, if the run no longer has the world `before`.
        """
        if self.simulation.world is not before:
            return False
        prepared = self.simulation.prepare(assemble(after))
        return self.call(lambda: self._enter(prepared))

    def step(self, steps: int = 1) -> None:
        """Advance a paused simulation and publish the result.

        Args:
            steps: Number of steps of the world's time grid.

        Raises:
            Refused: The simulation is not paused.
            ValueError: The number of steps is out of range.
        """
        self.call(lambda: self._step(steps))

    def edit(self, make: Callable[[RunView], Edit | None]) -> None:
        """Change the run between two ticks, reopen the sinks if its world has changed, and publish the instant."""
        self.call(lambda: self._edit(make))

    def set_real_time_factor(self, factor: float) -> None:
        """Change the speed from now on.

        Args:
            factor: Simulated seconds per wall second; 0 runs as fast as possible.

        Raises:
            ValueError: The factor is out of range.
        """
        self.call(lambda: self._pacer.set_real_time_factor(factor))

    def set_publish_rate(self, rate: float) -> None:
        """Change the publish rate from now on.

        Args:
            rate: Snapshots per simulated second (Hz).

        Raises:
            ValueError: The rate is not finite or not above zero.
        """
        self.call(lambda: self._set_publish_rate(rate))

    @property
    def real_time_factor(self) -> float:
        """The real-time factor that was set."""
        return self._pacer.factor

    def pace(self) -> Pace:
        """Return figures of how well the loop keeps up with the wall clock, over the last ticks."""
        return self._pacer.pace()

    # In the loop's thread

    def _work(self) -> None:
        try:
            self._shown = self.simulation.generation
            for sink in self._sinks:
                sink.open(self.simulation.world, self.simulation.frames)
                self._opened.append(sink)
            self._restart()
            while not self._over():
                self._turn()
        except BaseException as failure:  # recorded before any error of closing
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
        self._worker.end()
        if self._goal is not None:
            self._goal[1].set_result(False)

    def _over(self) -> bool:
        return self._worker.stopping or (self._last_step is not None and self.simulation.steps >= self._last_step)

    def _turn(self) -> None:
        """Run all pending calls, then one tick if it is due; otherwise wait for either.

        All calls are run before a tick, because a loop that is behind always has a tick due, which would delay each.
        """
        self._worker.serve(threading.TIMEOUT_MAX if self.paused else self._until_due())
        if self._over() or self.paused or self._until_due() > 0.0:
            return
        step = self._next_step()
        # When running as fast as possible, wait for images; otherwise, the clock has priority.
        self._advance(step - self.simulation.steps, wait=self._pacer.free)
        goal = self._goal
        if step == self._ticks.due or (goal and step >= goal[0]):
            self._publish()
        if goal and step >= goal[0]:
            self._drop_goal(goal[1])

    def _until_due(self) -> float:
        """Return the seconds until the next step that is published, or at which `run` or the loop ends."""
        grid = self.simulation.world.time
        return self._pacer.wait(grid.start_ns + self._next_step() * grid.step_ns)

    def _next_step(self) -> int:
        """Return the step of the next tick or of the end of the loop or `run`, whichever is first."""
        step = self._ticks.due
        step = step if self._last_step is None else min(step, self._last_step)
        return step if self._goal is None else max(min(step, self._goal[0]), self.simulation.steps)

    def _advance(self, steps: int, *, wait: bool = True) -> None:
        self._busy = True
        try:
            self.simulation.step(steps, wait=wait)
        except RunFailed as failure:  # end the loop, even if a call made the step
            self._worker.fail(failure)
            raise
        finally:
            self._busy = False

    def _publish(self) -> None:
        if not self._worker.started:
            return  # the first tick will publish it
        if not self.paused:
            self._pacer.ticked(self.simulation.time_ns)
        self._busy = True
        try:
            snapshot = self.simulation.present()
            if self._shown != self.simulation.generation:
                self._shown = self.simulation.generation
                for sink in self._opened:
                    sink.open(self.simulation.world, self.simulation.frames)
            for sink in self._opened:
                sink.write(snapshot)
        except BaseException as failure:  # end the loop, even if a call triggered it
            self._worker.fail(failure)
            raise
        finally:
            self._busy = False
        self._ticks.pass_by(self.simulation.steps)

    def _set_goal(self, duration_ns: int, arrived: Future[bool]) -> None:
        if self._goal is not None:
            raise Refused("the loop is already in another run")
        simulation, grid = self.simulation, self.simulation.world.time
        steps, remainder_ns = grid.nearest_steps(simulation.remainder_ns + duration_ns)
        within(simulation.time_ns + steps * grid.step_ns)
        simulation.remainder_ns = remainder_ns
        self._goal = simulation.steps + steps, arrived
        if steps:
            self._resume()
        else:
            self._drop_goal(arrived)

    def _drop_goal(self, arrived: Future[bool]) -> None:
        if self._goal is not None and self._goal[1] is arrived:
            self._goal = None
            self._pause()
            arrived.set_result(True)

    def _restart(self) -> None:
        """Publish the current step as the first tick. Time continues when that is done."""
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

    def _reset(self, rewind: Callable[[], None]) -> None:
        self._refuse_busy("reset")
        rewind()
        self._restart()

    def _load(self, after: Generation) -> None:
        self._refuse_busy("load")
        self._accepted(after.world)
        self.simulation.enter_loaded(after)
        self._last_step = last_step(self._duration_ns, after.world.time)
        self._restart()

    def _enter(self, prepared: PreparedGeneration) -> bool:
        self._refuse_unchangeable()
        self._accepted(prepared.after.world)
        if not self.simulation.enter(prepared):
            return False
        self._publish_change()
        return True

    def _accepted(self, world: World) -> World:
        """Return the assembled world itself. Raises Refused if a sink cannot follow the change."""
        for sink in self._opened:
            if isinstance(sink, Refusing) and (reason := sink.refuses(world)):
                raise Refused(reason)
        return world

    def _edit(self, make: Callable[[RunView], Edit | None]) -> None:
        self._refuse_unchangeable()

        def accepted(run: RunView) -> Edit | None:
            edit = make(run)
            return None if edit is None else edit._replace(world=self._accepted(assemble(edit.world)))

        self.simulation.edit(accepted)
        self._publish_change()

    def _step(self, steps: int) -> None:
        self._refuse_busy("step")
        if not self.paused:
            raise Refused("the simulation is running; pause it to step")
        self._advance(steps)
        self._pacer.anchor(self.simulation.time_ns)
        self._publish()

    def _refuse_busy(self, what: str) -> None:
        if self._busy:
            raise Refused(f"a sink cannot {what} the simulation during a tick; call from another thread")

    def _refuse_unchangeable(self) -> None:
        """Raise Refused during a step or a tick. Timetables, which act between two steps, may change the world."""
        if not self.simulation.happening:
            self._refuse_busy("change")

    def _publish_change(self) -> None:
        """Publish the instant, unless the next tick will."""
        if not self.simulation.happening:
            self._publish()

    def _set_publish_rate(self, rate: float) -> None:
        """Count ticks from the current step, so that a slow rate does not delay a faster one."""
        grid = self.simulation.world.time
        step = -((grid.start_ns - self._pacer.now_ns()) // grid.step_ns)
        self._ticks = Ticks(rate, grid.step_ns, min(max(step, self.simulation.steps + 1), self._ticks.due))
        self._publish_rate = rate
        self._pacer.forget()
