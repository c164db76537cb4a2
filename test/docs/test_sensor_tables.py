"""The tables of docs/sensors.md and the docstrings of sensors agree with the sensors' parameters."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from sim_node.simulation.sensors import SENSORS, Noise, RangeNoise
from sim_node.world.declared import plan_of

PAGE = (Path(__file__).parents[2] / "docs" / "sensors.md").read_text(encoding="utf-8")


def shown(default: Any) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, (float, int)):
        if math.isnan(default):
            return "EGM96 at the origin"
        return "none" if math.isinf(default) else f"{default:g}"
    if isinstance(default, tuple):
        return ", ".join(default) or "none"
    changed = [part for part in fields(default) if getattr(default, part.name) != part.default]
    return ", ".join(f"{part.name} {getattr(default, part.name):g}" for part in changed) or "none"


def rows() -> list[str]:
    noise = [f"| {row}" for kind in (Noise, RangeNoise) for row in rows_of(kind)]
    return noise + [f"| `{name}` | {row}" for name, kind in sorted(SENSORS.items()) for row in rows_of(kind)]


def rows_of(kind: type[Any]) -> list[str]:
    plan = plan_of(kind)
    return [
        f"`{name}` | {said.unit or ('names' if plan.defaults[name] == () else '1')} "
        f"| {shown(plan.defaults[name])} | {said.about} |"
        for name, _, said in plan.fields
    ]


@pytest.mark.parametrize("row", rows())
def test_each_parameter_stands_in_its_table(row: str) -> None:
    assert row in PAGE.splitlines()


@pytest.mark.parametrize("kind", sorted(SENSORS))
def test_each_type_stands_there_with_its_topics(kind: str) -> None:
    for topic in SENSORS[kind]().messages("sensor", "map"):
        assert f"| `{topic.topic}` | {topic.type.replace('/msg/', '/')}" in PAGE
    assert f"| `{kind}` | " in PAGE


@pytest.mark.parametrize("kind", [Noise, RangeNoise, *SENSORS.values()])
def test_docstrings_describe_each_parameter(kind: Any) -> None:
    lines = [line.strip() for line in (inspect.getdoc(kind) or "").splitlines()]
    for name, _, said in plan_of(kind).fields:
        assert f"{name}: {said.about}{f' ({said.unit})' if said.unit else ''}." in lines
