"""Matrices of which `make test` runs a few rows, and `make test-nightly` the others: see CONTRIBUTING.md."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def rows(values: Iterable[str], usual: Collection[str]) -> list[ParameterSet]:
    """Return a parameter for each value; those that are not usual run the same code again, and are left to the night.

    usual: The values whose rows `make test` runs; each is one of the values.
    """
    found = list(values)
    assert set(usual) <= set(found), set(usual) - set(found)
    return [pytest.param(value, marks=() if value in usual else pytest.mark.nightly, id=value) for value in found]


def only(values: Iterable[Any], *places: int) -> list[ParameterSet]:
    """Return a parameter for each value, of which `make test` runs those at some places."""
    found = list(values)
    assert max(places) < len(found)
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=() if place in places else pytest.mark.nightly
        )
        for place, value in enumerate(found)
    ]
