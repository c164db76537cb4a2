"""Running of the cases of a scenario with the engines of sweeps, with a certificate of each verdict."""

from __future__ import annotations

import math
import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sim_node.autopilots.installed import ARDUPILOT, NotInstalled, find
from sim_node.extensions.scenario.certificate import Certificate, digest_of, versions
from sim_node.extensions.scenario.judging import MEASURE, MEASURE_WITH_SENSORS, expect_of, has_sensors, row_of
from sim_node.extensions.scenario.results import Results, certificate_of
from sim_node.extensions.scenario.runs import JudgedRun, run_alone
from sim_node.extensions.scenario.scenarios import Scenario
from sim_node.extensions.scenario.verdicts import FAIL, PASS, VERDICTS
from sim_node.extensions.sweep import (
    SWEEP_ENGINES,
    Case,
    Cases,
    CaseWorker,
    Driver,
    Finished,
    Outcome,
    Prepared,
    Study,
    SweepEngine,
    Variation,
    prepare,
    quantiles,
    variation,
    varied,
)
from sim_node.randomness import stream
from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import World
from sim_node.world.autopilots import VEHICLES, Vehicle, autopiloted
from sim_node.world.part import misfits_of
from sim_node.world.problems import refuse, refuse_any
from sim_node.world.vehicles import Autopilot

# ArduCopter does not arm if the gyroscope is sampled less often.
_ARDUPILOT_STEP_NS = 1_000_000


def flown_by(world: World, kind: str) -> World:
    """Return a world whose autopilots are replaced by PX4 or ArduPilot on this machine, which its runs start.

    Args:
        world: The world.
        kind: PX4 or ARDUPILOT; empty for the world as it is.

    Returns:
        The world.

    Raises:
        WorldError: It has no autopilots, or the kind is not installed.
    """
    if not kind:
        return world
    if not autopiloted(world):
        refuse("autopilot", f"the world has no vehicle with an autopilot that {kind} could fly")
    try:
        find(kind, os.environ)
    except NotInstalled as error:
        refuse("autopilot", str(error))

    def flown(vehicle: Vehicle) -> Vehicle:
        if vehicle.autopilot is None:
            return vehicle
        instance = vehicle.autopilot.instance
        return replace(vehicle, autopilot=Autopilot(kind, instance, any_instance=True, installed=True))

    parts = {each: tuple(map(flown, world.parts.get(each, ()))) for each in VEHICLES}
    time = world.time
    if kind == ARDUPILOT and time.step_ns > _ARDUPILOT_STEP_NS:
        time = replace(time, step_ns=_ARDUPILOT_STEP_NS)
    return replace(world, time=time, **parts)


def autopilot_version(kind: str) -> dict[str, str]:
    """Return the version of an installed autopilot for certificates, by name; empty for no autopilot."""
    if not kind:
        return {}
    version = find(kind, os.environ).version
    return {kind: "unknown" if version is None else ".".join(map(str, version))}


# The standard deviation of the first generation, in ranks: the middle two thirds of each range.
_SPREAD = 1.0 / 3.0


def searched(
    vary: Sequence[Variation],
    runs: int,
    seed: int,
    judged: Callable[[int, dict[str, FloatArray]], Sequence[Certificate]],
) -> None:
    """Search with CMA-ES for runs with the least robustness.

    The search is in the ranks of the varied numbers, from 0 to 1 each, so that any distribution can be searched. After
    convergence it restarts with twice the population (Auger and Hansen, A restart CMA evolution strategy with
    increasing population size, CEC 2005). The same arguments and verdicts give the same runs.

    Args:
        vary: The varied numbers.
        runs: The total number of runs.
        seed: The seed of the search.
        judged: Runs a generation, given the number of its first run and the values (n,) of each path. Returns the
            certificates of the runs.
    """
    from cmaes import CMA

    random = stream(seed, "test", "search")
    size = max(len(vary), 2)  # CMA needs two dimensions
    bounds, population = np.tile([0.0, 1.0], (size, 1)), 4 + int(3 * math.log(size))
    mean, first, search = np.full(size, 0.5), 0, None
    while first < runs:
        if search is None or search.should_stop():
            if search is not None:
                mean, population = random.random(size), 2 * population
            search = CMA(mean, _SPREAD, bounds, seed=int(random.integers(2**31)), population_size=population)
        ranks = np.array([search.ask() for _ in range(search.population_size)])
        part = ranks[: runs - first].clip(0.0, np.nextafter(1.0, 0.0))
        found = judged(first, {each.path: quantiles(each, part[:, row]) for row, each in enumerate(vary)})
        if len(found) < len(part):  # stopped
            return
        first += len(part)
        if len(part) == len(ranks):
            search.tell(list(zip(ranks, map(margin, found), strict=True)))


