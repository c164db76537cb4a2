"""docs/worlds-in-python-reference.md is current, has every public name, and describes every parameter and result."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sim_node.extensions.elodin as el

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("python_reference", ROOT / "tools" / "python_reference.py")
assert _spec is not None
assert _spec.loader is not None
reference: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)


def test_the_page_is_that_of_the_docstrings() -> None:
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), "run: python tools/python_reference.py"


def test_every_public_name_is_in_one_section() -> None:
    names = [name for section in reference.SECTIONS.values() for name in section.split()]
    assert sorted(names) == sorted(vars(el)["__all__"])


def described() -> Iterator[Any]:
    """Every function, class and method of the page."""
    for section in reference.SECTIONS.values():
        for name in section.split():
            for label, given in reference.described_by(name):
                if not isinstance(given, property):
                    yield pytest.param(given, id=label)


@pytest.mark.parametrize("given", list(described()))
def test_parameters_and_results_are_described(given: Any) -> None:
    text = inspect.cleandoc(given.__doc__ or "")
    if inspect.isclass(given) and not reference.call_of("", given):
        return
    parameters = [each.lstrip("*") for each in inspect.signature(given).parameters if each not in ("self", "cls")]
    for name in parameters:
        assert f"{name}: " in text
    if parameters and inspect.isfunction(given) and given.__annotations__.get("return") not in ("None", "Any"):
        assert "Returns:" in text
