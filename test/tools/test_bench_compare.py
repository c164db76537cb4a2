"""The comparison of two commits by their benchmarks."""

from __future__ import annotations

from bench.compare import compared


def test_a_row_is_compared_by_the_medians_of_its_ratios() -> None:
    """Statistics by hand: 2.0 of 1, 2 and 9, 1.0 of 0.5, 1 and 4; an outlier on either side changes nothing."""
    before = [{"store": 2.0}, {"store": 9.0}, {"store": 1.0}]
    after = [{"store": 1.0}, {"store": 0.5}, {"store": 4.0}]
    assert compared(before, after) == {"store": 0.5}


def test_rows_that_one_commit_lacks_are_left_out() -> None:
    assert compared([{"kept": 1.0, "gone": 1.0}], [{"new": 1.0, "kept": 2.0}]) == {"kept": 2.0}
