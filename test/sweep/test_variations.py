"""Variations: what texts describe, and the values of the cases."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only

from sim_node.extensions.sweep.variations import SAMPLINGS, Variation, points_of, seeds_of, values_of, variation
from sim_node.world import WorldError

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
# The distribution of each kind, by scipy.stats, which is slow to import: where it is used.
LAWS = {
    "uniform(1.2, 1.8)": ("uniform", 1.2, 0.6),
    "normal(-3, 0.5)": ("norm", -3.0, 0.5),
    "loguniform(1e-3, 10)": ("loguniform", 1e-3, 10.0),
}


@given(st.lists(NUMBERS, min_size=1, max_size=6))
def test_a_text_and_its_variation_are_the_same(numbers: list[float]) -> None:
    one = variation("a.b", ",".join(map(repr, numbers)))
    assert one == Variation("a.b", "list", tuple(numbers))
    assert variation("a.b", str(one)) == one


@given(NUMBERS, st.floats(1e-3, 1e6))
def test_a_distribution_is_read_back_from_its_text(low: float, width: float) -> None:
    one = variation("a", f"uniform({low!r}, {low + width!r})")
    assert variation("a", str(one)) == one


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("unifrom(1,2)", "did you mean uniform"),
        ("uniform(2,1)", "2 is not below 1"),
        ("uniform(1)", "found 1"),
        ("loguniform(0,1)", "0 is not above zero"),
        ("normal(0,0)", "standard deviation 0"),
        ("grid(0,1,1.5)", "1.5 is not a number of values"),
        ("1,two", "'two' is no number"),
        ("", "at least one number"),
        ("choice(nan)", "not finite"),
    ],
)
def test_what_describes_no_values_is_refused(text: str, reported: str) -> None:
    with pytest.raises(WorldError, match=reported):
        variation("bodies[ball].inertial.mass", text)


@pytest.mark.parametrize("text", ["uniform(0,9)", "1.5", "-1"])
def test_seeds_are_whole_numbers(text: str) -> None:
    with pytest.raises(WorldError, match="seeds are"):
        variation("seed", text)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 60))
def test_lists_and_grids_are_combined_and_repeat(sizes: list[int], runs: int) -> None:
    axes = [[float(10 * axis + point) for point in range(size)] for axis, size in enumerate(sizes)]
    varied = [Variation(f"p{axis}", "list", tuple(points)) for axis, points in enumerate(axes)]
    every = list(product(*axes))
    assert points_of(varied) == len(every)
    table = values_of(varied, runs, 0, "random")
    found = list(zip(*(table[each.path].tolist() for each in varied), strict=True))
    assert found == [every[case % len(every)] for case in range(runs)]


def test_a_grid_is_evenly_spaced() -> None:
    assert values_of([variation("a", "grid(0, 10, 5)")], 5, 0, "random")["a"].tolist() == [0, 2.5, 5, 7.5, 10]


@pytest.mark.parametrize("text", LAWS)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_samples_have_the_distribution(text: str, sampling: str) -> None:
    """The greatest distance between the empirical and the true distribution (Kolmogorov-Smirnov)."""
    values = values_of([variation("a", text), variation("b", "uniform(0,1)")], 1024, 5, sampling)["a"]
    name, *arguments = LAWS[text]
    assert scipy.stats.kstest(values, name, arguments).pvalue > 1e-3


@given(st.integers(1, 300), st.integers(0, 2**63 - 1))
@settings(max_examples=30, deadline=None)
def test_a_latin_hypercube_has_one_sample_in_each_stratum(runs: int, seed: int) -> None:
    table = values_of([variation("a", "uniform(0,1)"), variation("b", "uniform(0,1)")], runs, seed, "latin_hypercube")
    for values in table.values():
        assert sorted(np.floor(values * runs).astype(int).tolist()) == list(range(runs))


@given(st.integers(0, 10), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_sobol_points_are_balanced(power: int, seed: int) -> None:
    """2^k points of a (0, 2)-sequence have one in each elementary interval of size 2^-k (Sobol 1967)."""
    runs = 2**power
    table = values_of([variation("a", "uniform(0,1)"), variation("b", "uniform(0,1)")], runs, seed, "sobol")
    for values in table.values():
        assert sorted(np.floor(values * runs).astype(int).tolist()) == list(range(runs))


@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 2**63 - 1))
@settings(max_examples=30)
def test_cases_stay_the_same_if_there_are_more_of_them_or_another_path(runs: int, more: int, seed: int) -> None:
    """So a sweep can be extended, and two sweeps compared case by case."""
    one, other = variation("a", "uniform(0,1)"), variation("b", "normal(0,1)")
    few, many = values_of([one], runs, seed, "random")["a"], values_of([other, one], runs + more, seed, "random")["a"]
    assert few.tolist() == many[:runs].tolist()
    assert seeds_of(seed, runs).tolist() == seeds_of(seed, runs + more)[:runs].tolist()
    assert len(set(seeds_of(seed, runs).tolist())) == runs


def test_choice_draws_each_of_its_values() -> None:
    drawn = values_of([variation("a", "choice(1,2,7)")], 600, 0, "random")["a"]
    numbers, counts = np.unique(drawn, return_counts=True)
    assert numbers.tolist() == [1.0, 2.0, 7.0]
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


# Every way to give the values of a number, and where the boundary between its halves is.
HALVES = {
    "0.1,0.2": 0.15,
    "grid(0,10,4)": 5.0,
    "uniform(1,3)": 2.0,
    "normal(-3,0.5)": -3.0,
    "loguniform(0.01,100)": 1.0,
    "choice(1,2,7,9)": 4.0,
}


@pytest.mark.parametrize("sampling", only(SAMPLINGS, 1))
def test_no_two_variations_of_a_design_are_confounded(sampling: str) -> None:
    """A chi-square test of the halves of each pair in designs of three, of any kinds in any order.

    Three, as the second dimension of Sobol's points is in the upper half for every other point.
    """
    for design in permutations((variation(text, text) for text in HALVES), 3):
        table = values_of(design, 64, 2, sampling)
        for one, other in combinations(design, 2):
            upper = [(table[each.path] > HALVES[each.path]).astype(int) for each in (one, other)]
            counts = np.bincount(upper[0] + 2 * upper[1], minlength=4).reshape(2, 2)
            assert scipy.stats.chi2_contingency(counts).pvalue > 1e-5, (one.path, other.path, design, counts)


@pytest.mark.parametrize("sampling", SAMPLINGS[1:])
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 60), st.integers(0, 99))
@settings(deadline=None)
def test_designs_have_all_combinations_of_lists_equally_often(
    sampling: str, sizes: list[int], runs: int, seed: int
) -> None:
    varied = [Variation(f"p{axis}", "list", tuple(map(float, range(size)))) for axis, size in enumerate(sizes)]
    table = values_of([*varied, variation("u", "uniform(0,1)")], runs, seed, sampling)
    found = Counter(zip(*(table[each.path].tolist() for each in varied), strict=True))
    counts = [found[combination] for combination in product(*(each.numbers for each in varied))]
    assert sum(counts) == runs
    assert max(counts) - min(counts) <= 1
