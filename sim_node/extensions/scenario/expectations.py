"""The section `expect` of world files: the expectations on a run, as formulas over signals; also for Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sim_node.extensions.scenario.formula_error import FormulaError
from sim_node.extensions.scenario.zones import Zone
from sim_node.text import did_you_mean
from sim_node.world.declared import Fault, data_of, declared, faults, given, place_of, read, rule
from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, Where
from sim_node.world.quantities import ListOf, Number, Other, PartOf, Text
from sim_node.world.readers import keys
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_section import single
from sim_node.world.readers.yaml_values import Value

if TYPE_CHECKING:
    from sim_node.extensions.scenario.formulas import Formula


class ReadyMade(NamedTuple):
    """A predefined expectation: its syntax, and the formula that it expands to, over its arguments."""

    usage: str
    formula: str


READY: Mapping[str, ReadyMade] = {
    each.usage.partition("(")[0]: each
    for each in (
        ReadyMade("no_collision(BODY, ALLOWED...)", "never colliding({every})"),
        ReadyMade("stays_inside(FRAME, ZONE)", "always inside({every}) > 0 m"),
        ReadyMade("stays_outside(FRAME, ZONE)", "always inside({every}) < 0 m"),
        ReadyMade("no_nan()", "always finite()"),
        ReadyMade("transform_kept(FRAME)", "always present({every})"),
        ReadyMade("in_time(SENSOR, T)", "always age({first}) <= {last}"),
        ReadyMade("lands_within(FRAME, T)", "landed({first}) within {last}"),
        ReadyMade("reaches(FRAME, FRAME, DISTANCE, T)", "(distance({first}, {second}) < {third}) within {last}"),
    )
}
_CALL = re.compile(r"\s*(\w+)\(([^()]*)\)\s*")


@lru_cache(1000)
def expected(text: str) -> Formula:
    """Return the formula of an expectation: a formula over signals, or a predefined one such as no_collision(drone).

    Args:
        text: The expectation.

    Returns:
        The formula.

    Raises:
        FormulaError: The text is not a valid expectation.
    """
    from sim_node.extensions.scenario.signals import formula  # here, because most worlds have no expectations

    call = _CALL.fullmatch(text)
    if call is None or call[1] not in READY:
        try:
            return formula(text)
        except FormulaError as error:
            near = did_you_mean(call[1], READY) if call and "did you mean" not in str(error) else ""
            raise FormulaError(f"{error}{near}", error.column) from None
    ready = READY[call[1]]
    arguments = [word.strip() for word in call[2].split(",")] if call[2].strip() else []
    named = ready.usage.partition("(")[2].rstrip(")")
    wanted = len(named.split(",")) if named else 0
    fits = len(arguments) >= 1 if "..." in named else len(arguments) == wanted
    if not fits or not all(arguments):
        raise FormulaError(f"{call[0].strip()}: {ready.usage} is needed", 1)
    places = dict(zip(("first", "second", "third"), arguments, strict=False))
    return formula(ready.formula.format(every=", ".join(arguments), last=arguments[-1] if arguments else "", **places))


def _read_formula(value: Value) -> str:
    """Read a formula. Faults are recorded with their location in the file."""
    errors = len(value.report.errors)
    text = value.text()
    if len(value.report.errors) == errors:
        try:
            expected(text)
        except FormulaError as error:
            where = value.where
            node = value.node
            assert isinstance(node, Scalar)
            if error.column and "\n" not in node.text:
                where = Where(where.file, where.line, where.column + error.column - node.plain)
            value.report.errors.append(Problem(where, value.path, str(error)))
    return text


def _formula_faults(text: Any) -> Iterator[Fault]:
    try:
        expected(text)
    except FormulaError as error:
        yield "", str(error)


@declared
class Expectation:
    """What must hold in a run."""

    formula: str = given(
        Other(keys.text, _read_formula, _formula_faults), "A formula over signals, or a ready-made expectation"
    )
    name: str = given(Text(), "What reports call it; the formula if not given", default="", omit=True)
    place: Place = place_of("formula", default=NO_PLACE)

    @property
    def title(self) -> str:
        """Its name in reports."""
        return self.name or self.formula


class _Each(PartOf):
    """An expectation, or its formula alone."""

    def read(self, value: Value, context: Any) -> Any:
        """Read its mapping, or its formula."""
        if isinstance(value.node, Scalar):
            return Expectation(_read_formula(value), place=value.place)
        return read(Expectation, value, context)

    def data(self, found: Any, refer: Refer) -> Any:
        """Return its formula alone if it has no name."""
        return data_of(found, refer) if found.name else found.formula


@declared
class Expect:
    """What must hold in each run of a world, and for how long it runs. `sim_node test` judges it."""

    must: tuple[Expectation, ...] = given(ListOf(_Each(Expectation, "formula"), least=1), "What must hold")
    duration: float = given(Number(1e-3, 1e6), "Simulated time of a run", "s", default=60.0)
    every: float = given(Number(1e-6, 1e3), "Time between two samples of signals", "s", default=0.02)
    zones: tuple[Zone, ...] = given(ListOf(PartOf(Zone)), "Named parts of space", default=())
    place: Place = place_of(default=NO_PLACE)

    @rule
    def _names_differ(self) -> Iterator[Fault]:
        for key, names in (("must", [each.title for each in self.must]), ("zones", [each.name for each in self.zones])):
            for index, name in enumerate(names):
                if name in names[:index]:
                    yield f"{key}[{index}]", f"a second {name!r}"

    def zone(self) -> dict[str, Zone]:
        """Return the zones by name."""
        return {each.name: each for each in self.zones}

    def period_ns(self, step_ns: int) -> int:
        """Return the time between two samples: `every`, rounded to whole steps of a world, at least one.

        Args:
            step_ns: The step, ns.

        Returns:
            The time, ns.
        """
        return max(1, round(self.every * 1e9 / step_ns)) * step_ns


def _misfit(text: str, run: Any, expect: Expect) -> str:
    """Return why an expectation cannot be judged in a run; empty if it can."""
    from sim_node.extensions.scenario.formulas import Robustness, signals_of  # here, as in `expected`
    from sim_node.extensions.scenario.sampling import RunSignals

    try:
        formula = expected(text)
        RunSignals(run, signals_of(formula), expect.zone()).close()
        Robustness(formula, expect.period_ns(run.world.time.step_ns))
    except FormulaError as error:
        return str(error)
    return ""


@part("expect", Expect)
class Expected(Kind[Expect]):
    """The expectations of a world, at most once."""

    single = True

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of formulas and zones that were made in Python."""
        for each in self.parts(world):
            for key, message in faults(each):
                yield Problem(each.place.where, f"expect.{key}".rstrip("."), message)

    def misfits(self, run: Any) -> Iterator[Problem]:
        """Return the expectations that cannot be judged in a run."""
        for expect in self.parts(run.world):
            for index, each in enumerate(expect.must):
                if fault := _misfit(each.formula, run, expect):
                    yield Problem(each.place.where, each.place.key or f"expect.must[{index}]", fault)

    def write(self, world: World, sections: dict[str, Any], refer: Refer) -> None:
        """Add it."""
        for each in self.parts(world):
            sections[self.section] = self.data(each, refer)

    def renamed(self, part: Expect, rename: Rename) -> None:
        """Return None, because the including world defines the expectations."""


single("expect", Expect)