def margin(of: Certificate) -> float:
    """Return the robustness of a run: -inf if it failed without one, inf if it passed or could not be judged."""
    if of.robustness is None:
        return -math.inf if of.verdict == FAIL else math.inf
    return of.robustness


BAGS = "bags"
# The default time limit of a case, s of wall time.
TIMEOUT_S = 600.0


@dataclass(frozen=True)
class RunPlan:
    """How scenarios are tested.

    Attributes:
        runs: The number of runs of each scenario.
        vary: The parameters that vary between the runs.
        seed: The seed of a single run; for several runs, the seed of the varied parameters and of the runs' seeds.
        duration: Simulated time of each run, s; None for that of each scenario.
        workers: The number of concurrent runs; None for one on each core.
        engine: Where they run, one of SWEEP_ENGINES.
        timeout: The time limit of a run, s of wall time.
        keep: The number of failed runs of each scenario that keep a bag.
        allow: Folders that worlds may read, in addition to their own.
        autopilot: The autopilot that replaces those of vehicles: px4 or ardupilot on this machine; empty to keep those
            of the world.
        search: Whether to search for the run with the least robustness instead of drawing parameters.
    """

    runs: int = 1
    vary: tuple[Variation, ...] = ()
    seed: int = 0
    duration: float | None = None
    workers: int | None = None
    engine: str = "processes"
    timeout: float = TIMEOUT_S
    keep: int = 3
    allow: tuple[Path, ...] = ()
    autopilot: str = ""
    search: bool = False


@dataclass(frozen=True)
class Tested:
    """A scenario with the verdicts on its runs.

    Attributes:
        scenario: The scenario.
        world: Its world.
        file: The file of the certificates.
        certificates: The certificates of its runs, in order.
        bags: The folders of the kept bags, by the numbers of their runs.
    """

    scenario: Scenario
    world: World
    file: Path
    certificates: tuple[Certificate, ...]
    bags: Mapping[int, Path]

    @property
    def worst(self) -> str:
        """The worst verdict."""
        return min((each.verdict for each in self.certificates), key=VERDICTS.index)

    @property
    def failed(self) -> list[Certificate]:
        """The certificates of runs that did not pass, the worst first."""
        return sorted((each for each in self.certificates if each.verdict != PASS), key=margin)

    @property
    def least(self) -> Certificate | None:
        """The certificate of the run with the least robustness, if there are several with varied numbers; or None."""
        varied = [each for each in self.certificates if each.values and each.robustness is not None]
        return min(varied, key=margin) if len(varied) > 1 else None

    def again(self, case: int) -> str:
        """Return the command that repeats a run."""
        return f"sim_node test --again {shlex.quote(f'{self.file}:{case}')}"

    def view(self, of: Certificate) -> str:
        """Return the command that shows the bag of a run at its violation; empty if it has no bag."""
        if of.case not in self.bags:
            return ""
        at = "" if of.violated_at is None else f" --at {of.violated_at:g}"
        return f"sim_node view {shlex.quote(str(self.bags[of.case]))}{at}"


class Here:
    """An engine of sweeps that runs cases one after the other in this process, for single runs."""

    workers = 1

    def __init__(self, prepared: Prepared) -> None:
        self._worker, self._waiting = CaseWorker(prepared.job), list[Cases]()

    def submit(self, cases: Cases) -> None:
        """Queue a batch."""
        self._waiting.append(cases)

    def wait(self, seconds: float) -> list[Finished]:
        """Run the next batch."""
        cases = self._waiting.pop(0)
        return [Finished(cases, list(self._worker.run(cases)))]

    def close(self) -> None:
        """Do nothing: nothing is open."""


def duration_of(world: World, plan: RunPlan) -> float:
    """Return the simulated time of each run, s. Raises WorldError for a world without expectations."""
    expect = expect_of(world)
    if expect is None:
        refuse("expect", "is missing: it says what must hold")
    return expect.duration if plan.duration is None else plan.duration


