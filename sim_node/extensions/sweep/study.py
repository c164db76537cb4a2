"""Study: a sweep as data, and its preparation, which finds every fault before any case runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.extensions.sweep.components import cases_at_once, check_components, is_component_world, varied
from sim_node.extensions.sweep.functions import located, measure_of
from sim_node.extensions.sweep.in_place import find_in_place
from sim_node.extensions.sweep.job import OWN, Cases, Job, Keep, payload_of
from sim_node.extensions.sweep.keeping import check_kept, needs_session
from sim_node.extensions.sweep.measures import MEASURES, Measure
from sim_node.extensions.sweep.signals import MeasureFault
from sim_node.extensions.sweep.variations import (
    MAX_CASES,
    MAX_SEED,
    SAMPLINGS,
    SEED,
    Values,
    Variation,
    points_of,
    read_variations,
    seeds_of,
    values_of,
)
from sim_node.simulation import Simulation
from sim_node.text import did_you_mean
from sim_node.world import World, WorldError, load
from sim_node.world.declared import declared, given, places_of
from sim_node.world.fields import nanoseconds
from sim_node.world.locate import LocateError, locate
from sim_node.world.problems import NO_PLACE, NOWHERE, Place, Problem, refuse_any
from sim_node.world.quantities import ListOf, Number, Other, PartOf, Whole, Word
from sim_node.world.readers import keys
from sim_node.world.readers.yaml_values import Table, Value


def _beside(value: Value) -> str:
    """Read a reference to a file: beside the study if it exists there, otherwise the reference unchanged."""
    reference = value.text()
    file, colon, function = reference.partition(".py:")
    beside = Path(value.report.file).parent / (f"{file}.py" if colon else reference)
    return str(beside) + (f":{function}" if colon else "") if reference and beside.is_file() else reference


def _world(value: Value) -> str:
    errors = len(value.report.errors)
    reference = _beside(value)
    if len(value.report.errors) == errors:
        try:
            locate(reference)
        except LocateError as error:
            value.error(str(error))
    return reference


def _folder(value: Value) -> str:
    return str((Path(value.report.file).parent / value.text()).resolve())


_SPAN = Number(1e-9, 1e9)


@declared
class Study:
    """A sweep."""

    world: World | str | Path = given(
        Other(keys.text, _world), "A World, a path, a package:// URI, or the name of a shipped world"
    )
    duration: float = given(_SPAN, "Simulated time of each case", "s")
    vary: tuple[Variation, ...] = given(
        Other(lambda about: keys.by_name(about, keys.ANYTHING), read_variations),
        "The numbers that differ between the cases",
        default=(),
    )
    runs: int | None = given(
        Whole(1, MAX_CASES), "Number of cases; None for one of each combination of the lists and grids", default=None
    )
    seed: int = given(Whole(0, MAX_SEED), "Seed of the samples, and of the seeds of the cases", default=0)
    sampling: str = given(Word(SAMPLINGS), "How distributions are sampled", default=SAMPLINGS[0])
    measures: tuple[str, ...] = given(ListOf(Other(keys.text, _beside)), "The measures, as texts", default=())
    every: float | None = given(
        _SPAN, "Time between two recorded instants of signals; None for the world's step", "s", default=None
    )
    keep: Keep = given(PartOf(Keep), "What is kept of each case beside its row", default=Keep())
    allow: tuple[str, ...] = given(
        ListOf(Other(keys.text, _folder)), "Folders that the world may read, in addition to its own", default=()
    )
    places: Mapping[str, Place] = places_of()

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Record where each measure is given."""
        measures = table.get("measures")
        found["places"] |= {f"measures[{each.key}]": each.place for each in (measures.items() if measures else ())}

    def __post_init__(self) -> None:
        if self.sampling not in SAMPLINGS:
            near = did_you_mean(self.sampling, SAMPLINGS)
            raise self.fault("sampling", f"found {self.sampling!r}; allowed: {', '.join(SAMPLINGS)}{near}")
        if self.runs is not None and not 1 <= self.runs <= MAX_CASES:
            raise self.fault("runs", f"{self.runs} is out of range; allowed: 1 to {MAX_CASES}")
        if not 0.0 < self.duration < float("inf"):
            raise self.fault("duration", f"{self.duration:g} s is out of range; seconds above zero are needed")
        if self.every is not None and not 0.0 < self.every <= self.duration:
            raise self.fault("every", f"{self.every:g} s is out of range; allowed: above 0 to {self.duration:g} s")
        paths: set[str] = set()
        for each in self.vary:
            if each.path in paths:
                raise WorldError([Problem(each.place.where, each.place.key or each.path, "is varied twice")])
            paths.add(each.path)

    def fault(self, key: str, message: str) -> WorldError:
        """Return an error about one of the attributes, with the location where it was given.

        Args:
            key: The attribute.
            message: What is wrong with it.

        Returns:
            The error.
        """
        place = self.places.get(key, NO_PLACE)
        return WorldError([Problem(place.where, place.key or key, message)])


