"""Running of a single case of a scenario, to keep its bag, to draw it, or to check that it is reproducible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sim_node.extensions.scenario.judging import Judge
from sim_node.extensions.scenario.timetable import Happened, happened
from sim_node.extensions.scenario.verdicts import Verdict
from sim_node.recording.settings import RecordingSettings
from sim_node.session import Session
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Diverged, World
from sim_node.world.autopilots import autopiloted
from sim_node.world.triggers import unfollowed


@dataclass(frozen=True)
class JudgedRun:
    """A judged run.

    Attributes:
        verdict: The verdict.
        digest: SHA-256 of its samples and of its final state.
        times: Simulation times (T,) of the samples, s.
        samples: The samples (T,) of each signal.
        log: The messages of the run, as pairs of its simulation time (s) and a sentence.
        events: Its events.
    """

    verdict: Verdict
    digest: str
    times: FloatArray
    samples: dict[str, FloatArray]
    log: tuple[tuple[float, str], ...] = ()
    events: tuple[Happened, ...] = ()


def run_alone(
    world: World,
    seed: int,
    duration_ns: int,
    *,
    bag: Path | None = None,
    watch: Callable[[Simulation], None] = lambda simulation: None,
    sensors: bool = True,
) -> JudgedRun:
    """Run a world that has expectations to its end, and judge it.

    Args:
        world: The world.
        seed: The seed.
        duration_ns: Simulated time, ns.
        bag: A new folder for a recording, or None.
        watch: Called with the run before it starts, to observe it.
        sensors: Whether sensors measure in a run without autopilots and recording.

    Returns:
        The judged run.

    Raises:
        WorldError: The world is invalid.
    """
    log: list[tuple[float, str]] = [(0.0, line) for line in unfollowed(world)]
    if bag is None and not autopiloted(world):
        simulation = Simulation(world, seed, sensors=sensors)
        judging = _observed(simulation, watch)
        ended = _ended(simulation, lambda: _step(simulation, duration_ns))
        return _judged(judging, ended, log)

    made: list[Simulation] = []

    def note(text: str) -> None:
        # Messages may also come before there is a run, while the world is prepared.
        log.append((sum(each.time_ns - each.world.time.start_ns for each in made) * 1e-9, text))

    session = Session(
        world,
        seed=seed,
        real_time_factor=0.0,
        duration_ns=duration_ns,
        record=bag,
        recording=RecordingSettings(),
        report=note,
        warn=note,
    )
    made.append(session.simulation)
    if autopiloted(world):  # observe after the autopilots in each exchange, as in a sweep
        with session:
            judging = Judge(session.simulation)
            watch(session.simulation)
            return _judged(judging, _ended(session.simulation, session.run), log)
    judging = _observed(session.simulation, watch)
    with session:
        return _judged(judging, _ended(session.simulation, session.run), log)


def _observed(simulation: Simulation, watch: Callable[[Simulation], None]) -> Judge:
    """Reset a run, so that nothing has been measured before, and return its judge."""
    judging = Judge(simulation)
    watch(simulation)
    simulation.reset()
    return judging


def _step(simulation: Simulation, duration_ns: int) -> None:
    simulation.step(simulation.world.time.nearest_steps(duration_ns)[0])
    simulation.present()  # raises Diverged


def _ended(simulation: Simulation, run: Callable[[], None]) -> str:
    """Run to the end. Return why the run ended early, or an empty string."""
    try:
        run()
    except Diverged:
        return f"the run diverged by {(simulation.time_ns - simulation.world.time.start_ns) * 1e-9:g} s"
    return ""


def _judged(judging: Judge, ended: str, log: Sequence[tuple[float, str]]) -> JudgedRun:
    samples = judging.samples()
    size = len(next(iter(samples.values()), ()))
    times = np.asarray((judging.start_ns + np.arange(size, dtype=np.int64) * judging.period_ns) * 1e-9, dtype=float)
    events = happened(judging.simulation)
    lines = {str(each) for each in events}  # the session also logs them
    rest = tuple((at, text) for at, text in log if text not in lines)
    return JudgedRun(judging.verdict(samples, ended), judging.digest(samples), times, samples, rest, events)
