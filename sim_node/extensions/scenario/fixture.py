"""Runs in tests: stepping until a formula holds, and reading signals."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from sim_node.extensions.scenario.expectations import Expect, Expectation
from sim_node.extensions.scenario.judging import Judge, expect_of
from sim_node.extensions.scenario.sampling import RunSignals, SignalCondition
from sim_node.extensions.scenario.verdicts import PASS, Verdict
from sim_node.session import Session
from sim_node.simulation import Simulation
from sim_node.world import World, load
from sim_node.world.autopilots import autopiloted
from sim_node.world.locate import LocateError, locate


class NotMet(AssertionError):
    """A formula did not hold in time. The message gives the time and the values of its signals."""


class SimRun:
    """A run of a world in a test. Simulated time advances only on request.

    Args:
        world: The world.
        seed: Seed of all randomness.
        sensors: Whether sensors measure.

    Attributes:
        world: The world.
        seed: The seed.
        simulation: The run.
        session: The session of the run, if it has autopilots.
        zones: The zones of its expectations.
    """

    def __init__(self, world: World, seed: int, *, sensors: bool) -> None:
        self.world, self.seed = world, seed
        self._opened = ExitStack()
        self.session: Session | None = None
        expect = expect_of(world)
        self.zones = expect.zone() if expect else {}
        if autopiloted(world):
            self.session = self._opened.enter_context(Session(world, seed=seed, real_time_factor=0.0))
            self.simulation = self.session.simulation
        else:
            self.simulation = Simulation(world, seed, sensors=sensors)
            self._opened.callback(self.simulation.close)
        self._judge = None if expect is None else Judge(self.simulation)

    @property
    def time(self) -> float:
        """Simulated time since the start, s."""
        return (self.simulation.time_ns - self.simulation.world.time.start_ns) * 1e-9

    def run(self, seconds: float) -> SimRun:
        """Advance simulated time, s. Return the run."""
        if self.session is not None:
            self.session.run(seconds)
        else:
            self.simulation.run(seconds)
            self.simulation.present()  # raises Diverged
        return self

    def until(self, formula: str, seconds: float) -> float:
        """Run until a formula over signals holds.

        Args:
            formula: The formula, such as "landed(drone)" or "altitude(drone) > 2 m for at least 1 s".
            seconds: The limit of simulated time, s.

        Returns:
            The simulated time since the start, s.

        Raises:
            NotMet: The formula does not hold within this time.
            FormulaError: The formula is invalid, or the run has no such signal.
        """
        __tracebackhide__ = True  # pytest shows the line of the test
        condition = SignalCondition(self.simulation, formula, zones=self.zones)
        step_s = self.simulation.world.time.step_ns * 1e-9
        steps = self.simulation.world.time.nearest_steps(round(seconds * 1e9))[0]
        try:
            if condition.evaluate():
                return self.time
            for _ in range(steps):
                if self.session is None:
                    self.simulation.step()
                else:
                    self.session.run(step_s)
                if condition.evaluate():
                    return self.time
            self.simulation.present()  # raises Diverged
        finally:
            condition.close()
        shown = ", ".join(f"{name} = {float(value[0]):.6g}" for name, value in condition.values.items())
        raise NotMet(f"{formula}: did not hold by {self.time:g} s: {shown}")

    def value(self, signal: str) -> float:
        """Return the current value of a signal such as "altitude(drone)". Raises FormulaError if there is none."""
        signals = RunSignals(self.simulation, [signal], self.zones)
        try:
            return float(signals.now()[signal][0])
        finally:
            signals.close()

    @property
    def verdict(self) -> Verdict:
        """The verdict on the run so far by the world's own expectations. Raises ValueError if it has none."""
        if self._judge is None:
            raise ValueError(f"world {self.world.name!r} has no section `expect`")
        return self._judge.verdict(self._judge.samples())

    def close(self) -> None:
        """End the run."""
        self._opened.close()


class Sim:
    """The fixture `sim`: runs worlds in a test.

    Args:
        folder: The folder of the test, to which paths are relative.
        seed: The default seed of runs.
        sensors: Whether sensors measure.
    """

    def __init__(self, folder: Path, seed: int = 0, *, sensors: bool = True) -> None:
        self._folder, self._seed, self._sensors = folder, seed, sensors
        self.runs: list[tuple[SimRun, str]] = []

    def run(
        self, world: World | str | Path, *, seed: int | None = None, values: dict[str, float] | None = None
    ) -> SimRun:
        """Start a run.

        Args:
            world: A World, a path, beside the test or from the working directory, or the name of a shipped world.
            seed: Its seed.
            values: Changed numbers of the world by key path, such as {"bodies[ball].inertial.mass": 2.0}.

        Returns:
            The run, at its start.

        Raises:
            WorldError: The world is invalid.
        """
        found = world if isinstance(world, World) else load(self._located(world))
        found = found.with_values(values) if values else found
        name = found.name if isinstance(world, World) else str(world)
        started = SimRun(found, self._seed if seed is None else seed, sensors=self._sensors)
        self.runs.append((started, name))
        return started

    def judge(
        self, world: World | str | Path, *must: str, duration: float | None = None, seed: int | None = None
    ) -> Verdict:
        """Run a world to its end, and return the verdict on it.

        Args:
            world: As for `run`.
            must: Expectations that replace those of the world.
            duration: Simulated time, s, instead of that in the world.
            seed: Its seed.

        Returns:
            The verdict.
        """
        from sim_node.extensions.scenario.runs import run_alone

        found = world if isinstance(world, World) else load(self._located(world))
        expect = expect_of(found)
        if must:
            zones = expect.zones if expect else ()
            expect = Expect(tuple(map(Expectation, must)), zones=zones)
            found = replace(found, parts={**found.parts, "expect": (expect,)})
        if expect is None:
            raise ValueError(f"world {found.name!r} has no section `expect`; say what must hold")
        seconds = expect.duration if duration is None else duration
        return run_alone(found, self._seed if seed is None else seed, round(seconds * 1e9)).verdict

    def passes(self, world: World | str | Path, *must: str, **more: Any) -> None:
        """Run a world to its end, and raise NotMet unless it passes. See `judge`."""
        __tracebackhide__ = True  # pytest shows the line of the test
        found = self.judge(world, *must, **more)
        if found.verdict != PASS:
            raise NotMet(f"{found.verdict}: {found.reason}")

    def summary(self) -> str:
        """Return a description of the runs, one line each."""
        return "\n".join(f"{name}: seed {run.seed}, {run.time:g} s simulated" for run, name in self.runs)

    def close(self) -> None:
        """End all runs."""
        for run, _ in self.runs:
            run.close()

    def _located(self, world: str | Path) -> Path:
        beside = self._folder / world
        if beside.is_file():
            return beside
        try:
            return locate(world)
        except LocateError as error:
            raise FileNotFoundError(str(error)) from None