@dataclass(frozen=True)
class Prepared:
    """A sweep that is ready to run.

    Attributes:
        job: The settings that its cases share.
        cases: All of its cases.
        digest: The digest of the world alone.
    """

    job: Job
    cases: Cases
    digest: str


def prepare(study: Study) -> Prepared:
    """Check a sweep, and compute the varied numbers of all its cases.

    Args:
        study: The sweep.

    Returns:
        The prepared sweep.

    Raises:
        WorldError: The world, a path, a number or a measure is invalid; the message names the location.
    """
    world = study.world if isinstance(study.world, World) else load(study.world, study.allow)
    runs = study.runs or points_of(study.vary)
    if study.runs is None and any(not each.is_axis for each in study.vary):
        raise study.fault("runs", "is needed: a distribution has no number of values")
    values = values_of(study.vary, runs, study.seed, study.sampling)
    seeds = values.pop(SEED).astype(np.int64) if SEED in values else seeds_of(study.seed, runs)
    cases = Cases(np.arange(runs, dtype=np.int64), seeds, {path: each.astype(float) for path, each in values.items()})
    block = 1
    if not is_component_world(world):
        _check_numbers(world, study.vary, values)
    else:
        check_components(world, study.vary)
        block = cases_at_once(world, study.measures, study.keep)
    measures = tuple(located(text, lambda file: Path(file).resolve()) for text in study.measures)
    job = Job(
        payload_of(world, dict(files_of(measures))),
        _nanoseconds(study, "duration", study.duration),
        tuple(values),
        measures,
        0 if study.every is None else _nanoseconds(study, "every", study.every),
        study.keep,
        block=block,
    )
    plain = _check_measures(study, world, job)
    if plain and block == 1 and world.python is None:
        samples = {path: [*each[:1], *each[-1:], each.min(), each.max()] for path, each in cases.values.items()}
        job = replace(job, in_place=find_in_place(world, samples))
    return Prepared(job, cases, payload_of(world).digest)


def _check_numbers(world: World, vary: Iterable[Variation], values: Mapping[str, Values]) -> None:
    """Check that each path leads to a number, and that its extreme values are allowed. Raises WorldError."""
    problems = []
    for each in vary:
        if each.path != SEED:
            extremes = (values[each.path].min().item(), values[each.path].max().item())
            faults = (_fault(world, each, float(value)) for value in dict.fromkeys(extremes))
            problems += [fault for fault in faults if fault is not None][:1]
    refuse_any(problems)


def _fault(world: World, of: Variation, value: float) -> Problem | None:
    try:
        varied(world, {of.path: value})
    except WorldError as error:
        found = error.problems[0]
        detail = found.message if found.key in ("", of.path) else f"{found.key}: {found.message}"
        return Problem(of.place.where, of.place.key or of.path, detail)
    return None


def _check_measures(study: Study, world: World, job: Job) -> bool:
    """Check all measures on the world. Return whether none needs sensors, a session or a bag. Raises WorldError."""
    made, problems, names = [], [], set[str]()
    for index, text in enumerate(job.measures):
        place = study.places.get(f"measures[{index}]", NO_PLACE)
        try:
            one = measure_of(text)
            if one.name in (*names, *job.paths, *OWN):
                raise MeasureFault(f"two columns of the results would be named {one.name!r}; write NAME={text}")
            names.add(one.name)
            made.append((one, place))
        except MeasureFault as error:
            problems.append(Problem(place.where, place.key or f"measures[{index}]", str(error)))
    refuse_any(problems)
    sensors = any(one.sensors for one, _ in made)
    simulation = Simulation(world, sensors=sensors)
    for one, place in made:
        if misfit := _misfit(one, simulation):
            problems.append(Problem(place.where, place.key or one.name, misfit))
    problems += [Problem(NOWHERE, "keep", message) for message in check_kept(study.keep, simulation)]
    refuse_any(problems)
    return not sensors and not needs_session(world, study.keep)


def _misfit(measure: Measure, simulation: Simulation) -> str:
    """Return why a measure does not fit a simulation; empty if it does."""
    try:
        for column in measure.columns:
            if column not in simulation.columns:
                return f"{measure.name}: no column {column!r}{did_you_mean(column, simulation.columns)}"
        with MEASURES.blaming(measure.source, MeasureFault):
            measure.check(simulation)
    except MeasureFault as error:
        return str(error)
    return ""


def files_of(measures: Iterable[str]) -> list[tuple[str, bytes]]:
    """Return the files of measures, by path, with their contents."""
    files: list[str] = []

    def note(file: str) -> Path:
        files.append(file)
        return Path(file)

    for text in measures:
        located(text, note)
    return [(file, Path(file).read_bytes()) for file in files if Path(file).is_file()]


def _nanoseconds(study: Study, key: str, seconds: float) -> int:
    try:
        return nanoseconds(seconds)
    except ValueError as error:
        raise study.fault(key, str(error)) from None