def judge_scenario(
    scenario: Scenario,
    plan: RunPlan,
    folder: Path,
    *,
    resume: bool = False,
    started: Callable[[Prepared, Results], None] = lambda prepared, results: None,
    progress: Callable[[int, int], None] = lambda done, failures: None,
    stop: Callable[[], bool] = lambda: False,
) -> Tested:
    """Run a scenario and judge its runs.

    Args:
        scenario: The scenario.
        plan: How it is tested.
        folder: Where its results go.
        resume: Whether to continue with the results in the folder.
        started: Called before the first run.
        progress: Called with the number of judged runs, and how many of them did not pass.
        stop: Returns whether to stop before the end.

    Returns:
        The verdicts.

    Raises:
        WorldError: The world, an expectation or a variation is invalid.
        ResultsFault: The folder cannot be used.
    """
    world = flown_by(scenario.load(plan.allow), plan.autopilot)
    duration = duration_of(world, plan)
    refuse_any(misfits_of(Simulation(world, sensors=has_sensors(world))))
    measure = MEASURE_WITH_SENSORS if has_sensors(world) else MEASURE
    vary = plan.vary
    if (plan.runs == 1 or plan.search) and not any(each.path == "seed" for each in vary):
        vary = (*vary, variation("seed", str(plan.seed)))
    study = Study(world, duration, vary, plan.runs, plan.seed, measures=(measure,))
    prepared = prepare(study)
    prepared = replace(prepared, job=replace(prepared.job, timeout_s=plan.timeout, block=1))
    reference = os.path.abspath(scenario.reference) if os.path.exists(scenario.reference) else scenario.reference
    duration_ns, flown = prepared.job.duration_ns, {**versions(), **autopilot_version(plan.autopilot)}
    blank = Certificate(
        *(scenario.name, reference, digest_of(world)), duration_ns=duration_ns, versions=flown, autopilot=plan.autopilot
    )
    results = Results(folder, blank, len(prepared.cases), resume=resume)
    with closing(results):
        started(prepared, results)
        if not results.done.all():
            with closing(_opened(prepared, plan, int((~results.done).sum()))) as engine:

                def show(done: int, failures: int) -> None:
                    found = results.certificates.values()
                    progress(len(found), sum(each.verdict != PASS for each in found))

                def judge(first: int, values: Mapping[str, FloatArray]) -> list[Certificate]:
                    numbers = slice(first, first + len(next(iter(values.values()))))
                    cases = prepared.cases.part(numbers)
                    generation = replace(prepared, cases=replace(cases, values={**cases.values, **values}))
                    Driver(generation, engine, _Rows(results.done[numbers], results.add), show, stop).run()
                    return [results.certificates[each] for each in cases.numbers.tolist() if results.done[each]]

                if plan.search:
                    searched(plan.vary, plan.runs, plan.seed, judge)
                else:
                    Driver(prepared, engine, results, show, stop).run()
        certificates = tuple(each for _, each in sorted(results.certificates.items()))
        bags = keep_bags(world, certificates, folder, plan.keep)
    return Tested(scenario, world, results.path, certificates, bags)


@dataclass
class _Rows:
    """A subset of the runs of results, for the driver of a sweep."""

    done: npt.NDArray[np.bool_]
    add: Callable[[Iterable[Outcome]], None]


def _opened(prepared: Prepared, plan: RunPlan, missing: int) -> SweepEngine:
    if plan.engine == "processes" and (plan.workers == 1 or missing == 1):
        return Here(prepared)
    return SWEEP_ENGINES[plan.engine](prepared.job, plan.workers, {})


def keep_bags(world: World, certificates: Sequence[Certificate], folder: Path, most: int) -> dict[int, Path]:
    """Repeat the worst failed runs and the last run that passed, and keep their bags.

    Args:
        world: The world.
        certificates: The certificates of all runs.
        folder: The folder of the results.
        most: The number of failed runs that keep a bag.

    Returns:
        The folders of the bags by the numbers of the runs.
    """
    failed = sorted((each for each in certificates if each.verdict != PASS and each.digest), key=margin)[:most]
    good = [each for each in certificates if each.verdict == PASS]
    kept: dict[int, Path] = {}
    for each in (*failed, *good[-1:] * bool(failed)):
        bag = folder / BAGS / f"{each.case:06}"
        kept[each.case] = bag
        if not (bag / "metadata.yaml").is_file():  # incomplete because the process was killed
            shutil.rmtree(bag, ignore_errors=True)
            bag.parent.mkdir(parents=True, exist_ok=True)
            run_again(world, each, bag=bag)
    return kept


def run_again(
    world: World,
    of: Certificate,
    *,
    bag: Path | None = None,
    watch: Callable[[Simulation], None] = lambda simulation: None,
) -> JudgedRun:
    """Repeat the run of a certificate. See `run_alone`."""
    return run_alone(
        varied(world, of.values), of.seed, of.duration_ns, bag=bag, watch=watch, sensors=has_sensors(world)
    )


def repeated(of: Certificate, allow: Sequence[Path] = ()) -> Certificate:
    """Repeat a run and return its new certificate.

    Args:
        of: The original certificate.
        allow: Folders that its world may read, in addition to its own.

    Returns:
        The certificate that it has now.

    Raises:
        WorldError: The world cannot be loaded.
    """
    world = flown_by(Scenario(of.scenario, of.world).load(allow), of.autopilot)
    blank = replace(of, world_digest=digest_of(world), versions={**versions(), **autopilot_version(of.autopilot)})
    found = run_again(world, of)
    row = row_of(found.verdict, found.digest)
    return certificate_of(blank, Outcome(Case(of.case, of.seed, of.values), "ok", "", row, 0.0))
