"""Runs of worlds in Python: ticks as fast as possible or in real time, with callbacks, processes and a recording."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from graphlib import CycleError, TopologicalSorter
from types import FrameType

from sim_node.extensions.elodin.capture import Captured
from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.live import Live
from sim_node.extensions.elodin.pacing import Pacing
from sim_node.extensions.elodin.s10 import PyRecipe
from sim_node.extensions.elodin.sensor_cameras import CameraFrames, Pixels, SensorCamera
from sim_node.extensions.elodin.session.samples import Samples, SampleSink
from sim_node.extensions.elodin.session.settings import RunSettings
from sim_node.extensions.elodin.step_context import Stepper
from sim_node.interrupt import PATIENCE_S
from sim_node.simulation.programs import ProgramFault, Supervisor
from sim_node.text import did_you_mean
from sim_node.world.model import World

# Delay until a dropped interrupt is raised again, s.
AGAIN_S = 0.05


class Ending:
    """Context manager in which SIGINT and SIGTERM request the end of a run by setting `asked`.

    While `open` is set they raise KeyboardInterrupt, because a blocking function such as time.sleep would otherwise
    continue after the signal. A second request raises it anywhere. Outside the main thread, signals are left alone.

    Attributes:
        asked: Whether the end was requested.
        open: Whether KeyboardInterrupt may be raised, because a user's function runs or the run waits.
    """

    def __init__(self) -> None:
        self.asked = self.open = False
        self._since = 0.0
        self._handlers: dict[signal.Signals, object] = {}
        self._unraisable = sys.unraisablehook

    def __enter__(self) -> Ending:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers[number] = signal.signal(number, self._handle)
            self._unraisable, sys.unraisablehook = sys.unraisablehook, self._lost
        return self

    def __exit__(self, *of: object) -> None:
        if self._handlers:
            sys.unraisablehook = self._unraisable
        for number, handler in self._handlers.items():
            # None stands for a handler that was not set by Python, which cannot be restored.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # type: ignore[arg-type]

    @property
    def installed(self) -> bool:
        """Whether signals are handled here."""
        return bool(self._handlers)

    def sleep(self, seconds: float) -> None:
        """Wait for a time, s. Raises KeyboardInterrupt if the end is requested."""
        self.open = True
        if self.asked:
            raise KeyboardInterrupt
        time.sleep(seconds)
        self.open = False

    def _lost(self, lost: sys.UnraisableHookArgs) -> None:
        """Raise a KeyboardInterrupt again that Python dropped, for example in the garbage collector."""
        if lost.exc_type is KeyboardInterrupt:
            self.open = True
            # Raise it later, outside the code that dropped it.
            again = threading.Timer(AGAIN_S, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
            again.daemon = True
            again.start()
        else:
            self._unraisable(lost)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        second = self.asked and now > self._since + PATIENCE_S
        if not self.asked:
            self.asked, self._since = True, now
        if self.open or second:
            self.open = False
            raise KeyboardInterrupt


# Time between two checks whether a process is ready, s.
READY_LOOK_S = 0.02

# Ticks without callbacks are computed in calls of about this duration, s. A request to end waits for the current call.
CALL_S = 0.05
# In real time, ticks at rates above this, Hz, are computed in groups.
MAX_PACES = 200.0


class Run:
    """One run of a world.

    Args:
        captured: The world, and its callbacks.
        settings: How to run it.
        recipes: Processes to be run beside it.
        sink: Makes the recorder, given the start time in the recording, us; None for no recording.
        seen: Makes the world that its cameras see; None without cameras.

    Attributes:
        live: The state.
        start_us: The start time, us.
    """

    def __init__(
        self,
        captured: Captured,
        settings: RunSettings,
        recipes: Sequence[PyRecipe] = (),
        sink: Callable[[int], SampleSink] | None = None,
        seen: Callable[[], World] | None = None,
    ) -> None:
        pre_step, post_step = captured.pre_step, captured.post_step
        self.live = Live(captured.program)
        self.settings = settings
        self.start_us = time.time_ns() // 1000 if settings.start_timestamp is None else settings.start_timestamp
        self._recipes = recipes
        self._processes = Supervisor(lambda line: settings.say("info", line))
        self._samples = None if sink is None else Samples(self.live, self.start_us, sink)
        self._stepper = Stepper(
            self.live,
            pre_step,
            post_step,
            self.start_us,
            self._processes.ask_to_end,
            None if self._samples is None else self._samples.written,
            (lambda: None) if self._samples is None else self._samples.truncate,
            None if seen is None else CameraFrames(captured.cameras, self.live, seen, self._frame),
        )
        asked = (pre_step, post_step, settings.is_canceled)
        self._called = any(each is not None for each in asked) or self._stepper.frames.has_rates
        self._pacing: Pacing | None = None

    def run(self) -> int:
        """Run until the end. Return the number of the tick after the last one.

        Raises:
            EcsError: A process of a recipe cannot be started, or is not ready in time.
            Exception: A callback raised it.
        """
        with Ending() as ending:
            try:
                with self._processes:
                    self._start_recipes(ending)
                    if self._samples is not None:
                        self._samples.all(0)
                    if (period := self.settings.run_time_step) is not None:
                        self._pacing = Pacing(period, self.settings.sim_time_step)
                    done = self._with_callbacks(ending) if self._called else self._alone(ending)
                    if done:
                        self._pause(ending)
            except KeyboardInterrupt:
                if not ending.asked:
                    raise
            finally:
                if self._pacing is not None:
                    self._pacing.write()
                if self._samples is not None:
                    self._samples.close()
        return self._stepper.tick

    def _frame(self, camera: SensorCamera, stamp_us: int, frame: Pixels) -> None:
        if self._samples is not None:
            self._samples.frame(camera, stamp_us, frame)

    def _start_recipes(self, ending: Ending) -> None:
        """Start each process when its dependencies are ready. Return when all processes are ready."""
        waiting: dict[str, Callable[[], None]] = {}
        for recipe in _in_order(self._recipes):
            for name in recipe.depends_on:
                waiting[name]()
            waiting[recipe.name()] = self._start(recipe, ending)
        for wait in waiting.values():
            wait()

    def _start(self, recipe: PyRecipe, ending: Ending) -> Callable[[], None]:
        """Start a process. Return a function that waits until it is ready."""
        within = f"recipe {recipe.name()!r}"
        try:
            ending.open = True
            program = recipe.startable()
            ending.open = False
            running = self._processes.start(program)
        except ProgramFault as fault:
            raise EcsError(str(fault), recipe.where, within) from None
        ready, began = recipe.ready, time.monotonic()

        def holds(since: float) -> bool:
            try:
                return ready is None or ready.holds(program, since)
            except ValueError as error:
                raise EcsError(f"ready: {error}", recipe.where, within) from None

        def wait() -> None:
            while not holds(since := time.monotonic() - began):
                if running.ended.is_set():
                    raise EcsError(f"ended before it was ready: {ready}", recipe.where, within)
                if since > recipe.timeout_s:
                    message = f"is not ready after {recipe.timeout_s:g} s: {ready}; ready_timeout= gives it longer"
                    raise EcsError(message, recipe.where, within)
                ending.sleep(READY_LOOK_S)

        return wait

    def _with_callbacks(self, ending: Ending) -> bool:
        """Run tick by tick. Return whether the requested number of ticks was reached."""
        stepper, end, canceled = self._stepper, self.settings.max_ticks, self.settings.is_canceled
        pacing, samples = self._pacing, self._samples
        while end is None or stepper.tick < end:
            if ending.asked:
                return False
            ending.open = True
            if canceled is not None and canceled():
                return False
            ran = stepper.step()
            ending.open = False
            if samples is not None:
                samples.before(stepper.tick)
            if ran and pacing is not None:
                pacing.wait(1, ending.sleep)
        return True

    def _alone(self, ending: Ending) -> bool:
        """Run many ticks per call. Return whether the requested number of ticks was reached."""
        end, real = self.settings.max_ticks, self.settings.run_time_step
        group, stepper = 1, self._stepper
        if real is not None:
            group = max(1, round(1.0 / (real * MAX_PACES)))
        while end is None or stepper.tick < end:
            if ending.asked:
                return False
            ticks = group if end is None else min(group, end - stepper.tick)
            began = time.monotonic()
            if self._samples is None:
                self.live.advance(ticks)
                self.live.block()
            else:
                ticks = min(ticks, self.live.program.chunk)
                self._samples.chunk(stepper.tick + 1, self.live.record(ticks))
            stepper.tick += ticks
            if self._pacing is not None:
                self._pacing.wait(ticks, ending.sleep)
                continue
            took = time.monotonic() - began
            if took < CALL_S and ticks == group:
                group *= 2
            elif took > 2 * CALL_S:
                group = max(1, group // 2)
        return True

    def _pause(self, ending: Ending) -> None:
        """Wait for Ctrl-C if the run is interactive."""
        terminal = sys.stdin is not None and sys.stdin.isatty()
        if self.settings.interactive and self.settings.max_ticks is not None and terminal and ending.installed:
            if self._samples is not None:
                self._samples.flush()
            text = f"Paused after {self.settings.max_ticks} ticks. Press Ctrl-C to end; interactive=False ends at once."
            print(text, file=sys.stderr, flush=True)
            while True:
                ending.sleep(3600.0)


def _in_order(recipes: Sequence[PyRecipe]) -> list[PyRecipe]:
    """Sort recipes so that each follows its dependencies. Raises EcsError."""
    named = {each.name(): each for each in recipes}
    for each in recipes:
        for name in each.depends_on:
            if name not in named:
                message = f"depends_on: there is no recipe {name!r}{did_you_mean(name, named)}"
                raise EcsError(message, each.where, f"recipe {each.name()!r}")
    try:
        return [named[name] for name in TopologicalSorter({n: r.depends_on for n, r in named.items()}).static_order()]
    except CycleError as error:
        circle = error.args[1]
        raise EcsError(
            f"depends_on goes in a circle: {' -> '.join(circle)}", named[circle[0]].where, "recipe"
        ) from None
