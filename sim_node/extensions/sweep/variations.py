"""Variations: the numbers of a world that vary between the cases of a sweep, and their values."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from sim_node.randomness import stream
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.problems import NO_PLACE, Place, Problem, WorldError, quoted
from sim_node.world.readers.yaml_nodes import Mapping as MappingNode
from sim_node.world.readers.yaml_nodes import Sequence as ListNode
from sim_node.world.readers.yaml_values import Value

Values = npt.NDArray[Any]
# The path that varies the seed of the run instead of a number of the world.
SEED = "seed"
SAMPLINGS = ("random", "latin_hypercube", "sobol")
# Limit of the number of cases, or points of a grid. More are likely a mistake.
MAX_CASES = 100_000_000
MAX_SEED = 2**63 - 1
# Samples are in [0, 1). This value replaces 0 for unbounded distributions.
_MIN_SAMPLE = 2.0**-54
_CALL = re.compile(r"\s*(?P<kind>[A-Za-z_]\w*)\s*\((?P<numbers>[^()]*)\)\s*")


@dataclass(frozen=True, slots=True)
class VariationKind:
    """A way to specify the values of a number.

    Attributes:
        usage: Its syntax.
        fault: Returns why its numbers are invalid; empty if they are valid.
        points: Returns the values of a list or grid, all of which occur; None for a distribution.
        values: Returns values for samples in [0, 1); None for a list or grid.
    """

    usage: str
    fault: Callable[[Sequence[float]], str]
    points: Callable[[Sequence[float]], Values] | None = None
    values: Callable[[Sequence[float], FloatArray], Values] | None = None


def _between(numbers: Sequence[float]) -> str:
    if len(numbers) != 2:
        return f"2 numbers are needed, found {len(numbers)}"
    return "" if numbers[0] < numbers[1] else f"{numbers[0]:g} is not below {numbers[1]:g}"


def _above_zero(numbers: Sequence[float]) -> str:
    return _between(numbers) or ("" if numbers[0] > 0.0 else f"{numbers[0]:g} is not above zero")


def _mean_and_deviation(numbers: Sequence[float]) -> str:
    if len(numbers) != 2:
        return f"a mean and a standard deviation are needed, found {len(numbers)} numbers"
    return "" if numbers[1] > 0.0 else f"standard deviation {numbers[1]:g} is not above zero"


def _first_last_count(numbers: Sequence[float]) -> str:
    if len(numbers) != 3:
        return f"first, last and number of values are needed, found {len(numbers)} numbers"
    whole = numbers[2] == int(numbers[2]) and 2 <= numbers[2] <= MAX_CASES
    return "" if whole else f"{numbers[2]:g} is not a number of values of 2 or more"


def _some(numbers: Sequence[float]) -> str:
    return "" if numbers else "at least one number is needed"


def _normal(numbers: Sequence[float], samples: FloatArray) -> Values:
    from scipy.special import ndtri

    return np.asarray(numbers[0] + numbers[1] * ndtri(np.maximum(samples, _MIN_SAMPLE)))


def _loguniform(numbers: Sequence[float], samples: FloatArray) -> Values:
    low, high = map(math.log, numbers)
    return np.clip(np.exp(low + samples * (high - low)), numbers[0], numbers[1])


KINDS: Mapping[str, VariationKind] = {
    "list": VariationKind("A,B,...", _some, points=np.array),
    "grid": VariationKind(
        "grid(FIRST,LAST,COUNT)", _first_last_count, points=lambda n: np.linspace(n[0], n[1], int(n[2]))
    ),
    "uniform": VariationKind("uniform(LOW,HIGH)", _between, values=lambda n, u: n[0] + u * (n[1] - n[0])),
    "normal": VariationKind("normal(MEAN,DEVIATION)", _mean_and_deviation, values=_normal),
    "loguniform": VariationKind("loguniform(LOW,HIGH)", _above_zero, values=_loguniform),
    "choice": VariationKind("choice(A,B,...)", _some, values=lambda n, u: np.array(n)[(u * len(n)).astype(int)]),
}
USAGE = ", ".join(kind.usage for kind in KINDS.values())


@dataclass(frozen=True, slots=True)
class Variation:
    """A number that varies between the cases.

    Attributes:
        path: The key path of the number in the world, as in bodies[ball].inertial.mass; or `seed`. In a world in
            Python, `entity.component`, with an index for one number of several.
        kind: One of KINDS.
        numbers: The numbers of the list or distribution.
        place: Where it was given.
    """

    path: str
    kind: str
    numbers: tuple[float, ...]
    place: Place = NO_PLACE

    @property
    def is_axis(self) -> bool:
        """Whether all of its values are combined with those of other lists and grids."""
        return KINDS[self.kind].points is not None

    def __str__(self) -> str:
        numbers = ",".join(map(repr, self.numbers))
        return numbers if self.kind == "list" else f"{self.kind}({numbers})"


def variation(path: str, text: str, place: Place = NO_PLACE) -> Variation:
    """Return the variation that a text such as `uniform(1.2, 1.8)` or `0, 2, 5` describes.

    Args:
        path: The key path of the number.
        text: The values.
        place: Where it is given, for messages.

    Returns:
        The variation.

    Raises:
        WorldError: The text does not describe values.
    """
    call = _CALL.fullmatch(text)
    kind = call["kind"] if call else "list"
    words = (call["numbers"] if call else text).split(",")
    numbers: list[float] = []
    for word in words if any(map(str.strip, words)) else ():
        number = _number(word.strip())
        if number is None:
            near = did_you_mean(text.partition("(")[0].strip(), KINDS)
            _refuse(
                place, path, f"found {quoted(text.strip())}, where {quoted(word.strip())} is no number{near}; {_HOW}"
            )
        numbers.append(number)
    return checked(Variation(path, kind, tuple(numbers), place))


def read_variations(value: Value) -> tuple[Variation, ...]:
    """Read a mapping of key paths to values: a string, a number, or a list of numbers. Faults are recorded."""
    found = []
    for path, _, at in value.named("of key paths to values"):
        if isinstance(at.node, ListNode):
            text = ",".join(f"{item.number():.17g}" for item in at.items())
        elif isinstance(at.node, MappingNode):
            at.error("a list of numbers, or a text such as uniform(1, 2), is needed, found a mapping")
            continue
        else:
            text = at.node.text
        try:
            found.append(variation(path, text, at.place))
        except WorldError as error:
            at.report.errors.extend(error.problems)
    return tuple(found)


def checked(given: Variation) -> Variation:
    """Check a variation.

    Args:
        given: The variation.

    Returns:
        The variation itself.

    Raises:
        WorldError: It is invalid.
    """
    kind = KINDS.get(given.kind)
    if kind is None:
        _refuse(given.place, given.path, f"no values {quoted(given.kind)}{did_you_mean(given.kind, KINDS)}; {_HOW}")
    if not all(map(math.isfinite, given.numbers)):
        _refuse(given.place, given.path, f"{given} has a number that is not finite")
    if fault := kind.fault(given.numbers):
        _refuse(given.place, given.path, f"{kind.usage}: {fault}")
    if given.path == SEED:
        values = kind.points(given.numbers) if kind.points else None
        if values is None or any(value != int(value) or not 0 <= value <= MAX_SEED for value in values.tolist()):
            _refuse(given.place, SEED, f"{given}: seeds are a list or grid of whole numbers from 0 to 2^63 - 1")
    return given


def points_of(variations: Sequence[Variation]) -> int:
    """Return the number of combinations of the lists and grids; 1 without any."""
    count = 1
    for each in variations:
        points = KINDS[each.kind].points
        count *= len(points(each.numbers)) if points else 1
        if count > MAX_CASES:
            _refuse(each.place, each.path, f"lists and grids have more than {MAX_CASES} combinations")
    return count


def values_of(variations: Sequence[Variation], runs: int, seed: int, sampling: str) -> dict[str, Values]:
    """Return the values (runs,) of each path.

    Lists and grids are combined: the last one varies fastest, and the combinations repeat if there are more runs. If
    distributions are sampled by Latin hypercube or Sobol, the combinations are a further dimension of the design,
    because the binary order of Sobol points would otherwise be confounded with the order of the combinations.
    With random sampling, the values of a path do not depend on the others, nor on the number of runs.

    Args:
        variations: The variations, of different paths.
        runs: Number of cases.
        seed: Seed of the samples.
        sampling: One of SAMPLINGS; how distributions are sampled.

    Returns:
        The values by path, in the order of the variations.
    """
    drawn = [each for each in variations if not each.is_axis]
    if sampling == "random" or not drawn:
        rows = [stream(seed, each.path, "sweep").random(runs) for each in drawn]
        combinations = np.arange(runs)
    else:
        rows = [*_design(len(drawn) + (len(drawn) < len(variations)), runs, seed, sampling)]
        ranks = rows[-1].argsort().argsort()
        combinations = ranks * points_of(variations) // runs
    samples = dict(zip((each.path for each in drawn), rows, strict=False))
    table: dict[str, Values] = {}
    repeat = 1
    for each in reversed(variations):
        kind = KINDS[each.kind]
        if kind.points is not None:
            points = kind.points(each.numbers)
            table[each.path] = points[combinations // repeat % len(points)]
            repeat *= len(points)
        elif kind.values is not None:
            table[each.path] = kind.values(each.numbers, samples[each.path])
    return {each.path: table[each.path] for each in variations}


def quantiles(of: Variation, ranks: FloatArray) -> Values:
    """Return the values of a variation at given ranks.

    Args:
        of: The variation.
        ranks: Ranks in [0, 1); the values of a list or grid are equally likely.

    Returns:
        The values, with the shape of the ranks.
    """
    kind = KINDS[of.kind]
    if kind.points is not None:
        points = kind.points(of.numbers)
        return np.asarray(points[(ranks * len(points)).astype(int)])
    assert kind.values is not None
    return kind.values(of.numbers, ranks)


def seeds_of(seed: int, runs: int) -> npt.NDArray[np.int64]:
    """Return the seed (runs,) of each case, which does not depend on the number of cases."""
    return stream(seed, "sweep", "seeds").integers(0, MAX_SEED, runs, dtype=np.int64, endpoint=True)


def _design(dimensions: int, runs: int, seed: int, sampling: str) -> FloatArray:
    """Return samples (dimensions, runs) in [0, 1) that cover their range together."""
    from scipy.stats import qmc

    sampler = {"latin_hypercube": qmc.LatinHypercube, "sobol": qmc.Sobol}[sampling]
    random = stream(seed, "sweep", sampling)
    try:
        points = sampler(dimensions, rng=random)
    except TypeError:  # scipy before 1.15
        points = sampler(dimensions, seed=random)
    with warnings.catch_warnings():
        # Sobol points are balanced only for powers of two, but any number of them is a valid sample.
        warnings.simplefilter("ignore", UserWarning)
        table = points.random(runs)
    return np.asarray(np.minimum(table, np.nextafter(1.0, 0.0)).T)


_HOW = f"allowed: {USAGE}"


def _number(word: str) -> float | None:
    try:
        return int(word) if re.fullmatch(r"[+-]?\d{1,18}", word) else float(word)
    except ValueError:
        return None


def _refuse(place: Place, path: str, message: str) -> NoReturn:
    raise WorldError([Problem(place.where, place.key or path, message)])
